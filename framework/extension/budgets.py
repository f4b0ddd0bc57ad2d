"""Time budgets: how long the calls of one external plugin may take in a cycle, together.

A decision has no clock, so what measures is an input: the daemon's implementation has a clock, and that of a replay has
the number of calls after which each plugin was left out. The call that exceeds the budget still counts. From then on
the plugin is left out until the cycle ends, as after a wrong answer: what only gives advice is not asked any more, and
what may refuse refuses.
"""

from collections.abc import Mapping
from typing import Protocol

__all__ = ["Budgets", "OverBudgetError", "RecordedBudgets"]


class OverBudgetError(Exception):
    """The calls of a plugin took longer than its time budget."""

    def __init__(self) -> None:
        super().__init__("it used up its time budget for this cycle and is left out until the cycle ends")


class Budgets(Protocol):
    """Measures the calls of plugins in one cycle."""

    def begin(self, plugin: str) -> None:
        """Note that a call of a plugin begins; calls can be nested."""
        ...

    def end(self, plugin: str) -> bool:
        """Note that the call ends. Return whether the plugin has used up its budget by this call."""
        ...


class RecordedBudgets:
    """The budgets of a recorded cycle: each plugin is left out after the recorded number of calls."""

    def __init__(self, left_out: Mapping[str, int]) -> None:
        """Leave plugins out, by instance, after so many calls."""
        self._left_out = left_out
        self._calls: dict[str, int] = {}

    def begin(self, plugin: str) -> None:
        """Measure nothing."""

    def end(self, plugin: str) -> bool:
        """Count the call."""
        if plugin not in self._left_out:
            return False
        self._calls[plugin] = self._calls.get(plugin, 0) + 1
        return self._calls[plugin] == self._left_out[plugin]
