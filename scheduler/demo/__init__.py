"""The demonstration: an emulated cluster, a real daemon, and gangs of four queues.

Belongs here: the demonstration's workload and display. Does not belong here: code that the scheduler itself needs.
"""
