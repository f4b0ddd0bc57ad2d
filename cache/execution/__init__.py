"""Execution of decisions: plans, statuses, and objects that the scheduler makes or deletes.

Belongs here: what is sent to the server, and its answers. Does not: the requests themselves (`kube`).
"""
