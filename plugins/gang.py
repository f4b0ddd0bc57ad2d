"""Gang: run a job's minimum as a whole or not at all.

A job keeps its placements only if its minimum (`minMember`), its minimums by role (`minTaskMember`) and its minimums of
sub-groups can be met together.

Points: job valid, job order, sub-job order, job ready, sub-job ready, job pipelined, sub-job pipelined, job starving,
preemptable, reclaimable, unified evictable; conditions at close.  No arguments.  Rules: docs/plugins/gang.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from pyroclast.framework.diagnosis.messages import job_message, with_evictions
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.preemption.victim_gangs import Surplus
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.framework.state.sub_jobs import group_of
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray
from pyroclast.model.group_notes import selector_faults
from pyroclast.model.ids import JobId
from pyroclast.model.jobs import NO_QUEUE
from pyroclast.model.native import Disruption
from pyroclast.model.quantity import format_bytes, format_millis
from pyroclast.model.refusals import Refusal
from pyroclast.model.report import GroupCondition
from pyroclast.model.resources import CPU, MEMORY, MILLI, PODS
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import ALLOCATED_STATUSES, READY_STATUSES, Task, TaskStatus
from pyroclast.model.wire.times import unix_seconds

__all__ = ["Gang"]

NOT_ENOUGH_RESOURCES: Final = "NotEnoughResources"
NOT_ENOUGH_TASKS: Final = "NotEnoughTasks"
NOT_ENOUGH_PODS_OF_TASK: Final = "NotEnoughPodsOfTask"
MOST_NAMED: Final = 3
"""Maximum number of jobs that a message names."""
VALID: Final = READY_STATUSES | {TaskStatus.PIPELINED, TaskStatus.PENDING}
"""Statuses of tasks that run, have run successfully, or may run."""
SCHEDULED: Final = (TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.FAILED, TaskStatus.SUCCEEDED)
"""Statuses of tasks that have had a node."""
READY_REASON: Final = "tasks in gang are ready to be scheduled"
ADMITTED: Final = "Admitted"
UNSCHEDULABLE: Final = "Unschedulable"
PODS_GRACE_SECONDS: Final = 30.0
"""Time without pods before a job gets a condition: controllers create pods after the group."""


class Gang(Plugin):
    """Schedule a job's minimum as a whole."""

    name = "gang"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        session.extensions.register(contract.JOB_VALID, self.name, shortage_of_tasks)
        session.extensions.register(contract.JOB_ORDER, self.name, rank)
        session.extensions.register(contract.SUB_JOB_ORDER, self.name, is_sub_job_ready)
        session.extensions.register(contract.JOB_READY, self.name, has_minimum, missing=missing_tasks)
        session.extensions.register(contract.SUB_JOB_READY, self.name, is_sub_job_ready, missing=missing_in_part)
        session.extensions.register(contract.JOB_PIPELINED, self.name, pipelined_vote)
        session.extensions.register(contract.SUB_JOB_PIPELINED, self.name, sub_job_pipelined_vote)
        session.extensions.register(contract.JOB_STARVING, self.name, is_starving)

        def spare(beneficiary: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
            return above_minimum(session, candidates, beneficiary), Vote.PERMIT

        session.extensions.register(contract.PREEMPTABLE, self.name, spare, alike=True)
        session.extensions.register(contract.RECLAIMABLE, self.name, spare, alike=True)
        session.extensions.register(contract.UNIFIED_EVICTABLE, self.name, permit_all, alike=True, in_turn=True)

    def on_session_close(self, session: Session) -> None:
        """Set a condition of each job: whether its minimum can run."""
        unready = unready_columns(session.snapshot)
        for job in session.jobs.to_close():
            unready[job.job.column] = False
            if job.has_finished:
                continue
            if not job.tasks:
                set_empty_job_condition(session, job)
                continue
            if job.may_start:
                session.report.set_condition(job, condition(session, "Scheduled", READY_REASON, ""))
                session.report.sample("unschedule_task_count", 0, job_id=job.job.name)
            elif session.jobs.is_left_out(job):
                unready[job.job.column] = True
                repeat_refusal(session, job)
            elif job.vetoed_by or not has_placed_all(job):
                unready[job.job.column] = True
                refuse_gang(session, job)
        session.report.sample("unschedule_job_count", int(np.count_nonzero(unready)))


def shortage_of_tasks(job: SessionJob) -> Refusal | None:
    """Refuse a job that has too few pods to reach its minimums."""
    if not job.roles_valid():
        message = f"Not enough valid pods of each task for gang-scheduling: {', '.join(short_roles(job))}"
        return Refusal(plugin=Gang.name, reason=NOT_ENOUGH_PODS_OF_TASK, message=message)
    groups = list(short_groups(job)) if job.min_sub_jobs else []
    if groups:
        message = f"Not enough valid subGroups of each task for gang-scheduling: {'; '.join(groups)}"
        return Refusal(plugin=Gang.name, reason=NOT_ENOUGH_PODS_OF_TASK, message=message)
    if job.valid_count < job.min_available:
        message = f"Not enough valid tasks for gang-scheduling, valid: {job.valid_count}, min: {job.min_available}"
        return Refusal(plugin=Gang.name, reason=NOT_ENOUGH_TASKS, message=message)
    return None


def short_roles(job: SessionJob) -> Iterator[str]:
    """Yield the roles with too few pods: `worker has 1 of 2`."""
    there = Counter(task.role for task in job.in_status(*VALID))
    for role, least in sorted(job.job.min_by_role.items()):
        if there[role] < least:
            yield f"{role} has {there[role]} of {least}"


def short_groups(job: SessionJob) -> Iterator[str]:
    """Yield the policies with too few complete sub-groups."""
    for number, policy in enumerate(job.job.group.spec.sub_group_policy):
        parts = [part for part in job.sub_jobs.values() if part.group == group_of(job.id, policy)]
        sizes = ((part, sum(task.status in VALID for task in part.tasks.values())) for part in parts)
        whole = sum(size >= part.min_available for part, size in sizes)
        if whole < job.min_sub_jobs.get(group_of(job.id, policy), 0):
            faults = selector_faults(policy, f"subGroupPolicy[{number}]")
            pods = f"{policy.sub_group_size} pod{'s' if policy.sub_group_size > 1 else ''}"
            found = f"{policy.name} has {whole} of {policy.min_sub_groups} sub-groups with {pods}"
            yield f"{found} ({fault})" if (fault := next(faults, None)) else found


def rank(job: SessionJob) -> tuple[bool, bool]:
    """Rank a job: jobs without their minimum first, and among them broken gangs.

    A broken gang occupies resources without doing work. So does a gang that lost a member of a role or of a sub-group,
    even if as many members run as its minimum.
    """
    if job.is_ready:
        is_whole = not (lacks_part(job) or has_broken_sub_job(job))
        return is_whole, is_whole
    return False, not is_broken(job)


def is_broken(job: SessionJob) -> bool:
    """Return whether a gang is broken: members run, but its minimum does not.

    The gang lost placements before the members started, or lost running members: drained, deleted, or refused by a
    node. A member that has ended is not lost; it counts as scheduled, as in the phase of the group. A member that has
    failed counts only while no member waits to be placed, because that one may replace it.
    """
    counts = job.counts
    on_nodes = counts[TaskStatus.RUNNING] + counts[TaskStatus.BOUND]
    if not on_nodes:
        return job.was_broken
    ended = counts[TaskStatus.SUCCEEDED]
    if not counts[TaskStatus.PENDING]:
        ended += counts[TaskStatus.FAILED] + job.departed.failed
    placed = counts[TaskStatus.BINDING] + counts[TaskStatus.ALLOCATED]
    return job.was_broken or on_nodes + placed + ended < job.min_available or lacks_part(job)


def lacks_part(job: SessionJob) -> bool:
    """Return whether as many members run as the minimum, but too few of a role or too few sub-groups, and some wait."""
    return _has_lost_members(job) and job.is_pipelined and pipelined_vote(job) is Vote.REJECT


def has_broken_sub_job(job: SessionJob) -> bool:
    """Return whether a sub-group runs in part, and members of it wait."""
    if not (job.has_sub_group_policy and _has_lost_members(job)):
        return False
    return any(part.missing > 0 and _is_in_parts(part.tasks.values()) for part in job.sub_jobs.values())


def _is_in_parts(members: Iterable[Task]) -> bool:
    """Return whether some members are on nodes and others wait."""
    statuses = {task.status for task in members}
    return TaskStatus.PENDING in statuses and not statuses.isdisjoint({TaskStatus.RUNNING, TaskStatus.BOUND})


def _has_lost_members(job: SessionJob) -> bool:
    counts = job.counts
    return bool(counts[TaskStatus.PENDING] and counts[TaskStatus.RUNNING] + counts[TaskStatus.BOUND])


def is_sub_job_ready(sub_job: SubJob) -> bool:
    """Return whether the minimum of a sub-job is placed; as a rank, False comes first."""
    return sub_job.is_ready


def has_minimum(job: SessionJob) -> bool:
    """Return whether the minimums of the job, its roles and its sub-groups are placed."""
    return job.is_ready and job.roles_ready() and _enough_sub_jobs(job, is_sub_job_ready)


def missing_tasks(job: SessionJob) -> int:
    """Return the least number of placements before `has_minimum` can hold."""
    return job.min_available - job.ready_count - job.pending_best_effort


def missing_in_part(sub_job: SubJob) -> int:
    """Return the least number of placements before `is_sub_job_ready` can hold."""
    return sub_job.missing


def pipelined_vote(job: SessionJob) -> Vote:
    """Permit a job to keep its placements if pipelined tasks complete the minimum."""
    enough = job.is_pipelined and job.roles_pipelined() and _enough_sub_jobs(job, lambda part: part.is_pipelined)
    return Vote.PERMIT if enough else Vote.REJECT


def sub_job_pipelined_vote(sub_job: SubJob) -> Vote:
    """Permit a sub-job to keep its placements if pipelined tasks complete its minimum."""
    return Vote.PERMIT if sub_job.is_pipelined else Vote.REJECT


def is_starving(job: SessionJob) -> bool:
    """Return whether the minimum is not met even with pipelined tasks, or none of the members that wait has a place.

    Roles and sub-groups matter where members of them were lost. Members that succeeded count for the minimum, but a
    job of which nothing runs does not advance.
    """
    return job.is_starving or lacks_part(job) or only_succeeded(job)


def only_succeeded(job: SessionJob) -> bool:
    """Return whether the minimum was met by members that succeeded, nothing of the job runs, and members wait."""
    waits = job.counts[TaskStatus.PENDING] and not job.allocated_count + job.waiting_count
    return bool(waits and job.job.min_available and job.counts[TaskStatus.SUCCEEDED] + job.departed.succeeded)


def above_minimum(session: Session, candidates: Sequence[Task], beneficiary: Task) -> list[Task]:
    """Return the candidates that their jobs, roles and sub-groups can lose together, in the given order.

    In the beneficiary's own job, the beneficiary replaces one member of its role and sub-group.
    """
    surplus: dict[JobId, Surplus] = {}
    spared: list[Task] = []
    for task in candidates:
        job = session.jobs.of(task)
        if job is None:
            continue
        if job.disruption is Disruption.ALL and job.id != beneficiary.job:
            spared.append(task)  # all of it is evicted, or nothing
            continue
        left = surplus.get(job.id)
        if left is None:
            left = surplus[job.id] = Surplus(job, beneficiary if beneficiary.job == job.id else None)
        if left.take(task):
            spared.append(task)
    return spared


def permit_all(_: Any, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
    """Permit every candidate. Gang actions preserve the minimums of victims themselves."""
    return list(candidates), Vote.PERMIT


def has_placed_all(job: SessionJob) -> bool:
    """Return whether a job lacks its minimum only because members have ended, or are deleted without successors.

    Nothing is pending then, so nothing is unschedulable. A gang whose members were refused by nodes still lacks them.
    """
    if job.was_broken or job.counts[TaskStatus.PENDING] or job.counts[TaskStatus.PIPELINED]:
        return False
    leaving = sum(task.node is not None for task in job.in_status(TaskStatus.RELEASING))
    scheduled = sum(job.counts[status] for status in SCHEDULED)
    return scheduled + leaving + job.departed.failed >= job.min_available


def unready_columns(snapshot: Snapshot) -> BoolArray:
    """Return whether jobs cannot run their minimum, shape (J,), for jobs that this session has not tried."""
    table = snapshot.job_table
    counts, minimums = table.counts, table.min_available.copy()
    for job_id, departed in snapshot.departed.items():
        if job_id in snapshot.jobs:
            minimums[snapshot.jobs[job_id].column] -= departed.total
    ended = counts[[TaskStatus.SUCCEEDED, TaskStatus.FAILED]].sum(axis=0)
    is_unready = (table.ready_counts() + table.pending_best_effort < minimums) & (counts.sum(axis=0) > ended)
    scheduled = counts[[*SCHEDULED, TaskStatus.RELEASING]].sum(axis=0)
    nothing_waits = counts[[TaskStatus.PENDING, TaskStatus.PIPELINED]].sum(axis=0) == 0
    columns: BoolArray = is_unready & ~(nothing_waits & (scheduled >= minimums)) & (table.queue != NO_QUEUE)
    return columns


def set_empty_job_condition(session: Session, job: SessionJob) -> None:
    """Set the condition of a job without pods: what prevents admission, or, after a while, that pods are missing."""
    if not job.min_available:
        return
    known = next((each for each in job.job.group.status.conditions if each.type == UNSCHEDULABLE), None)
    last_reason = known.reason if known is not None and known.status == "True" else ""
    if job.is_pending and job.reasons.refusals:
        message = f"waits for admission to queue {job.queue}: {job.reasons.refusals[0].text}"
        _refuse_empty(session, job, NOT_ENOUGH_RESOURCES, message)
    elif last_reason not in {"", NOT_ENOUGH_TASKS} and not job.is_pending:
        session.report.set_condition(job, condition(session, UNSCHEDULABLE, ADMITTED, "", status="False"))
    else:
        _miss_pods(session, job, since=0.0 if last_reason else max(job.created, _changed_at(known)))


def _miss_pods(session: Session, job: SessionJob, since: float) -> None:
    """Set a condition after the grace period: the job's pods are created after the group."""
    due = since + PODS_GRACE_SECONDS
    if session.now < due:
        session.report.wake(due)
        return
    admitted = f"has not been admitted to queue {job.queue}, and" if job.is_pending else "is admitted, but"
    _refuse_empty(session, job, NOT_ENOUGH_TASKS, f"{admitted} has none of the {job.min_available} pods that it needs")


def _refuse_empty(session: Session, job: SessionJob, reason: str, message: str) -> None:
    session.report.set_condition(job, condition(session, UNSCHEDULABLE, reason, with_evictions(job, message)))


def _changed_at(known: wire.PodGroupCondition | None) -> float:
    """Return when a condition changed, in seconds since 1970; 0 if the time cannot be parsed."""
    try:
        return 0.0 if known is None else unix_seconds(known.last_transition_time)
    except ValueError:
        return 0.0


def refuse_gang(session: Session, job: SessionJob) -> None:
    """Set the condition that a job's minimum cannot run, with the reason."""
    lacking, members = lacking_members(job), max(len(job.tasks), job.min_available)
    invalid = shortage_of_tasks(job)
    reason = NOT_ENOUGH_RESOURCES if invalid is None else invalid.reason
    message = f"{lacking}/{members} tasks in gang unschedulable: {job_message(job)}"
    if is_broken(job):
        message = (
            f"{message.rstrip('.')}; the gang is broken and holds {held_in_words(session, job)} that it cannot use"
        )
    fits_when = () if job.reasons.blocking_jobs is None else job.reasons.blocking_jobs.jobs
    if fits_when:
        message = f"{message.rstrip('.')}; fits when {listed(fits_when)} {'ends' if len(fits_when) == 1 else 'end'}"
    session.report.set_condition(job, condition(session, UNSCHEDULABLE, reason, with_evictions(job, message)))
    first = next(iter(job.reasons.task_refusals.values()), None)
    counts, resolvable = (first.counts, first.resolvable) if first is not None else ({}, True)
    resolvable = resolvable and job.reasons.cause is None
    job.reasons.verdict = Refusal(
        plugin=Gang.name, reason=reason, message=message, counts=counts, resolvable=resolvable, fits_when=fits_when
    )
    session.report.sample("job_retry_counts", 1, kind="counter", job_id=job.job.name)
    session.report.sample("unschedule_task_count", lacking, job_id=job.job.name)


def repeat_refusal(session: Session, job: SessionJob) -> None:
    """Repeat the last condition of a job that was not tried; if it has none, set the reason why it was not tried."""
    known = next((each for each in job.job.group.status.conditions if each.type == UNSCHEDULABLE), None)
    if known is not None and known.status == "True":
        session.report.set_condition(job, condition(session, UNSCHEDULABLE, known.reason, known.message))
    else:
        job.refuse(session.jobs.window.refusal_of(job.job))
        refuse_gang(session, job)


def lacking_members(job: SessionJob) -> int:
    """Return the number of members that the minimum lacks, including members that do not exist yet.

    If enough members were placed but the minimum of a role or sub-group is missed, return the number without a
    placement.
    """
    waiting = list(job.in_status(TaskStatus.PENDING))
    places = (job.reasons.last_places.get(task.id) for task in waiting)
    placed = sum(place is not None and place.status in ALLOCATED_STATUSES for place in places)
    missing = job.min_available - placed - job.ready_count
    return missing if missing > 0 else max(len(waiting) - placed, 1)


def held_in_words(session: Session, job: SessionJob) -> str:
    """Return the allocation of a job's members as text: `2 CPU`, `1Gi memory`, `1 nvidia.com/gpu`."""
    amounts = session.resources.amounts(job.allocated)
    words = (
        f"{format_bytes(amount // MILLI) if name == MEMORY else format_millis(amount)} {'CPU' if name == CPU else name}"
        for name, amount in amounts.items()
        if amount and name != PODS
    )
    return ", ".join(words) or "places"


def listed(jobs: Sequence[JobId]) -> str:
    """Return the names of jobs; for more than a few, the first ones and the number of others."""
    if len(jobs) > MOST_NAMED:
        return f"{', '.join(jobs[:MOST_NAMED])} and {len(jobs) - MOST_NAMED} more"
    return " and ".join(jobs)


def condition(session: Session, type_: str, reason: str, message: str, *, status: str = "True") -> GroupCondition:
    """Return a condition that holds as of this session."""
    return GroupCondition(type=type_, status=status, reason=reason, message=message, transition_id=session.uid)


def _enough_sub_jobs(job: SessionJob, holds: Any) -> bool:
    minimums = job.min_sub_jobs
    if not minimums:
        return True
    reached = Counter(part.group for part in job.sub_jobs.values() if holds(part))
    return all(reached[group] >= minimum for group, minimum in minimums.items())
