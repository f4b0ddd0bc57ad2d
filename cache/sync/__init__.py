"""Synchronization with the API server: which objects are watched, and when a change matters.

Belongs here: event handlers, filters, shards, triggers. Does not: reflectors (`kube`).
"""
