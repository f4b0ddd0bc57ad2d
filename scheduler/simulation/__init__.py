"""`pyroclast simulate`: decisions without a cluster, by the very cycle that the daemon runs.

Belongs here: reading objects from files and cases, what a cluster makes of a decision between two cycles, and how the
outcome is told. Does not: any rule of placement; a cycle is asked for one.
"""
