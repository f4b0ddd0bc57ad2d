"""Patches: JSON patches (RFC 6902), which carry the defaults to the API server."""

from typing import Any

__all__ = ["Patch", "add", "pointer"]

Patch = dict[str, Any]
"""One operation: `op`, `path` and `value`."""


def add(*path: str | int, value: object) -> Patch:
    """Set a member of an object that is there, or insert an item; `-` as the last step appends to a list."""
    return {"op": "add", "path": pointer(*path), "value": value}


def pointer(*path: str | int) -> str:
    """Write a path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
