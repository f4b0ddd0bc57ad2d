"""Scheduler cache: watches the cluster, returns snapshots of it, and executes the plans that are decided on them.

    created ──start──▶ syncing ──first lists applied──▶ synced ──stop──▶ stopped

All methods run on the thread of one event loop.

Invariant: the cluster state contains every change that the watches report. It contains a plan from `assume` until the
API server shows the change or refuses it, or until a pod that is read again contradicts it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import structlog

from pyroclast.cache.execution.first_queues import make_first_queues
from pyroclast.cache.execution.gone_nodes import GoneNodes
from pyroclast.cache.execution.plan_executor import execute_plan
from pyroclast.cache.execution.report_publisher import publish_report
from pyroclast.cache.execution.shard_status import shard_status, write_shard_status
from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.files.audit import differences
from pyroclast.cache.files.dump import Dump, take_dump
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.background import Background, Work
from pyroclast.cache.sync.event_handlers import WATCHED_KINDS, EventHandlers, PendingPodHandler
from pyroclast.cache.sync.on_demand_informer import OnDemandInformer
from pyroclast.cache.sync.shards import SHARDED_MODES
from pyroclast.cache.sync.wake_triggers import OnTrigger
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import NODES, PODS, RESERVATIONS, Resource
from pyroclast.kube.reflector import Handler, ObjectLimit, Reflector
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError, PyroclastError
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.queues import ROOT_QUEUE
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot

__all__ = ["SchedulerCache"]

_RESYNC_SECONDS: Final = 1.0
"""Time between checks for overdue assumptions."""
_SERVER_UNAVAILABLE: Final = frozenset({0, 429, 503})
"""Statuses that concern the whole server, not one object: no answer, too many requests, not available."""

_log = structlog.get_logger(__name__)


class SchedulerCache:
    """The current cluster, as the watches report it and as plans will change it."""

    def __init__(
        self,
        client: Client,
        writers: ClusterWriters,
        options: StateOptions | None = None,
        *,
        kinds: Iterable[Resource[Any]] = WATCHED_KINDS,
        may_write: Callable[[], bool] = lambda: True,
        audit_seconds: float = 300.0,
        on_audit: Callable[[list[str]], None] = lambda _: None,
        on_fault: Callable[[ObjectError], None] = lambda _: None,
        on_waiting_pod: Callable[[wire.Pod], None] | None = None,
        on_trigger: OnTrigger = lambda _trigger, _namespace: None,
        make_state: Callable[[StateOptions | None, Callable[[ObjectError], None]], ClusterState] = ClusterState,
        background: Background | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare to watch a cluster.

        Args:
            client: The client of the API server.
            writers: The writers of the cluster. The cache runs the status writer and the event recorder.
            options: The options of the cluster state.
            kinds: The kinds to watch.
            may_write: Returns whether this process leads. The cache creates, deletes or writes objects of its own
                accord only while it does.
            audit_seconds: Time between audits; 0 disables audits.
            on_audit: Receives the differences that each audit found.
            on_fault: Receives each broken field of an object.
            on_waiting_pod: Receives each new pod without a node, after the first lists.
            on_trigger: Receives the trigger of each change that may allow a new decision, and the namespace if the
                change is about waiting work.
            make_state: Creates the cluster state. The recorder passes a state that also records its changes.
            background: Runs the background work. Callers share it to observe all failures in one place.
            clock: Clock for waits and deadlines.
        """
        self.state = make_state(options, on_fault)
        self.synced = asyncio.Event()
        """Set when the first lists of all kinds are applied."""
        self._client = client
        self._writers = writers
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
        """Reflectors by kind."""
        self.background = background or Background(self._clock)
        self._in_execution: Counter[TaskId] = Counter()
        """Number of plans in execution, by task."""

    def _handlers(self, resource: Resource[Any], on_waiting_pod: Callable[[wire.Pod], None] | None) -> list[Any]:
        handlers = EventHandlers(resource.name, self.state, self._on_trigger)
        if resource is NODES:
            return [handlers, self._gone_nodes()]
        if resource is not PODS or on_waiting_pod is None:
            return [handlers]
        return [handlers, PendingPodHandler(self.synced, on_waiting_pod)]

    def _gone_nodes(self) -> GoneNodes:
        return GoneNodes(
            self._client,
            self.state.stored("Numatopology").get,
            may_write=self._may_write,
            begin=self._once,
        )

    def _once(self, name: str, work: Work) -> None:
        """Start background work. The handlers are created before `background` is, so they call this method."""
        self.background.once(name, work)

    async def start(self, *, patience_seconds: float = 0.0) -> bool:
        """Start to watch, and wait until the first lists are applied.

        Args:
            patience_seconds: How long to wait; 0 waits without a limit.

        Returns:
            Whether all first lists are applied. The watches continue after a timeout; `lagging` returns what is
            missing.
        """
        keep = self.background.keep
        for reflector in self.reflectors.values():
            keep(f"follow-{reflector.resource.label}", reflector.run)
        keep("write-statuses", self._writers.statuses.run)
        keep("write-events", self._writers.events.run)
        keep("read-overdue-pods", self._read_overdue)
        if self._audit_seconds:
            keep("audit", self._audit_periodically)
        keep("note-first-lists", self._note_synced)
        try:
            async with asyncio.timeout(patience_seconds or None):
                await self.synced.wait()
        except TimeoutError:
            _log.warning("sync_slow", lagging=self.lagging())
        return self.synced.is_set()

    async def stop(self) -> None:
        """Stop all watches and background work. Drain the writers first: unfinished writes are cancelled."""
        await self.background.stop()

    def lagging(self) -> list[str]:
        """Return the kinds whose first list is missing."""
        return [kind for kind, reflector in self.reflectors.items() if not reflector.synced.is_set()]

    async def take_over(self) -> bool:
        """Start to lead: mark the gangs that an earlier leader left half-bound, and create the default queues."""
        self.state.mark_half_bound()
        return await self.make_first_queues()

    async def make_first_queues(self) -> bool:
        """Create the root queue and the default queue if they are missing. Call this only while this process leads."""
        return await make_first_queues(self._client, self._clock, self.state.options.default_queue)

    def lacks_first_queues(self) -> bool:
        """Return whether the root or the default queue is missing. Without admission webhooks they can be deleted."""
        return not {ROOT_QUEUE, self.state.options.default_queue} <= self.state.stored("Queue").keys()

    def on_demand_informer(
        self, resource: Resource[Any], *, handlers: Sequence[Handler[Any]] = (), limit: ObjectLimit | None = None
    ) -> OnDemandInformer:
        """Return an informer that watches a kind only while it is required. `background` must run it."""
        return OnDemandInformer(
            self.state,
            self._client,
            resource,
            handlers=handlers,
            limit=limit,
            on_broken=self._on_fault,
            clock=self._clock,
        )

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""
        return self.state.snapshot()

    def assume(self, plan: Plan) -> bool:
        """Assume a whole plan or none of it, and return whether it is assumed."""
        faults = self.state.assume(plan, self._clock.monotonic())
        if faults:
            _log.info("plan_refused", action=plan.action, job=plan.job, faults=faults[:3], more=max(0, len(faults) - 3))
        return not faults

    async def execute_plan(self, plan: Plan) -> None:
        """Execute an assumed plan. Each refused change ends its assumption."""
        tasks = [bind.task for bind in plan.binds] + [eviction.task for eviction in plan.evictions]
        self._in_execution.update(tasks)
        try:
            await execute_plan(plan, self.state, self._writers)
        finally:
            for task in tasks:
                self._in_execution[task] -= 1
                if not self._in_execution[task]:
                    del self._in_execution[task]

    def write(self, report: CycleReport) -> None:
        """Pass the statuses, conditions and events of a cycle to the writers."""
        publish_report(report, self.state, self._writers)
        options = self.state.options
        if options.shard_mode in SHARDED_MODES and self._may_write():
            status = shard_status(self.state.stored("NodeShard"), options.shard_name)
            if status is not None:
                write_status = partial(write_shard_status, self._client, options.shard_name, status)
                self.background.once("write-shard-status", write_status)

    def dump(self) -> Dump:
        """Return the objects of this moment. `Dump.encode` makes a file of them for `pyroclast simulate`."""
        return take_dump(self.state, self._clock.wall())

    async def audit(self) -> list[str]:
        """Rebuild the state from its objects in another thread, and return the differences from the running state."""
        running, rebuild = self.state.snapshot(), self.state.copy_of_objects()
        found = await asyncio.to_thread(lambda: differences(running, rebuild().snapshot()))
        for difference in found[:10]:
            _log.error("state_drifted", difference=difference)
        self._on_audit(found)
        return found

    async def resync(self, task: TaskId) -> None:
        """Read the pod of an overdue task again.

        The assumption ends unless the pod shows the change or the plan is still in execution.

        Raises:
            ApiError: The pod cannot be read. The assumption stays.
        """
        reservation = self.state.reservation_of(task)
        if reservation is not None:
            await self._resync_reservation(task, reservation)
            return
        stored = self.state.stored("Pod").get(task)
        if stored is None:
            return
        path = PODS.path(stored.metadata.namespace, stored.metadata.name)
        is_in_execution = task in self._in_execution  # before the pod is read: its bind may end meanwhile
        try:
            pod = PODS.decoder.decode(await self._client.request("GET", path))
        except ApiError as error:
            if not error.is_not_found:
                raise
            pod = None
        assumption = self.state.assumed().get(task)
        if pod is None or pod.metadata.uid != task:
            self.state.remove("Pod", stored)
        elif assumption is not None and (assumption.is_settled_by(pod) or is_in_execution):
            # If the pod shows the change, the watch lags: it will report the change, and an older object must not
            # overwrite it. If the bind is still in execution, for example while a volume is provisioned, a second
            # decision could send the pod to two nodes.
            self.state.extend(task, self._clock.monotonic())
        elif assumption is not None:
            self.state.forget(task, assumption.node, failed=assumption.node is not None)

    async def _resync_reservation(self, task: TaskId, stored: wire.Reservation) -> None:
        """Read the Reservation of an overdue bind again, as `resync` does with a pod."""
        is_in_execution = task in self._in_execution
        path = RESERVATIONS.path("", stored.metadata.name)
        try:
            found = RESERVATIONS.decoder.decode(await self._client.request("GET", path))
        except ApiError as error:
            if not error.is_not_found:
                raise
            found = None
        assumption = self.state.assumed().get(task)
        if found is None or found.metadata.uid != task:
            self.state.remove("Reservation", stored)
        elif assumption is not None and (found.status.node_name or is_in_execution):
            self.state.extend(task, self._clock.monotonic())
        elif assumption is not None:
            self.state.forget(task, assumption.node, failed=True)

    async def _note_synced(self) -> None:
        for reflector in self.reflectors.values():
            await reflector.synced.wait()
        self.state.mark_half_bound()  # the previous process may have ended between two binds of a gang
        self.synced.set()

    async def _read_overdue(self) -> None:
        while True:
            await self._clock.sleep(_RESYNC_SECONDS)
            await self._resync_overdue()

    async def _resync_overdue(self) -> None:
        """Read the pods of overdue tasks again. Stop at the first error of the whole server."""
        for task in self.state.overdue(self._clock.monotonic()):
            known = self.state.task(task)
            if known is None or task not in self.state.assumed():
                continue  # settled while another pod was read
            _log.warning("echo_overdue", pod=known.key)
            try:
                await self.resync(task)
            except PyroclastError as error:
                _log.warning("resync_failed", error=str(error))
                if isinstance(error, ApiError) and error.status in _SERVER_UNAVAILABLE:
                    return  # requests for the other pods, maybe thousands, would fail and fill the log

    async def _audit_periodically(self) -> None:
        await self.synced.wait()
        while True:
            await self._clock.sleep(self._audit_seconds)
            await self.audit()
