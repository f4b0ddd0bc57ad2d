"""Reconciler: observes a Job, calls `decide`, and executes the decision."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, Protocol

import msgspec
import structlog

from pyroclast.controllers.jobs import metrics
from pyroclast.controllers.jobs.claims import ClaimPlan
from pyroclast.controllers.jobs.decision.decide import decide, step_of_deleted
from pyroclast.controllers.jobs.decision.decision import Decision, EventRecord
from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import Observed, PodPlace, is_given_up, is_leaving
from pyroclast.controllers.jobs.decision.states import FINISHED
from pyroclast.controllers.jobs.decision.statuses import remembering_plugins
from pyroclast.controllers.jobs.observer import JobObserver, change_refusal
from pyroclast.controllers.jobs.patches import difference
from pyroclast.controllers.jobs.plugin_objects import PluginObjects, check_owner
from pyroclast.controllers.jobs.plugins.registry import plugins_of
from pyroclast.controllers.jobs.pods import build_pod
from pyroclast.controllers.jobs.reasons import (
    FAILED_CREATE,
    FAILED_DELETE,
    INVALID,
    JOB_STATUS_ERROR,
    PLUGIN_ERROR,
    POD_GROUP_ERROR,
    PVC_ERROR,
)
from pyroclast.controllers.jobs.rounds import SyncRound
from pyroclast.controllers.jobs.stores import COMMAND_JOB, Stores, place_of
from pyroclast.controllers.jobs.watches import watches_of
from pyroclast.controllers.runtime.expectations import Expectations
from pyroclast.controllers.runtime.keys import keys_of_controller
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key
from pyroclast.controllers.runtime.writer import NamespaceEndingError, Writer, controlled_by, means_another
from pyroclast.kube.api.clock import Clock
from pyroclast.kube.api.concurrent_calls import gathered
from pyroclast.kube.api.errors import ApiConflictError, ApiError
from pyroclast.kube.api.resources import COMMANDS, JOBS, PERSISTENT_VOLUME_CLAIMS, POD_GROUPS, PODS
from pyroclast.kube.writes.events import Regarding, regarding
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job, JobPhase, JobStatus, TaskSpec
from pyroclast.model.errors import PyroclastError
from pyroclast.model.wire import Pod
from pyroclast.model.wire.times import unix_seconds

__all__ = ["EventSink", "JobReconciler", "build"]

_AT_A_TIME: Final = 16
"""Pods of one Job that are created or deleted concurrently."""
_MANY: Final = 200
"""Jobs with fewer pods are reconciled after each change."""
_PODS_A_SECOND: Final = 5000
"""Maximum number of pods of a Job that are checked per second: a Job of 1,000 is reconciled every 0.2 s."""
_MOST_RECORDED: Final = 4096
"""Maximum number of recorded events to remember, so that a lasting condition is not reported in each round."""


_log = structlog.get_logger(__name__)


class EventSink(Protocol):
    """Recorder of events."""

    def record(self, about: Regarding, type_: str, reason: str, message: str) -> None:
        """Record an event of type `Normal` or `Warning`."""
        ...


class JobReconciler:
    """Takes the next step of a Job. State in memory only avoids repeated events and requests."""

    name: ClassVar[str] = "job"

    def __init__(
        self,
        *,
        stores: Stores,
        writer: Writer,
        events: EventSink,
        expectations: Expectations,
        clock: Clock,
        scheduler_name: str = names.DEFAULT_SCHEDULER,
        reruns_succeeded: bool = False,
    ) -> None:
        """Create a reconciler.

        Args:
            stores: Stores of the objects.
            writer: Writes to the API server.
            events: Records events for users.
            expectations: Own writes that the stores do not show yet.
            clock: Clock for times in statuses, for due steps and for pauses.
            scheduler_name: Scheduler of Jobs that name none.
            reruns_succeeded: Whether deleted pods that had succeeded are created again.
        """
        self._stores, self._writer, self._events = stores, writer, events
        self._expectations, self._clock = expectations, clock
        self._observer = JobObserver(
            stores, clock=clock, scheduler_name=scheduler_name, reruns_succeeded=reruns_succeeded
        )
        self._objects = PluginObjects(writer)
        self._paused_until: dict[Key, float] = {}
        self._vanished: dict[Key, set[str]] = {}
        """Pods that succeeded and were deleted since the last decision about their Job."""
        self._recorded: OrderedDict[tuple[str, EventRecord], None] = OrderedDict()

    def judge_change(self, old: Job | None, new: Job | None) -> Iterable[Key]:
        """Report a change that admission would have refused. The object itself does not show the change later."""
        if old is not None and new is not None and old.metadata.generation != new.metadata.generation:
            refusal = change_refusal(old, new)
            if refusal:
                self._record(new, EventRecord(reason=INVALID, message=refusal, is_warning=True))
        return ()

    def note_vanished(self, old: Pod | None, new: Pod | None) -> Iterable[Key]:
        """Record the deletion of a succeeded pod for the next decision about its Job."""
        if new is None and old is not None and old.status.phase == "Succeeded" and not is_leaving(old):
            for key in keys_of_controller(JOBS)(old, new):
                self._vanished.setdefault(key, set()).add(old.metadata.name)
        return ()

    def _forget_vanished(self, key: Key, seen: Observed) -> None:
        """Drop the deleted pods that a decision has considered. Others may have been deleted meanwhile."""
        left = self._vanished.get(key, set()) - seen.vanished
        if left:
            self._vanished[key] = left
        else:
            self._vanished.pop(key, None)

    async def reconcile(self, key: Key) -> float | None:
        """Take the next step of a Job."""
        job = self._stores.jobs.get(*key)
        if job is None:
            await self._clean_up(key)
            return None
        if job.metadata.deletion_timestamp:
            self._objects.forget(key)
        wait = self._expectations.wait(key) or self._rest_of_pause(key)
        if wait is not None:
            return wait
        seen = self._observer.observe(job, vanished=frozenset(self._vanished.get(key, ())))
        if job.metadata.deletion_timestamp:
            await self._carry_out(key, seen, step_of_deleted(seen))
            return None
        if seen.grace:
            return seen.grace
        self._paused_until[key] = self._clock.monotonic() + (len(seen.pods) // _MANY * _MANY) / _PODS_A_SECOND
        if not await self._is_true(seen):
            return 1.0
        decision = decide(seen)
        await self._carry_out(key, seen, decision)
        self._forget_vanished(key, seen)
        if job.status.state.phase in FINISHED:
            self._observer.forget(key)  # most Jobs have ended and are rarely reconciled
        return decision.requeue_after

    def _rest_of_pause(self, key: Key) -> float | None:
        """Return the seconds until a large Job may be reconciled again.

        Each reconciliation is expensive, and pods change one by one.
        """
        rest = self._paused_until.get(key, 0.0) - self._clock.monotonic()
        return rest if rest > 0 else None

    async def _is_true(self, seen: Observed) -> bool:
        """Return whether missing pods are really gone. The store of a new leader may lag behind the last leader's."""
        known = JobMemory.read(seen.job.status.controlled_resources).known
        missed = [name for name in map(seen.name_of, sorted(known)) if name is not None and name not in seen.pods]
        room = asyncio.Semaphore(_AT_A_TIME)

        async def is_there(name: str) -> bool:
            async with room:
                try:
                    pod = await self._writer.read(PODS, seen.job.metadata.namespace, name)
                except ApiError as error:
                    if not error.is_not_found:
                        raise
                    return False
            return controlled_by(pod, seen.job.metadata.uid)

        return not any(await gathered(map(is_there, missed)))

    async def _clean_up(self, key: Key) -> None:
        """Clean up after a deleted Job: its Commands and its metric series."""
        self._expectations.forget(key)
        self._observer.forget(key)
        self._objects.forget(key)
        self._paused_until.pop(key, None)
        self._vanished.pop(key, None)
        commands = self._stores.commands.by(COMMAND_JOB, place_of(*key))
        if commands:
            try:
                await self._writer.read(JOBS, *key)
            except ApiError as error:
                if not error.is_not_found:
                    raise
            else:
                return  # it exists, but the store does not show it yet
        for command in commands:
            await self._writer.delete(COMMANDS, command.metadata)

    # --- execution ---------------------------------------------------------------------------------------------------

    async def _carry_out(self, key: Key, seen: Observed, decision: Decision) -> None:
        job = seen.job
        if decision.is_forwarded:
            change = {"metadata": {"annotations": {names.JOB_FORWARDING: "true"}}}
            self._expectations.wrote(key, self._stores.jobs, await self._writer.merge(JOBS, job.metadata, change))
            return
        status, left = decision.status, None
        if decision.objects == "gone":
            # Before the status drops them. Objects that could not be deleted stay in the status, and do not block other
            # steps.
            left = await self._remove_objects(job)
            status = status if left is None else remembering_plugins(job, status)
        makes_room = bool(decision.deletes)
        failed = await self._ensure_objects_early(job) if makes_room and decision.objects == "there" else None
        if status is not None:
            job = await self._write_status(key, job, status)
        for event in decision.events:
            self._record(job, event)
        await self._delete_pods(key, job, decision)
        if decision.group_delete is not None:
            await self._writer.delete(POD_GROUPS, decision.group_delete.metadata)
            self._expectations.deleted(key, self._stores.pod_groups, decision.group_delete)
        for claim in decision.claims:
            await self._guarded(job, PVC_ERROR, self._make_claim(key, job, claim))
        if decision.group_create is not None or decision.group_change is not None:
            await self._guarded(job, POD_GROUP_ERROR, self._write_group(key, seen, decision))
        if failed is not None:
            raise failed
        if decision.objects == "there" and not makes_room:
            await self._guarded(job, PLUGIN_ERROR, self._objects.ensure(job, is_certain=bool(decision.creates)))
        if decision.creates:
            await self._create_pods(key, seen, decision.creates)
        if decision.command is not None:
            await self._writer.delete(COMMANDS, decision.command.metadata)
            self._expectations.deleted(key, self._stores.commands, decision.command)
        if left is not None:
            raise left

    async def _ensure_objects_early(self, job: Job) -> PyroclastError | None:
        """Update the objects of plugins before pods are deleted.

        Return the error, which does not block the deletion. The remaining pods see the shorter list at once, because
        the deletion of many pods takes time.
        """
        try:
            await self._guarded(job, PLUGIN_ERROR, self._objects.ensure(job, is_certain=False))
        except (ApiConflictError, NamespaceEndingError):
            raise
        except PyroclastError as error:
            return error
        return None

    async def _remove_objects(self, job: Job) -> ApiError | None:
        """Delete the objects of plugins. Return the error if one could not be deleted."""
        try:
            await self._guarded(job, PLUGIN_ERROR, self._objects.remove(job))
        except ApiConflictError:
            raise
        except ApiError as error:
            return error
        return None

    async def _write_status(self, key: Key, job: Job, status: JobStatus) -> Job:
        """Write the status, if the Job has not changed since it was read."""
        change = difference(msgspec.to_builtins(job.status), msgspec.to_builtins(status))
        try:
            answer = await self._writer.merge(
                JOBS, job.metadata, {"status": change}, subresource="status", is_of_version=True
            )
        except ApiConflictError:
            raise
        except ApiError as error:
            if not means_another(error):
                self._record(job, EventRecord(reason=JOB_STATUS_ERROR, message=str(error), is_warning=True))
            raise
        self._expectations.wrote(key, self._stores.jobs, answer)
        _note_phase(job, status)
        version = answer["metadata"]["resourceVersion"]
        metadata = msgspec.structs.replace(job.metadata, resource_version=version)
        return msgspec.structs.replace(job, metadata=metadata, status=status)

    async def _make_claim(self, key: Key, job: Job, claim: ClaimPlan) -> None:
        if claim.manifest is not None:
            made = await self._writer.create(PERSISTENT_VOLUME_CLAIMS, claim.manifest)
            check_owner(job, made.object)
            self._expectations.wrote(key, self._stores.claims, made.object)
        if not claim.is_named:
            path = f"/spec/volumes/{claim.entry}"
            answer = await self._writer.edit(
                JOBS,
                job.metadata,
                [
                    {"op": "test", "path": f"{path}/mountPath", "value": job.spec.volumes[claim.entry].mount_path},
                    {"op": "add", "path": f"{path}/volumeClaimName", "value": claim.name},
                ],
            )
            self._expectations.wrote(key, self._stores.jobs, answer)

    async def _write_group(self, key: Key, seen: Observed, decision: Decision) -> None:
        if decision.group_create is not None:
            made = await self._writer.create(POD_GROUPS, decision.group_create)
            check_owner(seen.job, made.object)
            self._expectations.wrote(key, self._stores.pod_groups, made.object)
        elif decision.group_change is not None and seen.pod_group is not None:
            answer = await self._writer.merge(POD_GROUPS, seen.pod_group.metadata, decision.group_change)
            self._expectations.wrote(key, self._stores.pod_groups, answer)

    # --- pods --------------------------------------------------------------------------------------------------------

    async def _create_pods(self, key: Key, seen: Observed, places: Sequence[PodPlace]) -> None:
        # Built from the observed Job with the version of the status that was just written.
        tasks = seen.tasks
        # Before Volcano 1.5 groups had the names of their Jobs. Pods join the existing group.
        group = seen.pod_group.metadata.name if seen.pod_group is not None else ""

        async def create(place: PodPlace) -> None:
            pod = _complete_pod(seen.job, tasks[place.task], place.index, group)
            made = await self._writer.create(PODS, pod)
            check_owner(seen.job, made.object)
            self._expectations.wrote(key, self._stores.pods, made.object)
            if made.is_new:
                _observe_latency(seen.job, made.object)

        await self._all(seen.job, FAILED_CREATE, create, places)

    async def _delete_pods(self, key: Key, job: Job, decision: Decision) -> None:
        async def kill(pod: Pod) -> None:
            if not is_given_up(pod) and not await self._give_up(pod):
                return
            if not is_leaving(pod):
                await delete(pod)

        async def delete(pod: Pod) -> None:
            await self._writer.delete(PODS, pod.metadata)
            self._expectations.deleted(key, self._stores.pods, pod)

        await self._all(job, FAILED_DELETE, kill, decision.kills)
        await self._all(job, FAILED_DELETE, delete, decision.deletes)

    async def _give_up(self, pod: Pod) -> bool:
        """Mark a pod as restarted, so that its end is ignored. Return whether the pod still existed."""
        change = {"metadata": {"annotations": {names.OUT_OF_SYNC: "true"}}}
        try:
            await self._writer.merge(PODS, pod.metadata, change)
        except ApiError as error:
            if means_another(error):
                return False
            raise
        return True

    async def _all(self, job: Job, reason: str, work: Callable[[Any], Awaitable[None]], items: Sequence[Any]) -> None:
        """Process many pods in the same way. If some fail, record an event with their number and raise."""

        def is_there() -> bool:
            known = self._stores.jobs.get(job.metadata.namespace, job.metadata.name)
            return known is not None and known.metadata.uid == job.metadata.uid

        made = SyncRound[Any](at_a_time=_AT_A_TIME, should_continue=is_there)
        await made.run(work, items)
        if made.first is None:
            return
        if not isinstance(made.first, NamespaceEndingError):
            message = f"{made.failed} of {len(items)} pods: {made.first}"
            self._record(job, EventRecord(reason=reason, message=message, is_warning=True))
        raise made.first

    # --- events ------------------------------------------------------------------------------------------------------

    async def _guarded(self, job: Job, reason: str, work: Awaitable[None]) -> None:
        """Record an event on the Job if the work fails, then raise."""
        try:
            await work
        except (ApiConflictError, NamespaceEndingError):
            raise
        except PyroclastError as error:
            self._record(job, EventRecord(reason=reason, message=str(error), is_warning=True))
            raise

    def _record(self, job: Job, event: EventRecord) -> None:
        """Record an event once until the Job is restarted, because each reconciliation finds a lasting condition."""
        key_of_event = (f"{job.metadata.uid}/{job.status.version}/{job.status.retry_count}", event)
        if key_of_event in self._recorded:
            self._recorded.move_to_end(key_of_event)
            return
        self._recorded[key_of_event] = None
        if len(self._recorded) > _MOST_RECORDED:
            self._recorded.popitem(last=False)
        about = regarding(JOBS, job.metadata)
        self._events.record(about, "Warning" if event.is_warning else "Normal", event.reason, event.message)


