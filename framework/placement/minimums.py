"""Minimums: which of a job's tasks make it ready.

A job is ready when its minimum is placed, with it the minimums of its roles, and as many of its sub-groups as each
policy asks for. Chosen are few tasks that do that, waiting ones counted: first whole sub-groups, as long as their
policy lacks some; then tasks of roles that lack some; then what the job as a whole still lacks. A partial sub-group has
no use, so tasks of completed sub-groups are preferred to tasks that need another one.

Sub-groups are taken in their order, tasks in theirs. In a sub-group those go first whose roles lack them, of these the
ones that other sub-groups have too few of.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.model.ids import SubJobId, TaskId
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Step", "in_front", "lacking_by_role", "needed_tasks", "steps_to_minimum"]

Step = tuple[SubJob, list[Task]]
"""Tasks of one sub-job that serve together: what makes it up, or one task."""


def steps_to_minimum(session: Session, job: SessionJob, tasks: Iterable[Task]) -> list[Step]:
    """Return the tasks that make a job ready as it stands, as far as they go.

    Args:
        session: The session.
        job: The job.
        tasks: Its pending tasks among which is chosen, first to be placed first; those that count as placed are none.
    """
    choice = _Choice(session, job, tasks)
    choice.choose()
    return choice.steps


def needed_tasks(session: Session, job: SessionJob, tasks: Iterable[Task]) -> list[Task]:
    """Return the same tasks one after the other."""
    return [task for _, step in steps_to_minimum(session, job, tasks) for task in step]


def in_front(needed: Sequence[Task], tasks: Iterable[Task]) -> list[Task]:
    """Return tasks in another order: those needed before the others."""
    ids = {task.id for task in needed}
    return [*needed, *(task for task in tasks if task.id not in ids)]


class _Choice:
    """Shortages of a job, and the tasks chosen to fill them."""

    def __init__(self, session: Session, job: SessionJob, tasks: Iterable[Task]) -> None:
        self.steps: list[Step] = []
        self._total = job.min_available - job.ready_count - job.waiting_count - job.pending_best_effort
        self._roles = lacking_by_role(job)
        self._groups = Counter(job.min_sub_jobs)
        """Sub-groups that are lacking, by group."""
        self._parts = sorted(job.sub_jobs.values(), key=session.jobs.sub_job_order_key)
        self._missing: dict[SubJobId, int] = {}
        """Tasks that a sub-group lacks; none where nothing divides the job."""
        for part in self._parts:
            self._missing[part.id] = part.lacking if job.has_sub_group_policy else 0
            self._groups[part.group] -= self._missing[part.id] <= 0
        own = {task_id: part.id for part in self._parts for task_id in part.tasks}
        self._left: dict[SubJobId, dict[TaskId, Task]] = {part.id: {} for part in self._parts}
        """Tasks to choose from, by sub-group."""
        for task in tasks:
            if not job.counts_as_placed(task):
                self._left[own[task.id]][task.id] = task

    def choose(self) -> None:
        """Choose."""
        self._make_up(lambda part: self._groups[part.group] > 0)
        self._extend(self._fills_role)
        self._make_up(lambda part: any(map(self._fills_role, self._left[part.id].values())), then=self._fills_role)
        self._make_up(lambda part: self._missing[part.id] <= self._total)
        self._extend(lambda _: self._total > 0)
        self._make_up(lambda _: self._total > 0)

    def _make_up(self, is_needed: Callable[[SubJob], bool], *, then: Callable[[Task], bool] = lambda _: False) -> None:
        """Add each selected sub-group in turn, and then single selected tasks."""
        for part in self._parts:
            if 0 < self._missing[part.id] <= len(self._left[part.id]) and is_needed(part):
                self.steps.append((part, self._whole(part)))
                self._groups[part.group] -= 1
                self._extend(then)

    def _whole(self, part: SubJob) -> list[Task]:
        """Take as many tasks as make up a sub-group."""
        elsewhere = Counter(task.role for id_, left in self._left.items() if id_ != part.id for task in left.values())
        taken: list[Task] = []
        for goes_first in (
            lambda task: self._roles[task.role] > elsewhere[task.role],
            self._fills_role,
            lambda _: True,
        ):
            for task in list(self._left[part.id].values()):
                if self._missing[part.id] > 0 and goes_first(task):
                    taken += [self._take(part, task)]
        return taken

    def _extend(self, is_needed: Callable[[Task], bool]) -> None:
        """Add each selected task of completed sub-groups in turn."""
        for part in self._parts:
            if self._missing[part.id] <= 0:
                for task in list(self._left[part.id].values()):
                    if is_needed(task):
                        self.steps.append((part, [self._take(part, task)]))

    def _take(self, part: SubJob, task: Task) -> Task:
        del self._left[part.id][task.id]
        self._missing[part.id] -= 1
        self._total -= 1
        self._roles[task.role] -= 1
        return task

    def _fills_role(self, task: Task) -> bool:
        return self._roles[task.role] > 0


def lacking_by_role(job: SessionJob) -> Counter[str]:
    """Count what the minimum of each role lacks, waiting tasks counted as placed."""
    if not job.checks_roles:
        return Counter()
    waiting = Counter(task.role for task in job.in_status(TaskStatus.PIPELINED))
    lacking = {role: least - job.role_count(role) - waiting[role] for role, least in job.job.min_by_role.items()}
    return Counter(lacking)
