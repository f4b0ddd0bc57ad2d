"""Requests: bodies as they arrive, read and checked before they become objects."""
