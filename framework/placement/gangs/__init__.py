"""Gangs: the node of each task of a gang, if the order of tasks does not determine it.

`assignment` is the problem as plain arrays and its search, without a session: anything that knows how much capacity
there is on each node can use it. `search` uses it for a job of a session and places what it proposes.
"""
