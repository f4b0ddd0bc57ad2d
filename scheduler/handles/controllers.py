"""Controllers of plugins: they run while this process leads, each with a work queue of its own.

    declared ──lead──▶ waiting for its kind ──first list──▶ working ──retire, other declarations──▶ stopped

A controller starts with all objects of its kind, and then receives those that change. It runs on the event loop of its
plugin, in a thread beside the daemon. An exception, a wrong answer and a call that lasts too long affect one object,
which is tried again later. A call that blocks the thread ends the controllers of its plugin until others are declared.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import Any, Final

import structlog

from pyroclast.controllers.runtime.store import Key
from pyroclast.controllers.runtime.work_queue import WorkQueue
from pyroclast.controllers.runtime.writer import NamespaceEndingError, NotLeadingError
from pyroclast.framework.extension.contract import PluginController, ReconcileRequest
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.concurrent_calls import is_cancelled_by
from pyroclast.kube.api.errors import ApiConflictError, ApiError, NoAnswerError
from pyroclast.model.errors import PyroclastError
from pyroclast.model.sealed import SealedDict
from pyroclast.model.texts import said_by
from pyroclast.model.watched import WatchedKind
from pyroclast.scheduler.handles.api import PluginApi
from pyroclast.scheduler.handles.plugin_thread import PluginThread
from pyroclast.scheduler.handles.watches import LIMIT, PluginWatches

__all__ = ["CALLS_PER_SECOND", "MOST_SECONDS", "FailedReconcileError", "PluginControllers"]

MOST_SECONDS: Final = 60.0
"""Time limit of one call."""
CALLS_PER_SECOND: Final = 10.0
"""Calls of one controller per second in the long run."""
_BURST: Final = 100.0
"""Calls of one controller that are not slowed down."""
_LONGEST_PAUSE: Final = 86400.0
"""Maximum time until the next call that a controller may ask for, seconds."""
_BLOCKED_SECONDS: Final = 1.0
"""Time without a response of the thread, after a call that lasted too long, after which it counts as blocked."""
_SYNC_LOOK_SECONDS: Final = 0.5
"""Interval between checks whether a kind is in the cluster state."""
_MOST_TRIES_AT_DELETED: Final = 10
"""Failures in a row after which a deleted object is given up, because nothing bounds the number of deleted objects."""
_MOST_WAITING: Final = 2 * LIMIT.objects
"""Objects that wait for a controller beyond which deleted ones are not queued."""
_SERVER_ERRORS: Final = (ApiError, ApiConflictError, NoAnswerError, NamespaceEndingError, NotLeadingError)
"""Errors that keep their meaning for the next call, such as the server's Retry-After."""

_log = structlog.get_logger(__name__)


class FailedReconcileError(PyroclastError):
    """A controller of a plugin failed at an object. Remedy: correct the plugin, or the object."""


