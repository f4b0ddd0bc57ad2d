"""The scheduler daemon: the cycle loop, its settings, leader election, and its connection to the cluster.

Belongs here: the long-running parts of the scheduler. Does not belong here: decisions (`framework`) and the cluster
state (`cache`).
"""
