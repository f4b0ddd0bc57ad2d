"""Placement: which node each task of a gang gets, where the order of tasks does not tell it.

`assignment` is the problem as plain arrays and its search, without a session: anything that knows how much room there
is on each node can ask it. `gang_search` asks it for a job of a session and places what it proposes.
"""
