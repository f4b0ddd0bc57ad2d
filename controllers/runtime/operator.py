"""Operator: the controllers of one process. Reflectors fill stores, changes become keys, and workers reconcile them.

    made ──store, reconciler──▶ complete ──follow──▶ synced ──work──▶ working ──cancelled, stopped──▶
    following

All replicas watch from the start, so that a standby that takes over has filled stores. Changes become keys only while
the operator works. Work starts with all existing keys.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import structlog

from pyroclast.controllers.runtime.expectations import Expectations
from pyroclast.controllers.runtime.operator_metrics import LEADER
from pyroclast.controllers.runtime.reconciler import Reconciler, Watch
from pyroclast.controllers.runtime.store import Index, Store
from pyroclast.controllers.runtime.work_queue import WorkQueue
from pyroclast.controllers.runtime.writer import Writer
from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import Resource
from pyroclast.kube.reflector import HasMetadata, Reflector
from pyroclast.kube.writes.events import EventRecorder, Regarding, regarding
from pyroclast.model.errors import CacheError, ObjectError

__all__ = ["Operator"]

T = TypeVar("T", bound=HasMetadata)

STUCK_SECONDS: Final = 600.0
"""A reconciliation that runs for longer is stuck, because each of its requests ends within seconds."""
_EVENTS_SECONDS: Final = 5.0
"""Time limit for sending events at the end."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class _Followed(Generic[T]):
    """A watched kind."""

    resource: Resource[T]
    store: Store[T]
    watches: list["_Feed[T]"] = field(default_factory=list)
    reflector: Reflector[T] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Feed(Generic[T]):
    """Converts changes to keys. It runs after the handler of the store, so that reconcilers see the change."""

    watch: Watch[T]
    queue: WorkQueue
    is_working: Callable[[], bool]

    def added(self, new: T) -> None:
        """Add the keys of a created object."""
        self._add(None, new)

    def updated(self, old: T, new: T) -> None:
        """Add the keys of an updated object."""
        self._add(old, new)

    def deleted(self, old: T) -> None:
        """Add the keys of a deleted object."""
        self._add(old, None)

    def _add(self, old: T | None, new: T | None) -> None:
        if self.is_working():
            for key in self.watch.keys(old, new):
                self.queue.add(key)


