"""Messages: what a job and its tasks are told, in the shape Volcano's users know.

Counts come as `<count> <word>`, sorted as text, so that equal situations give equal messages.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from framework.jobs import SessionJob
from model.ids import NodeName
from model.refusals import Refusal
from model.tasks import Task, TaskStatus

__all__ = ["READY", "behind_gates", "job_message", "origin_of", "task_verdict", "with_evictions"]

READY: Final = "pod group is ready"
NOT_READY: Final = "pod group is not ready"

SCHEDULABLE: Final = "Schedulable"
UNSCHEDULABLE: Final = "Unschedulable"


def job_message(job: SessionJob) -> str:
    """Say how far a job is, what its pending tasks wait for, and where that began."""
    histogram = {TaskStatus(status).label: count for status, count in enumerate(job.counts) if count}
    histogram["minAvailable"] = job.min_available
    message = f"{READY if job.may_start else NOT_READY}, {_listed(histogram)}"
    pending = Counter(task_verdict(job, task)[0] for task in job.in_status(TaskStatus.PENDING))
    if pending:
        message += f"; Pending: {_listed(pending)}"
    origin = origin_of(job)
    return f"{message}. Origin reason is {origin}" if origin else message


def with_evictions(job: SessionJob, message: str) -> str:
    """Add to a message about a job, or a task of it, why nobody is evicted for it."""
    evictions = job.told_evictions
    if not evictions:
        return message
    actions: dict[str, list[str]] = {}
    for action, refusal in evictions.items():
        actions.setdefault(refusal.text, []).append(action)
    told = (f"{', '.join(each)}: {text}" for text, each in actions.items())
    return ". ".join([message.rstrip("."), *told])


def origin_of(job: SessionJob) -> str:
    """Return the cause that holds the job back, in words: a permanent one before others, the first of its kind."""
    cause = job.permanent_cause
    if cause is not None or job.refusals:
        return (cause or job.refusals[0]).text
    refused = [(task, refusal) for task in _in_name_order(job.tasks.values()) if (refusal := _refusal_of(job, task))]
    refused.sort(key=lambda each: each[1].resolvable)
    return next((f"{task.name}: {refusal.text}" for task, refusal in refused), "")


def task_verdict(job: SessionJob, task: Task) -> tuple[str, str, NodeName | None]:
    """Say what a task that is not bound is told.

    Returns:
        Reason and message of its `PodScheduled` condition, and the node on which it had or has a place.
    """
    refusal = _refusal_of(job, task)
    if refusal is None and job.vetoed_by and job.refusals and not job.waiting_count:
        return UNSCHEDULABLE, job.refusals[0].message, None
    place = job.last_places.get(task.id, task) if task.status is TaskStatus.PENDING else task
    if place.status in (TaskStatus.ALLOCATED, TaskStatus.BINDING):
        return SCHEDULABLE, f"pod {task.key} fits on node {place.node} once minAvailable is satisfied", place.node
    if place.status is TaskStatus.PIPELINED:
        text = f"pod {task.key} fits on node {place.node} once resources are released and minAvailable is satisfied"
        return UNSCHEDULABLE, text, place.node
    message = refusal.text if refusal is not None else job.refusals[0].text if job.refusals else ""
    cause = job.permanent_cause
    if cause is not None and (refusal is None or refusal.resolvable) and cause.text != message:
        message = f"{cause.text.rstrip('.')}. {message}".rstrip()
    return UNSCHEDULABLE, with_evictions(job, message) if message else "", None


def behind_gates(task: Task) -> Refusal:
    """Return why a task with scheduling gates waits; it is not placed before others have taken them off."""
    gates = ", ".join(gate.name for gate in task.pod.spec.scheduling_gates)
    return Refusal(
        plugin="scheduler",
        reason="SchedulingGated",
        message=f"waits behind scheduling gates: {gates}",
        resolvable=False,
    )


def _refusal_of(job: SessionJob, task: Task) -> Refusal | None:
    refusal = job.task_refusals.get(task.id)
    if refusal is None and task.gated and task.status is TaskStatus.PENDING:
        return behind_gates(task)
    return refusal


def _listed(counts: "dict[str, int] | Counter[str]") -> str:
    return ", ".join(sorted(f"{count} {word}" for word, count in counts.items()))


def _in_name_order(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: task.name)
