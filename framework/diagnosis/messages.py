"""Messages: the texts about jobs and tasks, in the format of Volcano.

Counts come as `<count> <word>`, sorted as text, so that equal situations give equal messages.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import NodeName
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["READY", "TaskVerdicts", "behind_gates", "job_message", "origin_of", "with_evictions"]

READY: Final = "pod group is ready"
NOT_READY: Final = "pod group is not ready"

SCHEDULABLE: Final = "Schedulable"
UNSCHEDULABLE: Final = "Unschedulable"

_ALLOCATED: Final = (TaskStatus.ALLOCATED, TaskStatus.BINDING)


def job_message(job: SessionJob) -> str:
    """Return how far a job is, what its pending tasks wait for, and where that began."""
    histogram = {TaskStatus(status).label: count for status, count in enumerate(job.counts) if count}
    histogram["minAvailable"] = job.min_available
    message = f"{READY if job.may_start else NOT_READY}, {_listed(histogram)}"
    pending = Counter([_reason(job, task) for task in job.in_status(TaskStatus.PENDING)])
    if pending:
        message += f"; Pending: {_listed(pending)}"
    origin = origin_of(job)
    return f"{message}. Origin reason is {origin}" if origin else message


def with_evictions(job: SessionJob, message: str) -> str:
    """Add to a message about a job the reasons that it evicts no pods."""
    return _joined(message, _eviction_texts(job))


def _eviction_texts(job: SessionJob) -> list[str]:
    """Return the reasons that no pods are evicted for a job. Actions with the same reason share one text."""
    actions: dict[str, list[str]] = {}
    for action, refusal in job.told_evictions.items():
        actions.setdefault(refusal.text, []).append(action)
    return [f"{', '.join(each)}: {text}" for text, each in actions.items()]


def _joined(message: str, evictions: list[str]) -> str:
    return ". ".join([message.rstrip("."), *evictions]) if evictions else message


def origin_of(job: SessionJob) -> str:
    """Return the cause that holds the job back, in words: a permanent one before others, the first of its kind."""
    cause = job.permanent_cause
    if cause is not None or job.reasons.refusals:
        return (cause or job.reasons.refusals[0]).text
    refused = [(task, refusal) for task in _in_name_order(job.tasks.values()) if (refusal := _refusal_of(job, task))]
    refused.sort(key=lambda each: each[1].resolvable)
    return next((f"{task.name}: {refusal.text}" for task, refusal in refused), "")


class TaskVerdicts:
    """Messages for the tasks of a job that are not bound. A message that many tasks share is built once."""

    def __init__(self, job: SessionJob) -> None:
        self._job = job
        self._messages: dict[tuple[str, bool], str] = {}
        """Messages by the refusal of a task itself, and by whether that refusal is permanent."""

    def of(self, task: Task) -> tuple[str, str, NodeName | None]:
        """Return reason and message of a task's `PodScheduled` condition, and the node where it had or has a place."""
        job = self._job
        refusal = _refusal_of(job, task)
        if refusal is None and _is_vetoed(job):
            return UNSCHEDULABLE, job.reasons.refusals[0].message, None
        place = _place_of(job, task)
        if place.status in _ALLOCATED:
            return SCHEDULABLE, f"pod {task.key} fits on node {place.node} once minAvailable is satisfied", place.node
        if place.status is TaskStatus.PIPELINED:
            text = f"pod {task.key} fits on node {place.node} once resources are released and minAvailable is satisfied"
            return UNSCHEDULABLE, text, place.node
        text = refusal.text if refusal is not None else job.reasons.refusals[0].text if job.reasons.refusals else ""
        key = text, refusal is not None and not refusal.resolvable
        if key not in self._messages:
            self._messages[key] = self._message(*key)
        return UNSCHEDULABLE, self._messages[key], None

    def _message(self, text: str, is_permanent: bool) -> str:
        cause = self._job.permanent_cause
        if cause is not None and not is_permanent and cause.text != text:
            text = f"{cause.text.rstrip('.')}. {text}".rstrip()
        return with_evictions(self._job, text) if text else ""


def _reason(job: SessionJob, task: Task) -> str:
    """Return the reason of a task's condition, without the message."""
    if _place_of(job, task).status not in _ALLOCATED:
        return UNSCHEDULABLE
    return UNSCHEDULABLE if _is_vetoed(job) and _refusal_of(job, task) is None else SCHEDULABLE


def _is_vetoed(job: SessionJob) -> bool:
    """Return whether a plugin keeps the job from starting although its minimum has places."""
    return bool(job.vetoed_by and job.reasons.refusals and not job.waiting_count)


def _place_of(job: SessionJob, task: Task) -> Task:
    """Return a task in the place that it has, or had before it was undone."""
    return job.reasons.last_places.get(task.id, task) if task.status is TaskStatus.PENDING else task


def behind_gates(task: Task) -> Refusal:
    """Return why a task with scheduling gates waits; it is not placed before others have taken them off."""
    gates = ", ".join(gate.name for gate in task.pod.spec.scheduling_gates)
    return Refusal(
        plugin="scheduler",
        reason="SchedulingGated",
        message=f"waits for the removal of scheduling gates: {gates}",
        resolvable=False,
    )


def _refusal_of(job: SessionJob, task: Task) -> Refusal | None:
    refusal = job.reasons.task_refusals.get(task.id)
    if refusal is None and task.gated and task.status is TaskStatus.PENDING:
        return behind_gates(task)
    return refusal


def _listed(counts: "dict[str, int] | Counter[str]") -> str:
    return ", ".join(sorted(f"{count} {word}" for word, count in counts.items()))


def _in_name_order(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: task.name)
