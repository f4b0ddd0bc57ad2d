"""Reservations: capacity held for a job, by nominations after evictions and by gangs that wait for members."""
