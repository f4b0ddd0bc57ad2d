"""Shadows: parts of a session that also ask plugins whose answers have no effect, and examinations."""
