"""The pause between two cycles.

    at rest      a cycle begins a few milliseconds after a change that allows a new decision
    under load   the whole period passes while many plans are being executed. The pause grows with the
                 length of a cycle, so that cycles use at most a third of a processor. A pause
                 that was longer than needed shortens the next one
    otherwise    the whole period passes: timeouts expire, measurements change, files are read again

Changes are counted from the snapshot on: a change during a cycle shortens the pause after it. A namespace with so many
different waiting jobs that they take turns does not shorten pauses by its waiting work: each cycle tries only some of
them, and pauses after frequent cycles would delay the jobs of others.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from pyroclast.cache.sync.wake_triggers import Trigger

__all__ = ["CyclePause"]

_COALESCE_SECONDS: Final = 0.005
"""Changes often arrive together: the pods of a gang, a pod group and its pods, the ends of several pods."""
_PAUSE_PER_CYCLE_SECOND: Final = 2.0
"""Seconds of pause for each second of processor time of the last cycle.

Binds, watches and lease renewals share the processor with cycles.
"""
_MOST_REST_SECONDS: Final = 1.0
"""Seconds of longer pauses that are counted for the cycles to come."""
_BUSY_TASKS: Final = 100
"""Number of tasks being bound or evicted from which on the next cycle waits for the whole period."""
_LOOK_SECONDS: Final = 0.05
"""Interval between checks whether plans have been executed."""


class CyclePause:
    """Waits between two cycles. All calls happen on the loop's thread."""

    def __init__(
        self, period: float, *, wakes_on_change: bool = True, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Pause for `period` seconds; a change shortens the pause if `wakes_on_change`."""
        self._period = period
        self._wakes_on_change = wakes_on_change
        self._monotonic = monotonic
        self._triggers: set[Trigger] = set()
        self._changed = asyncio.Event()
        self._in_turns: frozenset[str] = frozenset()
        self._rest = 0.0
        """Seconds by which pauses were longer than they had to be, as far as they are counted."""

    def trigger(self, trigger: Trigger, namespace: str = "") -> None:
        """Shorten the pause, because a new decision may be possible.

        Args:
            trigger: What the change offers.
            namespace: Namespace of the waiting work that the change is about; empty for other changes.
        """
        if self._wakes_on_change and namespace not in self._in_turns:
            self._triggers.add(trigger)
            self._changed.set()

    @property
    def has_new_work(self) -> bool:
        """Whether work arrived since the last snapshot was taken."""
        return Trigger.NEW_WORK in self._triggers

    def take_turns(self, namespaces: frozenset[str]) -> None:
        """Set the namespaces whose jobs take turns in the last cycle, while other namespaces have jobs."""
        self._in_turns = namespaces

    def begin_cycle(self) -> None:
        """Forget the changes that are in the snapshot, which is taken now."""
        self._triggers.clear()
        self._changed.clear()

    async def wait(self, *, cycle_seconds: float, work_waits: bool, tasks_in_flight: Callable[[], int]) -> None:
        """Wait until the next cycle should begin.

        Args:
            cycle_seconds: Processor time that the last cycle took.
            work_waits: Whether the last cycle left work that free resources could serve.
            tasks_in_flight: Returns the number of tasks that are being bound or evicted.
        """
        ended, owed = self._monotonic(), _PAUSE_PER_CYCLE_SECOND * cycle_seconds
        try:
            async with asyncio.timeout(self._period):
                await self._relevant_change(work_waits=work_waits)
                await asyncio.sleep(_COALESCE_SECONDS)
                await asyncio.sleep(ended + owed - self._rest - self._monotonic())
                while tasks_in_flight() > _BUSY_TASKS:  # noqa: ASYNC110 - each plan that ends would set an event
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            pass
        rest = self._rest + self._monotonic() - ended - owed
        self._rest = min(max(rest, 0.0), _MOST_REST_SECONDS)

    async def _relevant_change(self, *, work_waits: bool) -> None:
        while Trigger.NEW_WORK not in self._triggers and not (work_waits and self._triggers):
            self._changed.clear()
            await self._changed.wait()
