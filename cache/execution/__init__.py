"""Execution of decisions: plans, statuses, and objects that the scheduler creates or deletes.

Belongs here: the changes to send to the API server, and the effects of its answers on the cluster state.
Does not belong here: the requests themselves (`kube`).
"""
