"""Writes: binds, evictions, statuses and events, each with its retries."""
