"""Patches: JSON patches (RFC 6902) that add the defaults."""

from typing import Any

__all__ = ["Patch", "add", "pointer"]

Patch = dict[str, Any]
"""One operation: `op`, `path` and `value`."""


def add(*path: str | int, value: object) -> Patch:
    """Set a member of an existing object, or insert an item into a list. `-` as the last step appends."""
    return {"op": "add", "path": pointer(*path), "value": value}


def pointer(*path: str | int) -> str:
    """Return a path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
