"""API: requests to the API server, their errors, and the kinds that are used."""
