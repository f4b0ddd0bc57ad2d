"""Stores by kind: the tasks, nodes, jobs, gangs, quotas and queues of the cluster state.

Belongs here: stores of one kind each, which change in place and are copied for a snapshot.
Does not belong here: watching the API server (`sync`), decisions (`framework`).
"""
