"""Victim gangs: a gang that loses a task keeps its minimum, or all its tasks are evicted.

Half a gang holds capacity and does no work, so what is evicted is a unit: one task that its gang can spare, or all
tasks of a gang. A job whose minimum is one task is no gang; any of its tasks can be evicted. A native group names its
disruption mode: either any task can be evicted, or all together.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.model.ids import SubJobId
from pyroclast.model.native import Disruption
from pyroclast.model.tasks import READY_STATUSES, Task, TaskStatus

__all__ = [
    "ACTIVE_STATUSES",
    "Surplus",
    "active_count",
    "can_spare",
    "is_intact",
    "is_stopped",
    "might_spare",
    "whole_gang",
]

ACTIVE_STATUSES: Final = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.ALLOCATED})
"""Tasks that hold capacity for their gang."""


class Surplus:
    """Tasks of a job above its minimums, spent one by one. It is computed from the current job, which must not change.

    One of its own tasks that takes the place of the victims counts for its role and its sub-job as if it were there: a
    job that changes one worker for another has as many as before.
    """

    __slots__ = ("_broken", "_job", "_ready", "_roles", "_taken")

    def __init__(self, job: SessionJob, successor: Task | None = None) -> None:
        """Begin.

        Args:
            job: Job that loses tasks.
            successor: The task that takes their place, where it is one of the job's own.
        """
        self._job = job
        self._ready = job.ready_count
        self._roles: Counter[str] = Counter()
        """Tasks taken, by role."""
        self._taken: Counter[SubJobId] = Counter()
        """Tasks taken, by sub-job."""
        self._broken: Counter[str] = Counter()
        """Sub-jobs that have lost their own minimum by that, by group."""
        if successor is not None and not job.counts_as_placed(successor):
            self._roles[successor.role] -= 1
            part = self._part_of(successor)
            if part is not None:
                self._taken[part.id] -= 1

    def spares(self, task: Task) -> bool:
        """Return whether the job, its roles and its groups keep their minimums without one more task."""
        mode = self._job.disruption
        if mode is not None:
            return mode is Disruption.SINGLE
        return self._ready > self._job.min_available and self._role_spares(task) and self._group_spares(task)

    def take(self, task: Task) -> bool:
        """Spend the surplus on a task. Return whether there is enough."""
        if not self.spares(task):
            return False
        self._ready -= 1
        self._roles[task.role] += 1
        part = self._part_of(task)
        if part is not None:
            self._broken[part.group] += self._breaks(part, task)
            self._taken[part.id] += 1
        return True

    def _role_spares(self, task: Task) -> bool:
        job = self._job
        minimum = job.job.min_by_role.get(task.role, 0)
        return not job.checks_roles or minimum <= 0 or job.role_count(task.role) - self._roles[task.role] > minimum

    def _group_spares(self, task: Task) -> bool:
        """Return whether enough sub-jobs of its group stay ready without a task."""
        part = self._part_of(task)
        if part is None or not self._breaks(part, task):
            return True
        ready = _ready_by_group(self._job)[part.group] - self._broken[part.group]
        return ready > self._job.min_sub_jobs.get(part.group, 0)

    def _part_of(self, task: Task) -> SubJob | None:
        """Return the sub-job of a task, where minimums of groups matter."""
        return self._job.part_of(task) if self._job.min_sub_jobs else None

    def _breaks(self, part: SubJob, task: Task) -> bool:
        return part.missing + self._taken[part.id] == 0 and task.status in READY_STATUSES


def can_spare(job: SessionJob, task: Task) -> bool:
    """Return whether a job keeps its minimums without one of its active tasks, or has no other one."""
    return active_count(job) == 1 or Surplus(job).spares(task)


def might_spare(job: SessionJob) -> bool:
    """Return whether a task of a job can be spared. True stays true while tasks of the job are evicted or return."""
    # a task that was terminating before the session is not one of the evicted, so the last task of a gang may have
    # company there
    if job.disruption is not None:
        return job.disruption is Disruption.SINGLE or active_count(job) <= 1
    return active_count(job) <= 1 or job.ready_count + job.counts[TaskStatus.RELEASING] > job.min_available


def is_intact(job: SessionJob, lost: Sequence[Task] | None = None) -> bool:
    """Return whether a job has its minimums, or nothing on nodes any more.

    Args:
        job: The job, after it lost tasks.
        lost: Which ones: minimums of roles and groups of which nothing was taken may have been missed before, and do
            not count. Where None, all count.
    """
    if not active_count(job) or job.disruption is Disruption.SINGLE:
        return True
    if job.disruption is Disruption.ALL and lost:
        return False
    lost = list(job.tasks.values()) if lost is None else lost
    if job.ready_count < job.min_available:
        return False
    minimums = job.job.min_by_role if job.checks_roles else {}
    roles = {task.role for task in lost if task.role in minimums}
    return all(job.role_count(role) >= minimums[role] for role in roles) and _groups_stand(job, lost)


def is_stopped(job: SessionJob) -> bool:
    """Return whether an elastic job, one of several pods that runs with one, has none on nodes any more."""
    return job.min_available <= 1 < len(job.tasks) and not active_count(job)


def whole_gang(job: SessionJob) -> list[Task]:
    """Return all tasks of a job that hold capacity."""
    return list(job.in_status(*ACTIVE_STATUSES))


def active_count(job: SessionJob) -> int:
    """Count the tasks that hold capacity for a job."""
    return job.allocated_count


def _groups_stand(job: SessionJob, lost: Sequence[Task]) -> bool:
    """Return whether enough sub-jobs are ready of each group in which some are not because of what they lost."""
    minimums = job.min_sub_jobs
    if not minimums:
        return True
    taken = Counter(part.id for task in lost if (part := job.part_of(task)) is not None)
    parts = job.sub_jobs
    broken = {parts[each].group for each, count in taken.items() if 0 < parts[each].missing <= count}
    ready = _ready_by_group(job)
    return all(ready[group] >= minimums.get(group, 0) for group in broken)


def _ready_by_group(job: SessionJob) -> Counter[str]:
    return Counter(part.group for part in job.sub_jobs.values() if part.is_ready)
