"""Nulls: in Kubernetes null means absent, at any depth."""

from collections.abc import Mapping
from typing import Final

__all__ = ["MOST_LEVELS", "without_nulls"]

MOST_LEVELS: Final = 200
"""Maximum number of levels of objects and arrays.

The API server takes custom resources of ten thousand levels; decoders give up at about a thousand. No field that is
read is deeper than thirty levels. Python's own limit depends on the stack of the caller.
"""


def without_nulls(value: object, *, most: int = MOST_LEVELS) -> object:
    """Drop null members and items at any depth.

    Args:
        value: JSON.
        most: Maximum number of levels.

    Raises:
        ValueError: It is nested too deeply.
    """
    if not isinstance(value, Mapping | list | tuple):
        return value
    if not most:
        raise ValueError("it is nested too deeply")
    if isinstance(value, Mapping):
        return {key: without_nulls(each, most=most - 1) for key, each in value.items() if each is not None}
    return [without_nulls(each, most=most - 1) for each in value if each is not None]
