"""Slow calls: report the plugin in which the cycle's thread has been for too long.

The thread's stack is sampled, so that calls cost nothing. The innermost plugin on the stack is reported. Its call is
the outermost frame of that plugin. The same frame in later samples means that the call still runs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Final

from pyroclast.framework.extension.registry import BUILT_IN, Registry

__all__ = ["SlowCall", "SlowCalls"]

_NESTED: Final = ("pyroclast.plugins.", "pyroclast.actions.", "pyroclast_plugins.")
"""Prefixes of modules that hold one plugin in each module or package below them."""


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A plugin call that still runs."""

    plugin: str
    seconds: float
    where: str
    """File and line of the plugin that is being executed."""
    hangs: bool
    """Whether it exceeds the deadline, so that the liveness probe fails."""
    is_news: bool
    """Whether it is newly reported as slow or as hanging."""


class SlowCalls:
    """Samples one thread."""

    def __init__(self, limit_seconds: float, deadline_seconds: float = 0.0) -> None:
        """Set the time after which a call is slow, and after which it hangs; with a deadline of 0 no call hangs."""
        self._limit = limit_seconds
        self._deadline = deadline_seconds or math.inf
        self._entry: FrameType | None = None
        self._since = 0.0
        self._reported = (False, False)
        """Whether the call was reported as slow, and as hanging."""

    def look(self, frame: FrameType | None, registry: Registry, now: float) -> SlowCall | None:
        """Return the plugin call that exceeds the limit, or None.

        Args:
            frame: The innermost frame of the thread.
            registry: Plugins and actions, which identify the owner of a frame.
            now: Seconds of a monotonic clock.
        """
        found = _plugin_call(frame, _homes(registry))
        if found is None:
            self._entry = None
            return None
        plugin, inside, entry = found
        if entry is not self._entry:
            self._entry, self._since, self._reported = entry, now, (False, False)
        seconds = now - self._since
        if seconds < self._limit:
            return None
        before, self._reported = self._reported, (True, seconds >= self._deadline)
        where = f"{inside.f_code.co_filename}:{inside.f_lineno}"
        return SlowCall(plugin, seconds, where, hangs=self._reported[1], is_news=self._reported != before)


def _plugin_call(frame: FrameType | None, homes: Mapping[str, str]) -> tuple[str, FrameType, FrameType] | None:
    """Return the innermost plugin on a stack, its innermost frame, and the frame of its call."""
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
    return _module(frame).startswith("pyroclast.framework.")


def _owner(frame: FrameType, homes: Mapping[str, str]) -> str | None:
    return homes.get(_home(_module(frame)))


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _home(module: str) -> str:
    """Return the part of a module's name that identifies its owner."""
    for prefix in _NESTED:
        if module.startswith(prefix):
            return prefix + module.removeprefix(prefix).partition(".")[0]
    return module.partition(".")[0]


def _homes(registry: Registry) -> dict[str, str]:
    """Return plugins and external actions by the home of their code."""
    actions = {f"action {name}": each for name, each in registry.actions.items() if each.source != BUILT_IN}
    return {_home(each.make.__module__): name for name, each in (registry.plugins | actions).items()}
