"""Choices: which members make a gang ready, where it has more than it needs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyroclast.framework.placement.minimums import lacking_by_role, needed_tasks
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.tasks import Task

__all__ = ["Surplus", "choices_of_members", "surplus_of"]


def choices_of_members(session: Session, job: SessionJob, tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """Yield sets of tasks that make a job ready: in task order, then the smallest ones by each resource.

    Args:
        session: The session.
        job: The gang.
        tasks: Its pending tasks that may be placed, first to be placed first.
    """
    seen: set[frozenset[TaskId]] = set()
    for order in (None, *_orders(session, tasks)):
        for among in _without_large_parts(session, job, tasks if order is None else sorted(tasks, key=order)):
            chosen = needed_tasks(session, job, among)
            ids = frozenset(task.id for task in chosen)
            if ids in seen or not _suffice(session, job, chosen):
                continue
            seen.add(ids)
            yield chosen


def _suffice(session: Session, job: SessionJob, chosen: Sequence[Task]) -> bool:
    """Return whether tasks are as many as the minimum lacks, and as the minimums of roles lack."""
    counts = Counter(task.role for task in chosen)
    is_enough = len(chosen) >= session.jobs.missing_of_job(job)
    return bool(chosen) and is_enough and all(counts[role] >= least for role, least in lacking_by_role(job).items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Surplus:
    """Number of a gang's tasks that may stay without a node."""

    roles: Sequence[str]
    """The roles that have minimums; all others count as one more, which comes last."""
    spare: Sequence[int]
    """Surplus by role, including roles without a minimum."""
    in_all: int

    def role_of(self, task: Task) -> int:
        """Return the number of a task's role."""
        return self.roles.index(task.role) if task.role in self.roles else len(self.roles)


def surplus_of(job: SessionJob, tasks: Sequence[Task]) -> Surplus:
    """Count how many of some pending tasks of a job may stay without a node while the job becomes ready."""
    lacking = {role: max(least, 0) for role, least in lacking_by_role(job).items()}
    needed = job.min_available - job.ready_count - job.waiting_count - job.pending_best_effort
    counts = Counter(task.role if task.role in lacking else None for task in tasks)
    spare = [max(counts[role] - least, 0) for role, least in lacking.items()]
    in_all = len(tasks) - max(needed, sum(lacking.values()))
    return Surplus(roles=list(lacking), spare=[*spare, counts[None]], in_all=in_all)


def _orders(session: Session, tasks: Sequence[Task]) -> Iterator[Callable[[Task], Any]]:
    """Yield ways to sort tasks, smallest first: by the largest share of the cluster, then by each resource."""
    requests: dict[int, IntArray] = {task.template.number: session.nodes.needs(task.template).request for task in tasks}
    if len(requests) <= 1:
        return
    total = [max(amount, 1) for amount in session.total.tolist()]
    shares = {
        number: max(amount / of for amount, of in zip(request.tolist(), total, strict=True))
        for number, request in requests.items()
    }
    yield partial(_looked_up, shares)
    for row in range(len(session.resources)):
        amounts = {number: int(request[row]) for number, request in requests.items()}
        if len(set(amounts.values())) > 1:
            yield partial(_looked_up, amounts)


def _looked_up(by_template: Mapping[int, float], task: Task) -> float:
    return by_template[task.template.number]


def _without_large_parts(session: Session, job: SessionJob, tasks: Sequence[Task]) -> Iterator[Sequence[Task]]:
    """Yield the tasks, then ever fewer: without the largest sub-group, the largest two, and so on."""
    yield tasks
    if not job.has_sub_group_policy or not job.min_sub_jobs:
        return
    sizes = {
        part.id: sum(int(session.nodes.needs(task.template).request[0]) for task in tasks if part.holds(task.id))
        for part in job.sub_jobs.values()
    }
    by_size = sorted(sizes, key=lambda part: (-sizes[part], part))
    for count in range(1, len(by_size)):
        hidden = [job.sub_jobs[part] for part in by_size[:count]]
        yield [task for task in tasks if not any(part.holds(task.id) for part in hidden)]
