"""Model: the terms of the scheduler, as values.

Belongs here: resources, tasks, jobs, queues, nodes, wire structs, the snapshot, plans and the report of a
cycle. Does not: anything that reads a clock, draws a random number, or speaks to a cluster.
"""
