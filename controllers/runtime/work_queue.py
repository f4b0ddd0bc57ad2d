"""Work queue: keys to reconcile. Only one worker processes a key at a time, and no key is dropped.

    add ──▶ waiting ──worker──▶ working ──done──▶ (out, or delayed when it asked for another time)
               ▲                   │ │
               │                   │ └─ failed ──▶ delayed: 5 ms, doubled with each retry that fails, up to 5 minutes,
               └── added meanwhile ┘               │            10 s where others stand in the way
               ▲                                   │
               └────────────── its time ───────────┘

A key is in each place at most once, so the number of objects limits the size of the queue. Namespaces take turns, so
that thousands of keys of one namespace do not delay those of others.
"""

import asyncio
import heapq
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog

from pyroclast.controllers.runtime import metrics
from pyroclast.controllers.runtime.store import Key
from pyroclast.controllers.runtime.writer import NamespaceEndingError, NameTakenError
from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.model.errors import PyroclastError

__all__ = ["WorkQueue"]

FIRST_WAIT: Final = 0.005
LONGEST_WAIT: Final = 300.0
LONGEST_WAIT_FOR_OTHERS: Final = 10.0
"""Longest wait if other objects block the work. No watch reports a raised quota or a new priority class."""
_SHORTEST_REST: Final = 0.0005
_SPARE_ENTRIES: Final = 64
"""Outdated times that the heap may contain before it is rebuilt."""

_log = structlog.get_logger(__name__)


