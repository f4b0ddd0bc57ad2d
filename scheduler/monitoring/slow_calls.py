"""Slow calls: which plugin the cycle's thread has been in for too long.

The thread's stack is looked at from time to time, so that calls cost nothing. The innermost plugin on it is named, and
its call is the outermost frame of that plugin there: while this stays the same frame, the call goes on.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Final

from pyroclast.framework.extension.registry import BUILT_IN, Registry

__all__ = ["SlowCall", "SlowCalls"]

_NESTED: Final = frozenset({"plugins", "pyroclast_plugins"})
"""Packages that hold one plugin in each module or package of theirs."""


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A call of a plugin that goes on."""

    plugin: str
    seconds: float
    where: str
    """File and line of the plugin at which it is."""
    hangs: bool
    """Whether it lasts beyond the deadline, so that nobody waits for it any more."""
    is_news: bool
    """Whether it was not reported before, as one that is slow or as one that hangs."""


class SlowCalls:
    """Looks at one thread."""

    def __init__(self, limit_seconds: float, deadline_seconds: float = 0.0) -> None:
        """Take what a call may last before it is slow, and before it hangs; it never hangs where that is 0."""
        self._limit = limit_seconds
        self._deadline = deadline_seconds or math.inf
        self._entry: FrameType | None = None
        self._since = 0.0
        self._told = (False, False)
        """Whether it was reported as slow, and as one that hangs."""

    def look(self, frame: FrameType | None, registry: Registry, now: float) -> SlowCall | None:
        """Return the call that lasts for longer than the limit; None where none does.

        Args:
            frame: The innermost frame of the thread.
            registry: Plugins and actions, which tell whose code a frame is.
            now: Seconds of any clock.
        """
        found = _plugin_call(frame, _homes(registry))
        if found is None:
            self._entry = None
            return None
        plugin, inside, entry = found
        if entry is not self._entry:
            self._entry, self._since, self._told = entry, now, (False, False)
        seconds = now - self._since
        if seconds < self._limit:
            return None
        before, self._told = self._told, (True, seconds >= self._deadline)
        where = f"{inside.f_code.co_filename}:{inside.f_lineno}"
        return SlowCall(plugin, seconds, where, hangs=self._told[1], is_news=self._told != before)


def _plugin_call(frame: FrameType | None, homes: Mapping[str, str]) -> tuple[str, FrameType, FrameType] | None:
    """Return the innermost plugin on a stack, its innermost frame, and the frame by which it was called."""
    while frame is not None and _owner(frame, homes) is None:
        frame = frame.f_back
    if frame is None:
        return None
    plugin, inside, entry = _owner(frame, homes), frame, frame
    while frame is not None and not _is_ours(frame):
        if _owner(frame, homes) == plugin:
            entry = frame
        frame = frame.f_back
    assert plugin is not None, "looked for above"
    return plugin, inside, entry


def _is_ours(frame: FrameType) -> bool:
    return _module(frame).partition(".")[0] == "framework"


def _owner(frame: FrameType, homes: Mapping[str, str]) -> str | None:
    return homes.get(_home(_module(frame)))


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _home(module: str) -> str:
    """Return the part of a module's name that tells whose it is."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] in _NESTED else parts[0]


def _homes(registry: Registry) -> dict[str, str]:
    """Return plugins, and actions from outside, by where their code is."""
    actions = {f"action {name}": each for name, each in registry.actions.items() if each.source != BUILT_IN}
    return {_home(each.make.__module__): name for name, each in (registry.plugins | actions).items()}
