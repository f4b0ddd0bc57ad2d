"""Scratch: values that the framework and plugins keep by key until the session closes."""

from collections.abc import Hashable
from typing import Any

from pyroclast.framework.state.caller import Caller

__all__ = ["Scratch", "ScratchKey"]


class ScratchKey:
    """A key of the framework. Its values do not depend on the caller."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __repr__(self) -> str:
        """Return what is kept by it."""
        return f"ScratchKey({self._what!r})"


class Scratch:
    """Values by key. What a plugin or an action from outside keeps is its own: others neither read nor replace it."""

    __slots__ = ("_caller", "_kept")

    def __init__(self, caller: Caller | None = None) -> None:
        self._caller = caller or Caller()
        self._kept: dict[Hashable, Any] = {}

    def __setitem__(self, key: Hashable, value: Any) -> None:
        """Keep a value."""
        self._kept[self._own(key)] = value

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return what is kept by a key."""
        return self._kept.get(self._own(key), default)

    def setdefault(self, key: Hashable, value: Any) -> Any:
        """Return what is kept by a key; the value, which is kept from now on, where there was nothing."""
        return self._kept.setdefault(self._own(key), value)

    def _own(self, key: Hashable) -> Hashable:
        guard = self._caller.guard
        return key if guard is None or isinstance(key, ScratchKey) else (guard, key)
