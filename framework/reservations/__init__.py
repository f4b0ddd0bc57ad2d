"""Reservations: capacity held for a holder: a job that won it or waits, an object, a planned start."""
