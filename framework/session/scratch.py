"""Scratch: values that the framework and plugins keep by key until the session closes."""

from collections.abc import Hashable
from typing import Any

__all__ = ["Scratch"]


class Scratch:
    """Values by key; who keeps one chooses a key of its own."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def __setitem__(self, key: Hashable, value: Any) -> None:
        """Keep a value."""
        self._kept[key] = value

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return what is kept by a key."""
        return self._kept.get(key, default)

    def setdefault(self, key: Hashable, value: Any) -> Any:
        """Return what is kept by a key; the value, which is kept from now on, where there was nothing."""
        return self._kept.setdefault(key, value)
