"""Caller: which external plugin is running, so that its calls into the session are checked."""

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Caller", "Reads"]


class Reads(Protocol):
    """Validator of the values that external code passes to the session."""

    def read(self, use: str, reader: Callable[..., Any], *arguments: Any) -> Any:
        """Return arguments as they are read."""
        ...

    def refuse_unless_action(self, method: str) -> None:
        """Raise unless an action is running."""
        ...


class Caller:
    """The plugin or action whose code is running."""

    __slots__ = ("guard",)

    def __init__(self) -> None:
        self.guard: Reads | None = None
        """That of a plugin or an action from outside; None while it is ours."""

    def for_actions(self, method: str) -> None:
        """Refuse a plugin from outside what only actions may do."""
        if self.guard is not None:
            self.guard.refuse_unless_action(method)
