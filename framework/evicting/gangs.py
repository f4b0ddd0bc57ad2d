"""Gangs of victims: a gang that loses a task keeps its minimum, or goes whole.

Half a gang holds room and does no work, so what is evicted is a unit: one task that its gang can spare, or all tasks of
a gang. A job whose minimum is one task is no gang; any of its tasks can go.
"""

from collections import Counter
from typing import Final

from framework.jobs import SessionJob
from model.tasks import READY_STATUSES, Task, TaskStatus

__all__ = ["ACTIVE_STATUSES", "can_spare", "whole_gang"]

ACTIVE_STATUSES: Final = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.ALLOCATED})
"""Tasks that hold room for their gang."""

_ONE: Final = 1


def can_spare(job: SessionJob, task: Task) -> bool:
    """Tell whether a job runs on without one of its active tasks, or has nothing that needs the others."""
    if job.min_available <= _ONE and not job.min_sub_jobs:
        return True
    if job.ready_count - 1 < job.min_available:
        return False
    return _role_can_spare(job, task) and _group_can_spare(job, task)


def _role_can_spare(job: SessionJob, task: Task) -> bool:
    minimum = job.job.min_by_role.get(task.role, 0)
    return not job.checks_roles or minimum <= 0 or job.role_count(task.role) > minimum


def _group_can_spare(job: SessionJob, task: Task) -> bool:
    """Tell whether enough sub-jobs of its group stay ready without a task."""
    minimums = job.min_sub_jobs
    if not minimums:
        return True
    ready = Counter(part.group for part in job.sub_jobs.values() if part.is_ready)
    for part in job.sub_jobs.values():
        if task.id in part.tasks:
            breaks = part.is_ready and part.missing == 0 and task.status in READY_STATUSES
            return not breaks or ready[part.group] > minimums.get(part.group, 0)
    return True


def whole_gang(job: SessionJob) -> list[Task]:
    """Return all tasks of a job that hold room."""
    return list(job.in_status(*ACTIVE_STATUSES))
