"""What a process shows of itself: metrics, probes, logs, debug endpoints.

Belongs here: reading and publishing. Does not: anything that decides.
"""
