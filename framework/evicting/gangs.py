"""Gangs of victims: a gang that loses a task keeps its minimum, or goes whole.

Half a gang holds room and does no work, so what is evicted is a unit: one task that its gang can spare, or all tasks of
a gang. A job whose minimum is one task is no gang; any of its tasks can go.
"""

from collections import Counter
from typing import Final

from framework.jobs import SessionJob
from model.tasks import READY_STATUSES, Task, TaskStatus

__all__ = ["ACTIVE_STATUSES", "can_spare", "is_intact", "might_spare", "whole_gang"]

ACTIVE_STATUSES: Final = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.ALLOCATED})
"""Tasks that hold room for their gang."""


def can_spare(job: SessionJob, task: Task) -> bool:
    """Tell whether a job keeps its minimums without one of its active tasks, or has no other one."""
    if active_count(job) == 1:
        return True
    if job.ready_count - 1 < job.min_available:
        return False
    return _role_can_spare(job, task) and _group_can_spare(job, task)


def might_spare(job: SessionJob) -> bool:
    """Tell whether some task of a job could be spared; a yes stays one while tasks of the job are evicted or return."""
    active = active_count(job) + job.counts[TaskStatus.RELEASING]
    return active == 1 or job.ready_count + job.counts[TaskStatus.RELEASING] > job.min_available


def is_intact(job: SessionJob) -> bool:
    """Tell whether a job that lost tasks has its minimums still, or has lost all."""
    if not active_count(job):
        return True
    return job.ready_count >= job.min_available and job.roles_ready() and _groups_ready(job)


def whole_gang(job: SessionJob) -> list[Task]:
    """Return all tasks of a job that hold room."""
    return list(job.in_status(*ACTIVE_STATUSES))


def active_count(job: SessionJob) -> int:
    """Count the tasks that hold room for a job."""
    return sum(job.counts[status] for status in ACTIVE_STATUSES)


def _role_can_spare(job: SessionJob, task: Task) -> bool:
    minimum = job.job.min_by_role.get(task.role, 0)
    return not job.checks_roles or minimum <= 0 or job.role_count(task.role) > minimum


def _group_can_spare(job: SessionJob, task: Task) -> bool:
    """Tell whether enough sub-jobs of its group stay ready without a task."""
    minimums = job.min_sub_jobs
    if not minimums:
        return True
    ready = _ready_by_group(job)
    for part in job.sub_jobs.values():
        if task.id in part.tasks:
            breaks = part.is_ready and part.missing == 0 and task.status in READY_STATUSES
            return not breaks or ready[part.group] > minimums.get(part.group, 0)
    return True


def _groups_ready(job: SessionJob) -> bool:
    minimums = job.min_sub_jobs
    if not minimums:
        return True
    ready = _ready_by_group(job)
    return all(ready[group] >= minimum for group, minimum in minimums.items())


def _ready_by_group(job: SessionJob) -> Counter[str]:
    return Counter(part.group for part in job.sub_jobs.values() if part.is_ready)
