"""Reservations: their rules, their users, and the pods that act as Reservations."""
