"""Stores by kind: what the cluster state holds of tasks, nodes, gangs, quotas, volumes and queues.

Belongs here: one kind each, changed in place, copied for a snapshot. Does not: watching the server, deciding.
"""
