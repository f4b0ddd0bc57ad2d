"""Background work: restarts work that an exception ends, after an increasing back-off.

    started ──▶ running ──returns──▶ ended
                  ▲   │
                  │   └─raises: logged, counted─▶ waiting
                  └──────────back-off ends───────────┘

Work that raises again and again without a long run in between counts as failing. The health endpoint reports it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import structlog

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.clock import Clock, SystemClock

__all__ = ["Background", "Work"]

_LASTING_SECONDS: Final = 60.0
"""Work that ran this long has recovered: its next failure counts as the first one."""
_FAILING_AFTER: Final = 5
"""Number of failures in a row after which work counts as failing; the waits before add up to about three seconds."""

_log = structlog.get_logger(__name__)

Work = Callable[[], Coroutine[Any, Any, Any]]
"""Starts the work; called again after each failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    error: str
    times: int
    """Number of failures in a row."""
    restart_at: float
    """When the work is restarted, seconds of the clock."""


class Background:
    """The background work of one process, by name."""

    def __init__(self, clock: Clock | None = None, *, on_failure: Callable[[str], None] = lambda _: None) -> None:
        """Start without work; `on_failure` receives the name of each work that an exception ended."""
        self._clock = clock or SystemClock()
        self._on_failure = on_failure
        self._running: set[asyncio.Task[None]] = set()
        self._failures: dict[str, _Failure] = {}

    def keep(self, name: str, work: Work) -> asyncio.Task[None]:
        """Start work, and restart it whenever an exception ends it. Return its task, which may be cancelled."""
        return self._begin(self._keep(name, work))

    def once(self, name: str, work: Work) -> None:
        """Start work that is not restarted. An exception is logged and counted."""
        self._begin(self._try(name, work))

    async def stop(self) -> None:
        """Cancel all work."""
        running, self._running = list(self._running), set()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def failing(self) -> dict[str, str]:
        """Return the last error of each failing work, by name."""
        now = self._clock.monotonic()
        return {
            name: last.error
            for name, last in self._failures.items()
            if last.times >= _FAILING_AFTER and now - last.restart_at < _LASTING_SECONDS
        }

    async def _keep(self, name: str, work: Work) -> None:
        backoff = Backoff()
        while True:
            started = self._clock.monotonic()
            error = await self._try(name, work)
            if error is None:
                self._failures.pop(name, None)
                return
            if self._clock.monotonic() - started >= _LASTING_SECONDS:
                backoff.reset()
            wait = backoff.next_wait()
            self._failures[name] = _Failure(
                error=f"{type(error).__name__}: {error}",
                times=backoff.failures,
                restart_at=self._clock.monotonic() + wait,
            )
            await self._clock.sleep(wait)

    async def _try(self, name: str, work: Work) -> Exception | None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - an exception of one work must not end the others
            self._on_failure(name)
            _log.exception("background_work_failed", work=name)
            return error
        return None

    def _begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task
