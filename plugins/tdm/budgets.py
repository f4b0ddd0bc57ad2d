"""Budgets: maximum number of concurrent evictions of a job, from the annotations of its PodGroup."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.api.names import MAX_UNAVAILABLE, MIN_AVAILABLE
from pyroclast.model.ids import JobId
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["cut", "has_budget", "most_evictions", "most_of"]

DEFAULT: Final = 1
_AMOUNT: Final = re.compile(r"(\d{1,9})(%?)", re.ASCII)
_PERCENT: Final = 100


def cut(session: Session, tasks: Iterable[Task]) -> list[Task]:
    """Return the first tasks of each job, as many as its budget permits."""
    left: dict[JobId, int] = {}
    kept = []
    for task in tasks:
        job = session.jobs.of(task)
        if job is None:
            continue
        rest = left[job.id] if job.id in left else most_of(job)
        left[job.id] = rest - 1
        if rest > 0:
            kept.append(task)
    return kept


def has_budget(job: SessionJob) -> bool:
    """Return whether the PodGroup of a job has a readable budget; without one the default holds."""
    return any(_amount(job.annotations.get(key), 0) is not None for key in (MAX_UNAVAILABLE, MIN_AVAILABLE))


def most_of(job: SessionJob) -> int:
    """Return how many running tasks of a job may be evicted now."""
    counts = job.counts
    return most_evictions(
        job.annotations,
        running=counts[TaskStatus.RUNNING],
        ended=counts[TaskStatus.SUCCEEDED] + counts[TaskStatus.FAILED],
        tasks=len(job.tasks),
    )


def most_evictions(annotations: Mapping[str, str], *, running: int, ended: int, tasks: int) -> int:
    """Return how many running tasks may be evicted.

    Args:
        annotations: Annotations of the PodGroup. The minimum available outranks the maximum unavailable. Percentages
        are of
            all tasks, rounded up.
        running: Number of running tasks.
        ended: Number of tasks that succeeded or failed.
        tasks: Number of all tasks.
    """
    unavailable = _amount(annotations.get(MAX_UNAVAILABLE), tasks)
    available = _amount(annotations.get(MIN_AVAILABLE), tasks)
    if available is not None:
        return running - available if running >= available else DEFAULT
    if unavailable is not None:
        return max(0, unavailable - (tasks - ended - running))
    return DEFAULT


def _amount(text: str | None, whole: int) -> int | None:
    found = _AMOUNT.fullmatch(text.strip()) if text is not None else None
    if found is None:
        return None
    number = int(found.group(1))
    return -(-number * whole // _PERCENT) if found.group(2) else number