class _Pace:
    """A token bucket."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tokens, self._since = _BURST, clock.monotonic()

    async def take(self) -> None:
        """Wait until another call is allowed."""
        now = self._clock.monotonic()
        self._tokens = min(_BURST, self._tokens + (now - self._since) * CALLS_PER_SECOND) - 1
        self._since = now
        if self._tokens < 0:
            await self._clock.sleep(-self._tokens / CALLS_PER_SECOND)


@dataclass(slots=True, kw_only=True, eq=False)
class _Running:
    """One controller at work."""

    name: str
    """`plugin/controller`."""
    plugin: str
    controller: PluginController
    pace: _Pace
    thread: PluginThread
    queue: WorkQueue | None = None
    task: asyncio.Task[None] | None = None
    is_open: bool = True
    """Whether its writes are sent."""
    failing: set[Key] = field(default_factory=set)
    """Objects whose last call failed."""


class PluginControllers:
    """The controllers of the configuration in force. All methods run on the thread of one event loop."""

    def __init__(
        self,
        client: Client,
        watches: PluginWatches,
        *,
        is_leader: Callable[[], bool],
        on_failure: Callable[[str, str], None] = lambda _plugin, _message: None,
        clock: Clock | None = None,
    ) -> None:
        """Start without controllers.

        Args:
            client: The client of the API server.
            watches: The watches of the kinds.
            is_leader: Whether this process may change the cluster; called before each write.
            on_failure: Receives the plugin and a message when a controller begins to fail.
            clock: Clock for waits.
        """
        self._client, self._watches = client, watches
        self._is_leader, self._on_failure = is_leader, on_failure
        self._clock = clock or SystemClock()
        self._declared: Mapping[str, tuple[str, PluginController]] = {}
        self._is_leading = False
        self._running: list[_Running] = []

    @property
    def running(self) -> tuple[tuple[str, str], ...]:
        """Plugin and name of each controller that runs."""
        return tuple((each.plugin, each.controller.name) for each in self._running)

    async def replace(self, declared: Mapping[str, tuple[str, PluginController]]) -> None:
        """Run these controllers from now on, by `plugin/controller`, if this process leads."""
        self._declared = declared
        await self._stop()
        if self._is_leading and not self._running:  # another call may have started them in the meantime
            self._start()

    def lead(self) -> None:
        """Start the controllers, unless they run."""
        if not self._is_leading:
            self._is_leading = True
            self._start()

    async def retire(self) -> None:
        """Stop the controllers."""
        self._is_leading = False
        await self._stop()

    def note_change(self, kind: str, namespace: str, name: str) -> None:
        """Queue a changed object for the controllers of its kind."""
        for each in self._running:
            if each.controller.kind.name != kind or each.queue is None:
                continue
            key = namespace, name
            if each.queue.depth < _MOST_WAITING or not self._is_deleted(each, key):
                each.queue.add(key)

    def _is_deleted(self, running: _Running, key: Key) -> bool:
        return _joined(key) not in self._watches.objects(running.controller.kind)

    def _start(self) -> None:
        threads = {plugin: PluginThread(plugin) for plugin, _ in self._declared.values()}
        for name, (plugin, controller) in self._declared.items():
            running = _Running(
                name=name, plugin=plugin, controller=controller, pace=_Pace(self._clock), thread=threads[plugin]
            )
            self._running.append(running)
            running.task = asyncio.create_task(self._run(running))

    async def _stop(self) -> None:
        stopped, self._running = self._running, []
        tasks = _cancel(stopped)
        if tasks:
            await asyncio.wait(tasks)
        for each in stopped:  # not before, because a worker may begin another call until its cancellation reaches it
            each.thread.close()

    def _give_up(self, plugin: str) -> None:
        """Stop the controllers of a plugin until others are declared, because its thread is blocked."""
        stopped = [each for each in self._running if each.plugin == plugin]
        self._running = [each for each in self._running if each.plugin != plugin]
        _cancel(stopped)
        for each in stopped:
            each.thread.close()  # it ends if the call ever returns
        if stopped:
            names = " and ".join(each.controller.name for each in stopped)
            _log.error("plugin_controllers_blocked", plugin=plugin, controllers=names)
            message = f"a call blocks the thread of plugin {plugin}, so its controllers are stopped: {names}"
            self._on_failure(plugin, message)

    async def _run(self, running: _Running) -> None:
        kind = running.controller.kind
        while not self._watches.is_synced(kind):
            await self._clock.sleep(_SYNC_LOOK_SECONDS)
        handle = partial(self._reconcile, running)
        queue = WorkQueue(running.name, handle, workers=running.controller.workers, clock=self._clock)
        running.queue = queue
        for each in list(self._watches.objects(kind).values()):
            queue.add((each.metadata.namespace, each.metadata.name))
        _log.info("plugin_controller_started", plugin=running.plugin, controller=running.controller.name)
        try:
            await queue.run()
        except Exception:  # noqa: BLE001  # the queue keeps errors of calls to itself; one of its own ends it alone
            _log.exception("plugin_controller_broke", plugin=running.plugin, controller=running.controller.name)

    async def _reconcile(self, running: _Running, key: Key) -> float | None:
        await running.pace.take()
        try:
            pause = await self._call(running, key)
        except Exception as error:
            if not running.failing:
                subject = _joined(key)
                message = f"controller {running.controller.name} of plugin {running.plugin} failed at {subject}: "
                self._on_failure(running.plugin, message + said_by(error))
            running.failing.add(key)
            tries = 0 if running.queue is None else running.queue.failures(key)
            if tries >= _MOST_TRIES_AT_DELETED and self._is_deleted(running, key):
                running.failing.discard(key)
                return None
            raise
        running.failing.discard(key)
        return pause

    async def _call(self, running: _Running, key: Key) -> float | None:
        namespace, name = key
        request = ReconcileRequest(
            namespace=namespace,
            name=name,
            object=self._watches.objects(running.controller.kind).get(_joined(key)),
            objects=self._objects,
            api=PluginApi(self._client, may_write=lambda: running.is_open and self._is_leader()),
        )
        limit = asyncio.timeout(MOST_SECONDS)
        try:
            async with limit:
                answer: Any = await running.thread.call(partial(running.controller.reconcile, request))
        except GeneratorExit:
            raise
        except BaseException as error:
            if limit.expired():
                if await running.thread.is_blocked(_BLOCKED_SECONDS):
                    asyncio.get_running_loop().call_soon(self._give_up, running.plugin)
                raise FailedReconcileError(f"it did not return in {MOST_SECONDS:g} s") from error
            if is_cancelled_by(error) or type(error) in _SERVER_ERRORS:
                raise
            raise FailedReconcileError(f"{type(error).__name__}: {said_by(error)}") from error
        return _pause(answer)

    def _objects(self, kind: WatchedKind) -> Mapping[str, Mapping[str, Any]]:
        return SealedDict(self._watches.objects(kind))  # a copy, because the caller runs in another thread


def _cancel(stopped: Sequence[_Running]) -> list[asyncio.Task[None]]:
    """Refuse writes of controllers from now on, and cancel their tasks, which are returned."""
    tasks = []
    for each in stopped:
        each.is_open = False
        if each.task is not None:
            each.task.cancel()
            tasks.append(each.task)
    return tasks


def _joined(key: Key) -> str:
    return "/".join(filter(None, key))


def _pause(answer: Any) -> float | None:
    """Return the time until the next call that a controller asks for."""
    if answer is None:
        return None
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not isfinite(answer) or answer < 0:
        raise FailedReconcileError(f"it returned {type(answer).__name__}, expected seconds or None")
    return min(float(answer), _LONGEST_PAUSE)
