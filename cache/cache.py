"""The scheduler's cache: it follows the cluster, gives snapshots of it, and carries out what is decided on them.

    made ──start──▶ syncing ──first lists told──▶ synced ──stop──▶ stopped

Everything happens on one loop's thread. What always holds: the books hear of every change that the watches bring, and a
decision is in them from `assume` until the cluster shows it, refuses it, or its pod, read again, tells otherwise.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import structlog

from pyroclast.cache.execution.first_queues import make_first_queues
from pyroclast.cache.execution.gone_nodes import GoneNodes
from pyroclast.cache.execution.plan_executor import execute_plan
from pyroclast.cache.execution.report_publisher import write
from pyroclast.cache.execution.shard_status import shard_status, write_shard_status
from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.files.audit import differences
from pyroclast.cache.files.dump import Dump, take_dump
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.background import Background, Work
from pyroclast.cache.sync.event_handlers import FOLLOWED, Arrivals, EventHandlers
from pyroclast.cache.sync.on_demand_informer import OnDemandInformer
from pyroclast.cache.sync.shards import SHARDED_MODES
from pyroclast.cache.sync.wake_triggers import Trigger
from pyroclast.kube.client import Client
from pyroclast.kube.clock import Clock, SystemClock
from pyroclast.kube.errors import ApiError
from pyroclast.kube.reflector import Reflector
from pyroclast.kube.resources import NODES, PODS, Resource
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError, PyroclastError
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.queues import ROOT_QUEUE
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot

__all__ = ["SchedulerCache"]

_RESYNC_SECONDS: Final = 1.0
"""Time between looks for overdue echoes."""
_AWAY: Final = frozenset({0, 429, 503})
"""Refusals that concern all of a server, not one object: no answer, too many requests, not available."""

_log = structlog.get_logger(__name__)


class SchedulerCache:
    """The live picture of the cluster."""

    def __init__(
        self,
        client: Client,
        writers: ClusterWriters,
        options: StateOptions | None = None,
        *,
        kinds: Iterable[Resource[Any]] = FOLLOWED,
        may_write: Callable[[], bool] = lambda: True,
        audit_seconds: float = 300.0,
        on_audit: Callable[[list[str]], None] = lambda _: None,
        on_fault: Callable[[ObjectError], None] = lambda _: None,
        on_waiting_pod: Callable[[wire.Pod], None] | None = None,
        on_trigger: Callable[[Trigger], None] = lambda _: None,
        make_state: Callable[[StateOptions | None, Callable[[ObjectError], None]], ClusterState] = ClusterState,
        background: Background | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare to follow a cluster.

        Args:
            client: Speaks to the server.
            writers: Who acts; its status writer and its event recorder run as long as the cache does.
            options: How the books read the cluster.
            kinds: What to follow.
            may_write: Whether this process leads; asked before anything is created or written on its own account.
            audit_seconds: Time between audits; 0 for none.
            on_audit: Is told the differences that each audit found.
            on_fault: Is told of each broken object and field.
            on_waiting_pod: Is told of each new pod without a node, after the first lists.
            on_trigger: Is called for each change that may let a cycle decide something new.
            make_state: Makes the books; another kind of them may note what they are told.
            background: Runs what goes on beside; to be shared with others who want its surprises told in one place.
            clock: For waiting and deadlines.
        """
        self.state = make_state(options, on_fault)
        self.synced = asyncio.Event()
        """The first lists of all kinds are in the books."""
        self._client = client
        self._hands = writers
        self._may_write = may_write
        self._audit_seconds = audit_seconds
        self._on_audit = on_audit
        self._on_fault = on_fault
        self._on_trigger = on_trigger
        self._clock = clock or SystemClock()
        self.reflectors = {
            each.name: Reflector(
                client, each, self._handlers(each, on_waiting_pod), on_broken=on_fault, clock=self._clock
            )
            for each in kinds
        }
        """By kind."""
        self.background = background or Background(self._clock)
        self._under_way: Counter[TaskId] = Counter()
        """Tasks of plans that are being carried out."""

    def _handlers(self, resource: Resource[Any], on_waiting_pod: Callable[[wire.Pod], None] | None) -> list[Any]:
        feeder = EventHandlers(resource.name, self.state, self._on_trigger)
        if resource is NODES:
            return [feeder, self._gone_nodes()]
        if resource is not PODS or on_waiting_pod is None:
            return [feeder]
        return [feeder, Arrivals(self.synced, on_waiting_pod)]

    def _gone_nodes(self) -> GoneNodes:
        return GoneNodes(
            self._client,
            self.state.stored("Numatopology").get,
            may_write=self._may_write,
            begin=self._once,
        )

    def _once(self, name: str, work: Work) -> None:
        """Begin work beside; what does it is made after those who ask for it."""
        self.background.once(name, work)

    async def start(self, *, patience_seconds: float = 0.0) -> bool:
        """Begin to follow, and wait until the first lists are in the books.

        Args:
            patience_seconds: How long to wait; 0 waits for ever.

        Returns:
            Whether everything is there; when the patience ran out, following goes on and `lagging` names what lacks.
        """
        keep = self.background.keep
        for reflector in self.reflectors.values():
            keep(f"follow-{reflector.resource.label}", reflector.run)
        keep("write-statuses", self._hands.statuses.run)
        keep("write-events", self._hands.events.run)
        keep("read-overdue-pods", self._read_overdue)
        if self._audit_seconds:
            keep("audit", self._audit_now_and_then)
        keep("note-first-lists", self._note_synced)
        try:
            async with asyncio.timeout(patience_seconds or None):
                await self.synced.wait()
        except TimeoutError:
            _log.warning("sync_slow", lagging=self.lagging())
        return self.synced.is_set()

    async def stop(self) -> None:
        """End following; what is being written is cut off, so drain `writers` first."""
        await self.background.stop()

    def lagging(self) -> list[str]:
        """Name the kinds whose first list is not there."""
        return [kind for kind, reflector in self.reflectors.items() if not reflector.synced.is_set()]

    async def take_over(self) -> bool:
        """Begin to lead: what an earlier leader left half-bound ranks first, and the first queues are there."""
        self.state.mark_half_bound()
        return await self.make_first_queues()

    async def make_first_queues(self) -> bool:
        """Create the root and the default queue where they are missing; call it when this process leads."""
        return await make_first_queues(self._client, self._clock, self.state.options.default_queue)

    def lacks_first_queues(self) -> bool:
        """Whether somebody deleted the root or the default queue, as nobody may where admission is asked."""
        return not {ROOT_QUEUE, self.state.options.default_queue} <= self.state.stored("Queue").keys()

    def watch_of(self, resource: Resource[Any]) -> OnDemandInformer:
        """Return what follows a kind into the books as long as it is wanted; `background` is to run it."""
        return OnDemandInformer(self.state, self._client, resource, on_broken=self._on_fault, clock=self._clock)

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""
        return self.state.snapshot()

    def assume(self, plan: Plan) -> bool:
        """Take all of a plan into the books, or none of it; tells which."""
        faults = self.state.assume(plan, self._clock.monotonic())
        if faults:
            _log.info("plan_refused", action=plan.action, job=plan.job, faults=faults[:3], more=max(0, len(faults) - 3))
        return not faults

    async def execute_plan(self, plan: Plan) -> None:
        """Do what an assumed plan says; failures are corrected in the books."""
        tasks = [bind.task for bind in plan.binds] + [eviction.task for eviction in plan.evictions]
        self._under_way.update(tasks)
        try:
            await execute_plan(plan, self.state, self._hands)
        finally:
            for task in tasks:
                self._under_way[task] -= 1
                if not self._under_way[task]:
                    del self._under_way[task]

    def write(self, report: CycleReport) -> None:
        """Hand statuses, conditions and events of a cycle to their writers."""
        write(report, self.state, self._hands)
        options = self.state.options
        if options.shard_mode in SHARDED_MODES and self._may_write():
            status = shard_status(self.state.stored("NodeShard"), options.shard_name)
            if status is not None:
                tell = partial(write_shard_status, self._client, options.shard_name, status)
                self.background.once("write-shard-status", tell)

    def dump(self) -> Dump:
        """Note the objects of this moment; `Dump.encode` makes a file of them for `pyroclast simulate`."""
        return take_dump(self.state, self._clock.wall())

    async def audit(self) -> list[str]:
        """Rebuild the books from their objects, in another thread, and name what differs from the running ones."""
        running, remake = self.state.snapshot(), self.state.copy_of_objects()
        found = await asyncio.to_thread(lambda: differences(running, remake().snapshot()))
        for difference in found[:10]:
            _log.error("books_drifted", difference=difference)
        self._on_audit(found)
        return found

    async def resync(self, task: TaskId) -> None:
        """Read the pod of an overdue task, and believe it.

        Raises:
            ApiError: The server could not say; the task stays as it is.
        """
        stored = self.state.stored("Pod").get(task)
        if stored is None:
            return
        path = PODS.path(stored.metadata.namespace, stored.metadata.name)
        is_under_way = task in self._under_way  # before the pod is read: its bind may end meanwhile
        try:
            pod = PODS.decoder.decode(await self._client.request("GET", path))
        except ApiError as error:
            if not error.is_not_found:
                raise
            pod = None
        assumption = self.state.assumed().get(task)
        if pod is None or pod.metadata.uid != task:
            self.state.remove("Pod", stored)
        elif assumption is not None and (assumption.is_settled_by(pod) or is_under_way):
            # True after all: the watch, which lags, will bring it, and nothing older must overtake it. Or on its way
            # still, as while a volume is made for it: decided anew, it would be sent to two nodes.
            self.state.extend(task, self._clock.monotonic())
        elif assumption is not None:
            self.state.forget(task, assumption.node, failed=assumption.node is not None)

    async def _note_synced(self) -> None:
        for reflector in self.reflectors.values():
            await reflector.synced.wait()
        self.state.mark_half_bound()  # a process of this name may have been killed in the middle of a gang
        self.synced.set()

    async def _read_overdue(self) -> None:
        while True:
            await self._clock.sleep(_RESYNC_SECONDS)
            await self._resync_overdue()

    async def _resync_overdue(self) -> None:
        """Read the pods of overdue tasks again, until the server cannot be asked."""
        for task in self.state.overdue(self._clock.monotonic()):
            known = self.state.task(task)
            if known is None or task not in self.state.assumed():
                continue  # settled while another pod was being read
            _log.warning("echo_overdue", pod=known.key)
            try:
                await self.resync(task)
            except PyroclastError as error:
                _log.warning("resync_failed", error=str(error))
                if isinstance(error, ApiError) and error.status in _AWAY:
                    return  # the others, maybe thousands, would be asked about in vain, and told in the log

    async def _audit_now_and_then(self) -> None:
        await self.synced.wait()
        while True:
            await self._clock.sleep(self._audit_seconds)
            await self.audit()
