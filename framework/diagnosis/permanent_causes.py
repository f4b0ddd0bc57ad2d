"""Permanent causes: why a job can never run as nodes and queues are, whatever ends or is evicted.

They are found at the end of a cycle for jobs that were refused, and stand before what keeps the job now. All counts are
bounds in favour of the job: rules that depend on other pods are not asked, so a permanent cause is never a false one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from pyroclast.framework.queues.capabilities import beyond_capability
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.queue_refusals import quantities
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["CAN_NEVER_RUN", "note_permanent_causes"]

CAN_NEVER_RUN: Final = "CanNeverRun"
"""Reason of a refusal: too few members fit the nodes, or the job's queue, even when these are empty."""


def note_permanent_causes(session: Session) -> None:
    """Refuse jobs that can never run, and their members that fit no node, with the cause."""
    for job in session.jobs.known().values():
        _note_veto(job)
        if session.jobs.skipped.is_passed_over(job) or session.jobs.is_left_out(job):
            continue
        job.note_cause(_cause(session, job) if _is_refused(job) else None)
        if job.reasons.cause is not None:
            # Nodes and queues may change while the refusals of its tasks stay the same.
            job.reasons.unschedulable_template = None


def _note_veto(job: SessionJob) -> None:
    """Refuse a job that has a minimum of places and that a plugin keeps from starting."""
    waiting = job.counts[TaskStatus.PENDING] + job.counts[TaskStatus.ALLOCATED]
    if job.vetoed_by and waiting and not job.waiting_count:
        message = f"plugin {job.vetoed_by} prevents the start of the job, although nodes have capacity for its minimum"
        job.refuse(Refusal(plugin=job.vetoed_by, reason="StartRefused", message=message))


def _is_refused(job: SessionJob) -> bool:
    return bool(job.reasons.task_refusals) and not (
        job.is_pending or job.reasons.refusals or job.is_ready or job.waiting_count
    )


def _cause(session: Session, job: SessionJob) -> Refusal | None:
    """Return why a whole job can never run; its members that fit no node are refused with that cause on the way."""
    tasks = [task for task in session.jobs.pending_tasks(job) if not task.gated and not task.template.best_effort]
    needed = job.min_available - job.ready_count - job.pending_best_effort
    first = {task.template.number: task for task in reversed(tasks)}
    places = {number: session.candidates.places_on_empty_nodes(task) for number, task in first.items()}
    nowhere = [task for task in tasks if not places[task.template.number].total]
    for task in nowhere:
        _refuse_member(session, job, task)
    if not 0 < needed <= len(tasks):
        return None
    count = Counter(task.template.number for task in tasks)
    fitting = sum(min(count[number], places[number].total) for number in first)
    if fitting >= needed:
        return _refused_by_queue(session, job, tasks, needed)
    if not nowhere:
        short = np.logical_or.reduce([places[number].by_resource < count[number] for number in first])
        lacking = [f"Insufficient {session.resources.names[row]}" for row in np.flatnonzero(short).tolist()]
        message = f"only {fitting} of the {needed} pods that the job needs would fit if all nodes were empty"
        message = ": ".join(filter(None, (message, ", ".join(lacking))))
        return Refusal(plugin="scheduler", reason=CAN_NEVER_RUN, message=message, resolvable=False)
    if len(nowhere) == len(tasks):
        return None  # each of them reports it itself
    cause = job.reasons.task_refusals[nowhere[0].id]
    return replace(cause, message=f"{nowhere[0].name}: {cause.message}", resolvable=False)


def _refuse_member(session: Session, job: SessionJob, task: Task) -> None:
    known = job.reasons.task_refusals.get(task.id)
    if known is None or known.resolvable:
        job.refuse_task(task, session.candidates.explain(task))
        job.reasons.unschedulable_template = None


def _refused_by_queue(session: Session, job: SessionJob, tasks: Sequence[Task], needed: int) -> Refusal | None:
    """Refuse if the needed members request more than the job's queue, or one above it, may ever have."""
    excess = beyond_capability(session, job.queue, job.allocated, tasks, needed)
    if excess is None:
        return None
    least, most = (quantities(session.resources, each.tolist(), excess.rows) for each in (excess.asked, excess.limit))
    message = f"the job needs at least {least}, and the limit of queue {excess.queue} is {most}"
    return Refusal(plugin="scheduler", reason=CAN_NEVER_RUN, message=message, resolvable=False)
