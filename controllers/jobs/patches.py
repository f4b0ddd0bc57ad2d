"""Patches: merge patches (RFC 7396), which change one JSON object into another."""

from collections.abc import Mapping
from typing import Any

__all__ = ["difference"]


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch from `old` to `new`. Removed members are null, and lists are replaced."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if name not in old:
            patch[name] = value
        elif isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := difference(before, value):
                patch[name] = inner
        elif before != value:
            patch[name] = value
    return patch
