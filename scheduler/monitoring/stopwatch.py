"""Stop-watch of a cycle: the cycle marks where its phases begin and end, and here their time is taken.

Phases may nest: a plugin's opening stands inside the session's. The cycle itself never sees a clock.
"""

import time
from collections.abc import Callable
from typing import Final

from pyroclast.scheduler.monitoring.catalogue import VOLCANO_PREFIX
from pyroclast.scheduler.monitoring.metrics import Metrics

__all__ = ["CYCLE", "OPEN", "SNAPSHOT", "WRITE", "Stopwatch"]

CYCLE: Final = "cycle"
"""The whole, from snapshot to report."""
SNAPSHOT: Final = "snapshot"
OPEN: Final = "open"
WRITE: Final = "write"
"""Handing statuses and events to their writers."""

_MILLISECONDS: Final = 1000.0


class Stopwatch:
    """Times of one cycle by phase, in seconds; a phase met twice counts with its sum."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        """Take the clock."""
        self.seconds: dict[str, float] = {}
        self._now = now
        self._running: list[tuple[str, float]] = []

    def mark(self, name: str, *, begin: bool) -> None:
        """Begin a phase, or end it; phases inside it that an exception left open end with it."""
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
        """Return the innermost phase that goes on, and the seconds since the outermost began; None where none does."""
        running = self._running.copy()  # asked by another thread than the one that marks
        return (running[-1][0], self._now() - running[0][1]) if running else None

    def phase(self, name: str, begin: bool) -> None:
        """Hear of a phase from the cycle."""
        self.mark(name, begin=begin)

    def report(self, metrics: Metrics) -> None:
        """Tell all phases to the metrics, those that Volcano measures under its names too."""
        for phase, seconds in self.seconds.items():
            metrics.observe("pyroclast_cycle_phase_seconds", seconds, phase)
            if (counterpart := _volcano(phase)) is not None:
                name, *labels = counterpart
                metrics.observe(VOLCANO_PREFIX + name, seconds * _MILLISECONDS, *labels)
        opening = self.seconds.get(SNAPSHOT, 0.0) + self.seconds.get(OPEN, 0.0)
        metrics.observe(f"{VOLCANO_PREFIX}open_session_duration_milliseconds", opening * _MILLISECONDS)


def _volcano(phase: str) -> tuple[str, ...] | None:
    """Return Volcano's metric for a phase with its labels, or None where it has none."""
    match phase.split("/"):
        case ["plugin", plugin, moment]:
            return "plugin_scheduling_latency_milliseconds", plugin, moment
        case ["action", action]:
            return "action_scheduling_latency_milliseconds", action
        case ["cycle"]:
            return ("e2e_scheduling_latency_milliseconds",)
        case _:
            return None