class WorkQueue:
    """Calls one function for each added key. Create it, then call `run`."""

    def __init__(
        self,
        name: str,
        handle: Callable[[Key], Awaitable[float | None]],
        *,
        workers: int = 3,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Start empty.

        Args:
            name: Name of the controller, for metrics and logs.
            handle: Reconciles one key. It returns the seconds until the next call, or None, which drops an earlier due
                time. If it raises, it is called again after a wait, until it succeeds.
            workers: Maximum number of keys that are processed at a time.
            clock: Clock for waiting.
            chance: Random numbers for jitter.
        """
        self.name = name
        self._handle = handle
        self._workers = workers
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._waiting: dict[Key, float] = {}
        """Waiting keys and their times, in order of arrival."""
        self._turns: dict[str, dict[Key, None]] = {}
        """The same keys by namespace, in the order of the namespaces' turns."""
        self._working: dict[Key, float] = {}
        self._again: set[Key] = set()
        """Keys that were added while a worker processes them."""
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []
        """Current and outdated entries of `_due`. Outdated entries are skipped."""
        self._backoffs: dict[Key, Backoff] = {}
        self._is_stopping = False
        self._wake = asyncio.Event()
        self._sooner = asyncio.Event()
        self._changed = asyncio.Condition()
        metrics.WORK_LONGEST.labels(name).set_function(lambda: self.longest_running_seconds)

    @property
    def depth(self) -> int:
        """Number of keys that wait for a worker."""
        return len(self._waiting)

    @property
    def longest_running_seconds(self) -> float:
        """Seconds since the start of the oldest running call, 0 without one."""
        began = min(
            self._working.values(), default=None
        )  # read only once, because metrics are collected in another thread
        return 0.0 if began is None else self._clock.monotonic() - began

    def failures(self, key: Key) -> int:
        """Return the number of failures of a key in a row."""
        backoff = self._backoffs.get(key)
        return backoff.failures if backoff else 0

    def add(self, key: Key) -> None:
        """Queue a key. A waiting key is not added twice."""
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._wait(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Queue a key for later. The earliest of several times counts."""
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            self._push(due, key)
            metrics.WORK_DELAYED.labels(self.name).set(len(self._due))

    async def run(self) -> None:
        """Process keys until cancelled, which interrupts calls, or stopped, which waits for them."""
        try:
            async with asyncio.TaskGroup() as group:
                clock = group.create_task(self._watch_clock())
                async with asyncio.TaskGroup() as workers:
                    for _ in range(self._workers):
                        workers.create_task(self._work())
                clock.cancel()
        finally:
            self._is_stopping = False

    def stop(self) -> None:
        """Start no further call, in this `run` or a `run` that is about to start. Waiting keys keep waiting."""
        self._is_stopping = True
        self._wake.set()

    async def idle(self) -> None:
        """Wait until no key waits or is processed. Keys that are due later do not count."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._waiting and not self._working)

    def _push(self, due: float, key: Key) -> None:
        heapq.heappush(self._heap, (due, key))
        if len(self._heap) > 2 * len(self._due) + _SPARE_ENTRIES:
            self._heap = sorted((due, key) for key, due in self._due.items())
        self._sooner.set()

    def _wait(self, key: Key) -> None:
        self._waiting[key] = self._clock.monotonic()
        self._turns.setdefault(key[0], {})[key] = None
        metrics.WORK_ADDS.labels(self.name).inc()
        metrics.WORK_DEPTH.labels(self.name).set(len(self._waiting))
        self._wake.set()

    def _take(self) -> Key:
        """Return the oldest key of the namespace whose turn it is, and end its turn."""
        namespace = next(iter(self._turns))
        keys = self._turns.pop(namespace)
        key = next(iter(keys))
        del keys[key]
        if keys:
            self._turns[namespace] = keys
        return key

    async def _work(self) -> None:
        while not self._is_stopping:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            key = self._take()
            now = self._clock.monotonic()
            metrics.WORK_WAIT_SECONDS.labels(self.name).observe(now - self._waiting.pop(key))
            metrics.WORK_DEPTH.labels(self.name).set(len(self._waiting))
            self._working[key] = now
            try:
                await self._call(key)
            finally:
                metrics.WORK_SECONDS.labels(self.name).observe(self._clock.monotonic() - self._working.pop(key))
                if key in self._again:
                    self._again.discard(key)
                    self._wait(key)
                async with self._changed:
                    self._changed.notify_all()

    async def _call(self, key: Key) -> None:
        """Reconcile a key, and requeue it if necessary."""
        try:
            requeue_after = await self._handle(key)
        except Exception as error:  # noqa: BLE001  any failure of one key means: later again, and the others go on
            self._fail(key, error)
            return
        metrics.RECONCILES.labels(self.name, "done").inc()
        self._backoffs.pop(key, None)
        if requeue_after is not None:
            self.add_after(key, max(requeue_after, FIRST_WAIT))
        elif key in self._due:
            # An object that is gone would stay until its time, which may be years away.
            del self._due[key]
            metrics.WORK_DELAYED.labels(self.name).set(len(self._due))

    def _fail(self, key: Key, error: Exception) -> None:
        if isinstance(error, NamespaceEndingError):
            # The object that needs it will be deleted too, and its deletion adds the key.
            _log.debug("namespace_ending", controller=self.name, namespace=key[0], name=key[1])
            self.add_after(key, LONGEST_WAIT_FOR_OTHERS)
            return
        metrics.RECONCILES.labels(self.name, "failed").inc()
        backoff = self._backoffs.get(key)
        if backoff is not None and key in self._due:
            # A change came before the retry. If such retries counted, ten changes in a second would delay the next
            # retry by a minute.
            left = self._due[key] - self._clock.monotonic()
            _log_failure(self.name, key, error, failures=backoff.failures, wait=left)
            return
        if backoff is None:
            backoff = self._backoffs[key] = Backoff(
                first_seconds=FIRST_WAIT, cap_seconds=LONGEST_WAIT, jitter=0.2, chance=self._chance
            )
        backoff.cap_seconds = LONGEST_WAIT_FOR_OTHERS if _waits_for_others(error) else LONGEST_WAIT
        wait = backoff.next_wait(error.retry_after if isinstance(error, ApiError) else 0.0)
        metrics.WORK_RETRIES.labels(self.name).inc()
        _log_failure(self.name, key, error, failures=backoff.failures, wait=wait)
        self.add_after(key, wait)

    async def _watch_clock(self) -> None:
        """Add each key at its due time."""
        while True:
            now = self._clock.monotonic()
            while self._heap and self._heap[0][0] <= now:
                due, key = heapq.heappop(self._heap)
                if self._due.get(key) == due:
                    del self._due[key]
                    self.add(key)
            metrics.WORK_DELAYED.labels(self.name).set(len(self._due))
            self._sooner.clear()
            # At least the resolution of the clock, so that it advances.
            await self._rest(max(self._heap[0][0] - now, _SHORTEST_REST) if self._heap else None)

    async def _rest(self, seconds: float | None) -> None:
        """Wait for the next due time, or for an earlier one to be added."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._sooner.wait())]
        if seconds is not None:
            waits.append(asyncio.ensure_future(self._clock.sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _waits_for_others(error: Exception) -> bool:
    """Return whether the failure lasts until an unwatched object changes."""
    return isinstance(error, NameTakenError) or (isinstance(error, ApiError) and error.is_forbidden)


def _log_failure(name: str, key: Key, error: Exception, *, failures: int, wait: float) -> None:
    """Log a failure.

    The first of several in a row has a low level. An unexpected exception is logged with its traceback.
    """
    log = _log.bind(controller=name, namespace=key[0], name=key[1], failures=failures, wait_seconds=round(wait, 3))
    if not isinstance(error, PyroclastError):
        log.error("reconcile_failed", error=f"{type(error).__name__}: {error}", exc_info=error)
    elif failures == 1:
        log.debug("reconcile_failed", error=str(error))
    else:
        log.warning("reconcile_failed", error=str(error))
