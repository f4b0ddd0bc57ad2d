"""Garbage controller: Jobs that have finished are deleted when their time to live is over, Commands for nobody at once.

Belongs here: when what has ended, or can never begin, goes. Does not: what a Job owns (it goes by owner references).
"""
