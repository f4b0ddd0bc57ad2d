"""`pyroclast simulate`: decisions without a cluster, by the cycle that the daemon runs.

Belongs here: reading objects and cases, simulating the cluster between two cycles, and printing results.
Does not belong here: placement rules.
"""
