"""Schemas: the structure of objects, and its validation."""
