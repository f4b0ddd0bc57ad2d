"""Sharding: divides the nodes of a cluster among schedulers, as NodeShards.

Belongs here: the settings, the assignment of nodes, and the writes. Does not: how a scheduler uses its shard (`cache`).
"""
