"""Stopwatch of a cycle: measures the phases that the cycle marks.

Phases may nest: the opening of a plugin is part of the opening of the session. The cycle itself has no clock.
"""

import time
from collections.abc import Callable
from typing import Final

from pyroclast.scheduler.monitoring.catalogue import VOLCANO_PREFIX
from pyroclast.scheduler.monitoring.metrics import Metrics

__all__ = ["CYCLE", "OPEN", "SNAPSHOT", "WRITE", "Stopwatch"]

CYCLE: Final = "cycle"
"""The whole cycle, from snapshot to report."""
SNAPSHOT: Final = "snapshot"
OPEN: Final = "open"
WRITE: Final = "write"
"""Passing statuses and events to their writers."""

_QUOTAS_COMPUTED: Final = "plugin/elastic-quota/OnSessionOpen"
_MILLISECONDS: Final = 1000.0


class Stopwatch:
    """Seconds of one cycle by phase. A phase that occurs twice counts with its sum."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        """Use the clock `now`."""
        self.seconds: dict[str, float] = {}
        self._now = now
        self._running: list[tuple[str, float]] = []

    def mark(self, name: str, *, begin: bool) -> None:
        """Begin or end a phase. Ending a phase also ends inner phases that an exception left open."""
        now = self._now()
        if begin:
            self._running.append((name, now))
            return
        while self._running:
            running, begun = self._running.pop()
            self.seconds[running] = self.seconds.get(running, 0.0) + now - begun
            if running == name:
                return

    def under_way(self) -> tuple[str, float] | None:
        """Return the innermost running phase, and the seconds since the outermost began; None if no phase runs."""
        running = self._running.copy()  # another thread may mark phases meanwhile
        return (running[-1][0], self._now() - running[0][1]) if running else None

    def phase(self, name: str, begin: bool) -> None:
        """Mark a phase; called by the cycle."""
        self.mark(name, begin=begin)

    def report(self, metrics: Metrics) -> None:
        """Observe all phases, also under Volcano's metric names."""
        for phase, seconds in self.seconds.items():
            metrics.observe("pyroclast_cycle_phase_seconds", seconds, phase)
            if phase == _QUOTAS_COMPUTED:
                metrics.observe("scheduler_elastic_quota_process_latency", seconds, "RefreshRuntime")
            if (counterpart := _volcano(phase)) is not None:
                name, *labels = counterpart
                metrics.observe(VOLCANO_PREFIX + name, seconds * _MILLISECONDS, *labels)
        opening = self.seconds.get(SNAPSHOT, 0.0) + self.seconds.get(OPEN, 0.0)
        metrics.observe(f"{VOLCANO_PREFIX}open_session_duration_milliseconds", opening * _MILLISECONDS)


def _volcano(phase: str) -> tuple[str, ...] | None:
    """Return Volcano's metric for a phase with its labels, or None."""
    match phase.split("/"):
        case ["plugin", plugin, moment]:
            return "plugin_scheduling_latency_milliseconds", plugin, moment
        case ["action", action]:
            return "action_scheduling_latency_milliseconds", action
        case ["cycle"]:
            return ("e2e_scheduling_latency_milliseconds",)
        case _:
            return None
