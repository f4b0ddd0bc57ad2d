"""Time budgets of plugins in a running daemon, by the clock."""

import time
from collections.abc import Callable

from pyroclast.framework.configuration import Configuration

__all__ = ["ClockBudgets", "budget_of"]


class ClockBudgets:
    """The budgets of one session."""

    def __init__(self, limit: Callable[[str], float], now: Callable[[], float] = time.perf_counter) -> None:
        """Measure with a clock. `limit` returns the seconds that a plugin has, by instance; 0 for no limit."""
        self._limit, self._now = limit, now
        self._begun: list[tuple[float, float]] = []
        """The calls that run: the beginning of each, and the seconds of the calls of plugins inside it."""
        self._spent: dict[str, float] = {}
        self._calls: dict[str, int] = {}
        self.left_out: dict[str, int] = {}
        """Plugins that used up their budget, with the number of calls until then."""

    def begin(self, plugin: str) -> None:  # noqa: ARG002 - calls are nested, so their order says which one ends
        """Note that a call of a plugin begins."""
        self._begun.append((self._now(), 0.0))

    def end(self, plugin: str) -> bool:
        """Note that the call ends. Return whether the plugin has used up its budget by this call."""
        begun, inner = self._begun.pop()
        seconds = self._now() - begun
        if self._begun:  # the time belongs to the plugin that is called, not to the one that asks the session
            outer, others = self._begun[-1]
            self._begun[-1] = outer, others + seconds
        spent = self._spent[plugin] = self._spent.get(plugin, 0.0) + seconds - inner
        calls = self._calls[plugin] = self._calls.get(plugin, 0) + 1
        limit = self._limit(plugin)
        if not limit or spent <= limit or plugin in self.left_out:
            return False
        self.left_out[plugin] = calls
        return True


def budget_of(configuration: Configuration, default_seconds: float, instance: str) -> float:
    """Return the time budget of a plugin of the deciding profile, seconds."""
    profile = configuration.deciding
    option = next((each for each in (*profile.plugins, *profile.shadows) if each.instance == instance), None)
    return default_seconds if option is None or option.time_budget is None else option.time_budget
