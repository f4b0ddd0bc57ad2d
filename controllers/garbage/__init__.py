"""Garbage controller: Jobs that have finished are deleted when their time to live is over.

Belongs here: when what has ended goes. Does not: what a Job owns (it goes by its owner references).
"""
