"""Closing: statuses, conditions and events at the end of a session.

Only what differs from the objects of the snapshot is reported, so a cluster at rest has nothing written.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pyroclast.framework.diagnosis.messages import READY, TaskVerdicts, job_message, with_evictions
from pyroclast.framework.diagnosis.native_conditions import native_status
from pyroclast.framework.diagnosis.pod_group_notes import record_group_notes
from pyroclast.framework.queues.device_claims import claimed_by_queue
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import NONE_DEPARTED, SessionJob
from pyroclast.framework.state.last_result import LastResult
from pyroclast.model import wire
from pyroclast.model.api.names import ALLOCATED_HYPER_NODE
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId, NodeName
from pyroclast.model.jobs import Departed
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import without_amounts
from pyroclast.model.report import (
    EventNote,
    GroupCondition,
    GroupStatus,
    NativeGroupStatus,
    PodCondition,
    QueueAllocation,
)
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["UNSCHEDULABLE", "Closing", "phase_of"]

UNSCHEDULABLE = "Unschedulable"
SCHEDULED = "Scheduled"

GRACE_SECONDS: Final = 2.0
"""Minimum age of a pod before it is marked as a pod without a job. Another watch may still deliver its group or
queue."""

_OPPOSITE = {UNSCHEDULABLE: SCHEDULED, SCHEDULED: UNSCHEDULABLE}
_WAITING_PHASES = frozenset({PodGroupPhase.UNKNOWN, PodGroupPhase.PENDING, PodGroupPhase.INQUEUE})
_UNBOUND = (TaskStatus.ALLOCATED, TaskStatus.PENDING, TaskStatus.PIPELINED)


def phase_of(job: SessionJob, *, is_unschedulable: bool) -> PodGroupPhase:
    """Return the phase a job has at the end of a cycle (Volcano's rule, but that a job which completed stays so).

    Args:
        job: The job.
        is_unschedulable: Whether this cycle found that its minimum cannot be placed.
    """
    counts = job.counts
    if job.has_finished:
        return PodGroupPhase.COMPLETED
    if counts[TaskStatus.RUNNING] and is_unschedulable:
        return PodGroupPhase.UNKNOWN
    finished = counts[TaskStatus.SUCCEEDED] + counts[TaskStatus.FAILED] + job.departed.total
    scheduled = counts[TaskStatus.RUNNING] + counts[TaskStatus.BOUND] + finished + releasing_on_nodes(job)
    # a job without any task has not completed, even where its minimum is 0
    if scheduled >= job.job.min_available and (scheduled or job.job.min_available):
        return PodGroupPhase.COMPLETED if scheduled == finished else PodGroupPhase.RUNNING
    return PodGroupPhase.INQUEUE if job.phase is PodGroupPhase.INQUEUE else PodGroupPhase.PENDING


def releasing_on_nodes(job: SessionJob) -> int:
    """Count tasks that are being deleted and still have a node."""
    if not job.counts[TaskStatus.RELEASING]:
        return 0
    return sum(task.node is not None for task in job.in_status(TaskStatus.RELEASING))


class Closing:
    """The statuses, conditions and events that a session leaves behind."""

    def __init__(self, session: Session, settled: Settled) -> None:
        self._session = session
        self.group_statuses: list[GroupStatus] = []
        self.native_statuses: list[NativeGroupStatus] = []
        self.pod_conditions: list[PodCondition] = []
        self.phases: dict[JobId, PodGroupPhase] = {}
        self.queue_statuses: tuple[QueueAllocation, ...] = ()
        self.grace_ends: float | None = None
        """Time at which the grace period of the first unmarked pod ends, seconds since 1970; None if all pods are
        marked."""
        for job in session.jobs.to_close():
            table = session.snapshot.job_table
            settled.note(table, job.job.column, is_settled=self._close_job(job))
            stands = session.jobs.is_left_out(job) or (session.jobs.skipped.is_passed_over(job) and not job.touched)
            if not stands:  # otherwise the last result and its reasons stand
                settled.remember(job.job, _last_result(job, int(table.revision[job.job.column])))
        settled.forget_gone(session.snapshot.jobs)
        self._close_outsiders()
        self.queue_statuses = tuple(self._queue_statuses())

    # Jobs -------------------------------------------------------------------------------------------------------------

    def _close_job(self, job: SessionJob) -> bool:
        conditions = self._conditions(job)
        is_unschedulable = any(each.type == UNSCHEDULABLE and each.status == "True" for each in conditions)
        phase = self.phases[job.id] = phase_of(job, is_unschedulable=is_unschedulable)
        status = self._changed_status(job, phase, conditions)
        # a skipped job got its result and events before, but the server does not show it yet
        is_unchanged = self._session.jobs.skipped.is_passed_over(job) and not job.touched
        if status is not None:
            self.group_statuses.append(status)
            if not is_unchanged:
                self._note_event(job, phase, conditions)
        is_changed = self._update_task_conditions(job, is_unchanged=is_unchanged)
        record_group_notes(self._session, job)
        is_changed |= self._update_native_group(job, conditions)
        return status is None and not is_changed and not _lacks_condition(job, conditions)

    def _update_native_group(self, job: SessionJob, conditions: Iterable[GroupCondition]) -> bool:
        """Report the condition of a native group, and return whether it is new."""
        if job.job.native is None:
            return False
        found = (each.message for each in conditions if each.type == UNSCHEDULABLE and each.status == "True")
        waits = job.counts[TaskStatus.PENDING] or job.counts[TaskStatus.PIPELINED]
        message = next(found, "") or (with_evictions(job, job_message(job)) if waits else "")
        status = native_status(job, message)
        if status is not None:
            self.native_statuses.append(status)
        return status is not None

    def _conditions(self, job: SessionJob) -> list[GroupCondition]:
        conditions = list(self._session.report.conditions.get(job.id, ()))
        present = {each.type: each for each in job.job.group.status.conditions}
        for condition in list(conditions):
            opposite = _OPPOSITE.get(condition.type)
            known = present.get(opposite) if opposite is not None else None
            if known is not None and known.status == "True" and all(each.type != opposite for each in conditions):
                # both may not be true at once: a controller that set one true has found the other false
                conditions.append(
                    GroupCondition(
                        type=known.type,
                        status="False",
                        reason=condition.reason,
                        message="",
                        transition_id=condition.transition_id,
                    )
                )
        return conditions

    def _changed_status(
        self, job: SessionJob, phase: PodGroupPhase, conditions: list[GroupCondition]
    ) -> GroupStatus | None:
        if job.job.is_made_up:
            return None  # no object can carry it
        old = job.job.group.status
        known = {each.type: each for each in old.conditions}
        changed = [each for each in conditions if _says_more(each, known.get(each.type))]
        departed = self._session.snapshot.departed.get(job.id, NONE_DEPARTED)
        running, succeeded, failed = _member_counts(job, departed)
        same = (old.phase or "", old.running, old.succeeded, old.failed) == (phase.value, running, succeeded, failed)
        annotations = self._annotations(job)
        if same and not changed and not annotations:
            return None
        return GroupStatus(
            job=job.id,
            uid=job.job.uid,
            phase=phase,
            running=running,
            succeeded=succeeded,
            failed=failed,
            conditions=tuple(changed),
            annotations=annotations,
        )

    def _annotations(self, job: SessionJob) -> Mapping[str, str]:
        """Return the domain of a job with a topology as annotations; empty if the object already matches."""
        session = self._session
        if not (job.has_topology and session.topology.is_served):
            return {}
        domains = session.topology.domains
        held = domains.held_by_job(job)
        name = domains.topology.domains[held].name if 0 <= held < domains.topology.root else ""
        return {} if job.annotations.get(ALLOCATED_HYPER_NODE, "") == name else {ALLOCATED_HYPER_NODE: name}

    def _note_event(self, job: SessionJob, phase: PodGroupPhase, conditions: Iterable[GroupCondition]) -> None:
        if phase in _WAITING_PHASES and not job.may_start:
            text = next(
                (each.message for each in conditions if each.type == UNSCHEDULABLE and each.status == "True"), ""
            )
            if not (text or job.tasks):
                return  # nothing is unschedulable before there are pods
            if not text:
                pending = job.counts[TaskStatus.PENDING]
                text = f"{pending}/{len(job.tasks)} tasks in gang unschedulable: {job_message(job)}"
                text = with_evictions(job, text)
            self._session.report.group_event(job, "Warning", UNSCHEDULABLE, text)
        elif job.may_start and job.tasks:
            self._session.report.group_event(job, "Normal", SCHEDULED, READY)

    def _update_task_conditions(self, job: SessionJob, *, is_unchanged: bool) -> bool:
        if not any(job.counts[status] for status in _UNBOUND):
            return False
        is_changed, is_left_out = False, self._session.jobs.is_left_out(job)
        fallback = ""
        verdicts = TaskVerdicts(job)
        for task in job.in_status(*_UNBOUND):
            if task.gated or (is_left_out and has_condition(task)):
                continue
            reason, message, place = verdicts.of(task)
            if not message:
                fallback = fallback or with_evictions(job, job_message(job))
                message = fallback
            nominated = place if task.id in self._session.report.nominated else _none_any_more(task)
            if differs(task, reason, message, nominated):
                self._add_condition(task, reason, message, nominated, is_unchanged=is_unchanged)
                is_changed = True
        return is_changed

    def _add_condition(
        self, task: Task, reason: str, message: str, nominated: NodeName | None, *, is_unchanged: bool = False
    ) -> None:
        self.pod_conditions.append(
            PodCondition(
                task=task.id,
                namespace=task.namespace,
                name=task.name,
                reason=reason,
                message=message,
                nominated_node=nominated,
            )
        )
        if is_unchanged:
            return
        self._session.report.record_events(
            EventNote(
                kind="Pod",
                namespace=task.namespace,
                name=task.name,
                uid=task.id,
                type="Warning",
                reason="FailedScheduling",
                message=message,
            )
        )

    def _close_outsiders(self) -> None:
        untold: list[float] = []
        for outsider in self._session.snapshot.orphan_pods:
            task, message = outsider.task, outsider.refusal.message
            if not self._session.jobs.is_own_pod(task):
                continue
            if task.gated or not differs(task, UNSCHEDULABLE, message, None):
                continue
            # a clock that is far behind the server's must not keep a pod untold for as long
            if abs(self._session.now - task.created) < GRACE_SECONDS:
                untold.append(task.created + GRACE_SECONDS)
            else:
                self._add_condition(task, UNSCHEDULABLE, message, None)
        self.grace_ends = min(untold, default=None)

    # Queues -----------------------------------------------------------------------------------------------------------

    def _queue_statuses(self) -> Iterator[QueueAllocation]:
        session = self._session
        allocated, claimed = session.jobs.allocated_by_queue(), claimed_by_queue(session)
        for name, queue in session.queues.by_name.items():
            amounts = {"cpu": 0, "memory": 0} | session.resources.amounts(allocated[name]) | claimed.get(name, {})
            for resource, more in session.report.differences.get(name, {}).items():
                amounts[resource] = amounts.get(resource, 0) + more
                if not amounts[resource]:
                    del amounts[resource]
            if queue.object is not None and amounts != _written(queue):
                yield QueueAllocation(queue=name, allocated=amounts)


def _lacks_condition(job: SessionJob, conditions: list[GroupCondition]) -> bool:
    """Return whether a job without pods has no condition yet, which it gets when they are missing for long."""
    return not (job.tasks or conditions) and job.phase in _WAITING_PHASES


def _says_more(condition: GroupCondition, known: wire.PodGroupCondition | None) -> bool:
    """Return whether a condition differs from the written one, apart from amounts."""
    if known is None or (condition.status, condition.reason) != (known.status, known.reason):
        return True
    return without_amounts(condition.message) != without_amounts(known.message)


def _member_counts(job: SessionJob, departed: Departed) -> tuple[int, int, int]:
    """Count members that run, have succeeded and have failed; those of a job that completed may be there no more."""
    counts, old = job.counts, job.job.group.status
    running, succeeded, failed = (
        counts[status] for status in (TaskStatus.RUNNING, TaskStatus.SUCCEEDED, TaskStatus.FAILED)
    )
    if job.has_finished:
        return running, max(succeeded, old.succeeded), max(failed, old.failed)
    return running, succeeded + departed.succeeded, failed + departed.failed


def _last_result(job: SessionJob, revision: int) -> LastResult:
    return LastResult(
        revision,
        tuple(job.reasons.refusals),
        job.reasons.cause,
        job.reasons.verdict,
        dict(job.reasons.eviction_refusals),
        dict(job.reasons.task_refusals),
        job.reasons.blocking_jobs,
        job.reasons.unschedulable_template,
        job.reasons.is_unschedulable_by_queue,
        job.all_refusals,
    )


def _none_any_more(task: Task) -> NodeName | None:
    """Return what clears the nominated node of a pod that has one and is promised none; None if it has none."""
    return NodeName("") if task.pod.status.nominated_node_name else None


def has_condition(task: Task) -> bool:
    """Return whether a pod's conditions have the reason that it waits."""
    return any(each.type == "PodScheduled" and each.status == "False" for each in task.pod.status.conditions)


def differs(task: Task, reason: str, message: str, nominated: NodeName | None) -> bool:
    """Return whether a pod's `PodScheduled` condition or nominated node is not yet as given."""
    status = task.pod.status
    if nominated is not None and status.nominated_node_name != nominated:
        return True
    for condition in status.conditions:
        if condition.type == "PodScheduled":
            known = condition.status, condition.reason, without_amounts(condition.message)
            return known != ("False", reason, without_amounts(message))
    return True


def _written(queue: Queue) -> dict[str, int] | None:
    """Return the amounts in the status of a queue; None if another writer left a status that cannot be parsed."""
    assert queue.object is not None
    written = queue.object.status.allocated
    try:
        amounts = {name: millis(quantity) for name, quantity in written.items()}
    except QuantityError:
        return None
    return {name: amount for name, amount in amounts.items() if amount or name in ("cpu", "memory")}
