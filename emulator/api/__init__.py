"""API: HTTP, from a request to its answer."""
