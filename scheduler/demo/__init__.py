"""The demonstration: an emulated cluster, a real daemon, and gangs of four queues being placed.

Belongs here: what is shown, and to whom. Does not: anything the scheduler itself needs.
"""