def build(operator: Operator, options: ControllerOptions) -> None:
    """Add the Job controller to an operator."""
    stores = Stores.of(operator)
    reconciler = JobReconciler(
        stores=stores,
        writer=operator.writer,
        events=operator.events,
        expectations=operator.expectations(),
        clock=operator.clock,
        scheduler_name=options.scheduler_names[0],
        reruns_succeeded=options.rerun_succeeded_pods,
    )
    watches = (
        *watches_of(stores),
        Watch(resource=JOBS, keys=reconciler.judge_change),
        Watch(resource=PODS, keys=reconciler.note_vanished),
    )
    operator.reconciler(reconciler, watches=watches, workers=options.workers_of(reconciler.name))


def _complete_pod(job: Job, task: TaskSpec, index: int, group: str) -> dict[str, Any]:
    pod = build_pod(job, task, index, group)
    for plugin in plugins_of(job):
        plugin.on_pod(job, task, index, pod)
    return pod


def _note_phase(job: Job, status: JobStatus) -> None:
    """Log a new phase, and count Jobs that have completed or failed."""
    state = status.state
    if state.phase == job.status.state.phase:
        return
    name, queue = f"{job.metadata.namespace}/{job.metadata.name}", job.spec.queue
    _log.info("job_phase", job=name, phase=state.phase, reason=state.reason, retries=status.retry_count)
    if state.phase == JobPhase.COMPLETED:
        metrics.JOBS_COMPLETED.labels(name, queue).inc()
    elif state.phase == JobPhase.FAILED:
        metrics.JOBS_FAILED.labels(name, queue).inc()


def _observe_latency(job: Job, pod: dict[str, Any]) -> None:
    try:
        made, asked = unix_seconds(pod["metadata"]["creationTimestamp"]), unix_seconds(job.metadata.creation_timestamp)
    except (KeyError, ValueError):
        return
    metrics.POD_CREATION_LATENCY.observe(max(0.0, made - asked) * 1000)
