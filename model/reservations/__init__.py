"""Reservations of Koordinator: which pods may use one, what it keeps, the pod that stands for it, and its status.

Belongs here: the rules as functions from values to values. Does not: stores, sessions and writes.
"""
