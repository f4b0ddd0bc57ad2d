"""Kinds: rules of single built-in kinds."""
