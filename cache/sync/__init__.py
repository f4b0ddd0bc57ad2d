"""Synchronization with the API server: which objects are watched, and which changes matter.

Belongs here: event handlers, filters, shards, triggers. Does not belong here: reflectors (`kube`).
"""
