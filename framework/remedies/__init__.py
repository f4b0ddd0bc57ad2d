"""Remedies: whose end would let a job run that waits for room.

`bounds` says whom to try, by arrays over all jobs on nodes at once; `search` tries them in the session, for real, and
undoes it. What only counts and decides nothing belongs here; what evicts belongs in `evicting`.
"""
