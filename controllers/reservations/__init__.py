"""Reservations: their owners and amounts in the status, expiry, and deletion of those that have ended.

Belongs here: the reconciler. Does not: the status as a value (`model.reservations.status`), and the node, which the
scheduler writes.
"""
