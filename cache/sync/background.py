"""Background work that outlives surprises: what an exception ends is begun again, later each time.

    kept ──▶ running ──ends by itself──▶ over
               ▲   │
               │   └─surprise: logged, counted─▶ waiting
               └──────────back-off is over──────────┘

Work that dies again and again, and never lasts in between, counts as failing: whoever probes the process is told.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import structlog

from pyroclast.kube.backoff import Backoff
from pyroclast.kube.clock import Clock, SystemClock

__all__ = ["Background", "Work"]

_LASTING_SECONDS: Final = 60.0
"""Work that ran as long was well again: its next surprise is a first one."""
_FAILING_AFTER: Final = 5
"""Surprises in a row after which work counts as failing; by then some three seconds were waited."""

_log = structlog.get_logger(__name__)

Work = Callable[[], Coroutine[Any, Any, Any]]
"""Begins the work; called anew after each surprise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surprise:
    what: str
    times: int
    """How often in a row."""
    next_at: float
    """When the work is begun again, seconds of the clock."""


class Background:
    """The background work of one process, by name."""

    def __init__(self, clock: Clock | None = None, *, on_surprise: Callable[[str], None] = lambda _: None) -> None:
        """Take the clock for waiting, and who is told the name of work that a surprise ended."""
        self._clock = clock or SystemClock()
        self._on_surprise = on_surprise
        self._running: set[asyncio.Task[None]] = set()
        self._surprises: dict[str, _Surprise] = {}

    def keep(self, name: str, work: Work) -> None:
        """Begin work, and begin it again whenever an exception ends it."""
        self._begin(self._keep(name, work))

    def once(self, name: str, work: Work) -> None:
        """Begin work that is not tried again: a surprise is logged and counted, and that is all."""
        self._begin(self._try(name, work))

    async def stop(self) -> None:
        """End all work."""
        running, self._running = list(self._running), set()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def failing(self) -> dict[str, str]:
        """Tell what dies again and again, and has not lasted since: the last surprise by name."""
        now = self._clock.monotonic()
        return {
            name: last.what
            for name, last in self._surprises.items()
            if last.times >= _FAILING_AFTER and now - last.next_at < _LASTING_SECONDS
        }

    async def _keep(self, name: str, work: Work) -> None:
        backoff = Backoff()
        while True:
            begun = self._clock.monotonic()
            error = await self._try(name, work)
            if error is None:
                self._surprises.pop(name, None)
                return
            if self._clock.monotonic() - begun >= _LASTING_SECONDS:
                backoff.reset()
            wait = backoff.next_wait()
            self._surprises[name] = _Surprise(
                what=f"{type(error).__name__}: {error}", times=backoff.failures, next_at=self._clock.monotonic() + wait
            )
            await self._clock.sleep(wait)

    async def _try(self, name: str, work: Work) -> Exception | None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a surprise in one piece of work must not end the others
            self._on_surprise(name)
            _log.exception("background_work_failed", work=name)
            return error
        return None

    def _begin(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