class Operator:
    """Builds and runs controllers. The docstring of the module shows its states."""

    def __init__(
        self,
        client: Client,
        *,
        component: str,
        instance: str = "",
        may_write: Callable[[], bool] = lambda: True,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Start without controllers.

        Args:
            client: Client of the API server.
            component: Component that reports events.
            instance: Name of this process of the component.
            may_write: Returns whether this process still leads. It is called before each write.
            clock: Clock for waiting and for times that are written.
            chance: Random numbers for jitter and names.
        """
        self.client = client
        self.clock = clock or SystemClock()
        self.chance = chance or random.Random()
        self.events = EventRecorder(
            client, component=component, instance=instance, clock=self.clock, chance=self.chance
        )
        self.writer = Writer(client, may_write=may_write)
        self.discovery = Discovery(client, clock=self.clock)
        self.queues: dict[str, WorkQueue] = {}
        """Work queues by the name of the reconciler."""
        self._followed: dict[tuple[str, str], _Followed[Any]] = {}
        self._is_working = False
        self._stopped = asyncio.Event()
        self._fed = asyncio.Event()
        """Whether the keys of all existing objects have been added."""

    def store(self, resource: Resource[T], indexes: Mapping[str, Index[T]] | None = None) -> Store[T]:
        """Watch a kind and return its store. Further calls share the store and may add indexes.

        Raises:
            ValueError: The kind is watched with another struct, or an index has another function.
        """
        followed = self._follow(resource)
        for name, function in (indexes or {}).items():
            followed.store.add_index(name, function)
        return followed.store

    def reconciler(self, reconciler: Reconciler, *, watches: Sequence[Watch[Any]], workers: int = 3) -> WorkQueue:
        """Call a reconciler for the keys that its watches return.

        Args:
            reconciler: Reconciler to call.
            watches: Changes that it depends on. Each kind is watched.
            workers: Maximum number of keys that are processed at a time.

        Returns:
            Its queue, for keys without a watch.
        """
        queue = WorkQueue(reconciler.name, reconciler.reconcile, workers=workers, clock=self.clock, chance=self.chance)
        if self.queues.setdefault(reconciler.name, queue) is not queue:
            raise ValueError(f"there is a reconciler {reconciler.name!r} already")
        for watch in watches:
            feed = _Feed(watch=watch, queue=queue, is_working=lambda: self._is_working)
            self._follow(watch.resource).watches.append(feed)
        return queue

    def expectations(self) -> Expectations:
        """Return a reconciler's record of its own writes."""
        return Expectations(clock=self.clock)

    def record(self, resource: Resource[T], item: T, type_: str, reason: str, message: str) -> None:
        """Record an event of an object: `Normal` or `Warning`, a reason in one word, a message."""
        self.events.record(regarding(resource, item.metadata), type_, reason, message)

    async def run(self) -> None:
        """Watch and, once synced, work until cancelled. Use it for a single replica without leader election."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.follow())
            await self.synced()
            group.create_task(self.work())

    async def follow(self) -> None:
        """Fill the stores until cancelled."""
        async with asyncio.TaskGroup() as group:
            for followed in self._followed.values():
                group.create_task(self._run_again(self._reflector(followed)))

    async def _run_again(self, reflector: Reflector[Any]) -> None:
        """Watch one kind. An unexpected error restarts the watch. Other kinds are not affected."""
        backoff = Backoff(chance=self.chance)
        while True:
            try:
                await reflector.run()
            except Exception:  # noqa: BLE001  see above
                _log.exception("following_broke", kind=reflector.resource.label)
            await self.clock.sleep(backoff.next_wait())

    async def synced(self) -> None:
        """Wait until every store has had its first list."""
        await asyncio.gather(*(self._reflector(followed).synced.wait() for followed in self._followed.values()))

    async def work(self) -> None:
        """Reconcile all existing objects, then changed objects, until cancelled or stopped."""
        self._is_working = True
        LEADER.set(1)
        self._stopped.clear()
        try:
            for followed in self._followed.values():
                await self._feed_all(followed)
            self._fed.set()
            async with asyncio.TaskGroup() as group:
                events = group.create_task(self.events.run())
                async with asyncio.TaskGroup() as queues:
                    queues.create_task(self._stopped.wait())
                    for queue in self.queues.values():
                        queues.create_task(queue.run())
                await self._send_events()
                events.cancel()
        finally:
            self._is_working = False
            LEADER.set(0)
            self._fed.clear()

    def stop(self) -> None:
        """Start no further reconciliation, wait for the running ones, and send their events."""
        if not self._is_working:
            return
        self._stopped.set()
        for queue in self.queues.values():
            queue.stop()

    async def idle(self) -> None:
        """Wait until the operator works and its queues are empty. Keys with a later due time do not count."""
        await self._fed.wait()
        for queue in self.queues.values():
            await queue.idle()

    def lagging(self) -> list[str]:
        """Return the kinds whose first list has not arrived."""
        return sorted(
            plural
            for (_, plural), followed in self._followed.items()
            if followed.reflector is None or not followed.reflector.synced.is_set()
        )

    @property
    def reflectors(self) -> Sequence[Reflector[Any]]:
        """Reflectors that have started, one for each kind."""
        return [followed.reflector for followed in self._followed.values() if followed.reflector is not None]

    def troubles(self) -> Iterable[ApiError | CacheError | None]:
        """Return the error of each reflector, None for a reflector that works."""
        return [reflector.trouble for reflector in self.reflectors]

    def stuck(self) -> str | None:
        """Return a message about reconcilers that do not end, or None."""
        names = [name for name, queue in self.queues.items() if queue.longest_running_seconds > STUCK_SECONDS]
        return f"a reconciliation does not end: {', '.join(names)}" if names else None

    async def _send_events(self) -> None:
        """Send the remaining events, within a time limit."""
        try:
            async with asyncio.timeout(_EVENTS_SECONDS):
                await self.events.drain()
        except TimeoutError:
            _log.warning("events_cut_short", events=self.events.backlog)

    def _follow(self, resource: Resource[T]) -> _Followed[T]:
        place = resource.group, resource.plural
        followed = self._followed.get(place)
        if followed is None:
            store = Store[T](plural=resource.plural, version=lambda: self._version(place))
            followed = self._followed[place] = _Followed(resource=resource, store=store)
        elif followed.resource.struct is not resource.struct:
            raise ValueError(
                f"{resource.plural} are followed as {followed.resource.struct.__name__} already, not as "
                f"{resource.struct.__name__}: one copy of a cluster is enough"
            )
        return followed

    def _reflector(self, followed: _Followed[T]) -> Reflector[T]:
        """Return the reflector of a kind. It is created when all handlers are known."""
        if followed.reflector is None:
            followed.reflector = Reflector(
                self.client,
                followed.resource,
                [followed.store, *followed.watches],
                on_broken=lambda error: self._record_broken(followed.resource, error),
                clock=self.clock,
                chance=self.chance,
            )
        return followed.reflector

    def _record_broken(self, resource: Resource[Any], error: ObjectError) -> None:
        """Record an event on an unreadable object, because its controller never sees it."""
        if self._is_working:
            namespace, _, name = error.name.rpartition("/")
            about = Regarding(
                api_version=resource.api_version, kind=resource.kind, namespace=namespace, name=name, uid=""
            )
            self.events.record(about, "Warning", "Invalid", f"{error.path}: {error.message}")

    def _version(self, place: tuple[str, str]) -> str:
        reflector = self._followed[place].reflector
        return reflector.resource_version if reflector else ""

    async def _feed_all(self, followed: _Followed[Any]) -> None:
        """Add the keys of all objects of a kind."""
        for feed in followed.watches:
            for item in followed.store.values():
                feed.added(item)
            await asyncio.sleep(0)  # the renewal of the lease must run between long lists
