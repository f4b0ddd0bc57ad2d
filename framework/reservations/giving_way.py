"""Giving way: pending jobs of higher priority that fit nowhere else get the places that waiting gangs keep.

No pod is evicted for it, because kept places are idle. Only the number that such a job lacks elsewhere is given, and
only if its minimum fits then.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import IntArray
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Claimant", "claimants", "columns_to_give"]

MOST_CLAIMANTS: Final = 64
"""Waiting jobs that are asked about in one cycle, in job order."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """A job that waits for capacity."""

    job: SessionJob
    tasks: tuple[Task, ...]
    """Its pending tasks."""


def claimants(session: Session, *, above: int) -> list[Claimant]:
    """Return the jobs that wait for capacity, in job order, up to a bound, of priorities above one."""
    table, has_gate = session.snapshot.job_table, "enqueue" in session.extensions.profile.actions
    mask = (table.counts[TaskStatus.PENDING] > 0) & (table.priority > above)
    if has_gate:
        mask &= ~table.phase_pending
    if np.count_nonzero(mask) > MOST_CLAIMANTS:
        mask &= table.priority >= np.partition(table.priority[mask], -MOST_CLAIMANTS)[-MOST_CLAIMANTS]
    waiting = [session.jobs.get(job.id) for job in table.select(mask)]
    known = [job for job in waiting if job is not None and not (has_gate and job.is_pending)]
    found = []
    for job in sorted(known, key=lambda job: (-job.priority, session.jobs.order_key(job)))[:MOST_CLAIMANTS]:
        tasks = tuple(task for task in session.jobs.pending_tasks(job) if not (task.gated or task.template.best_effort))
        if tasks:
            found.append(Claimant(job, tasks))
    return found


def columns_to_give(
    session: Session, job: SessionJob, kept: Collection[int], waiting: list[Claimant]
) -> dict[int, str]:
    """Return the held nodes that jobs of higher priority get: the job by column.

    Args:
        session: The session; the places are not held yet.
        job: Owner of the places.
        kept: Columns of the nodes.
        waiting: The jobs that wait for capacity.
    """
    given: dict[int, str] = {}
    for claimant in waiting:
        if claimant.job.priority <= job.priority or claimant.job.id == job.id:
            continue
        given.update((column, claimant.job.id) for column in _lacking(session, claimant, kept, given))
    return given


def _lacking(session: Session, claimant: Claimant, kept: Collection[int], given: Collection[int]) -> Iterator[int]:
    """Yield the kept columns that a job needs beyond those that are free for it."""
    job = claimant.job
    counts = Counter(task.template.number for task in claimant.tasks)
    first = {task.template.number: task for task in reversed(claimant.tasks)}
    places = {number: _places(session, job, task) for number, task in first.items()}
    needed = max(job.min_available - job.ready_count - job.pending_best_effort, 1)
    if sum(min(counts[number], int(each.sum())) for number, each in places.items()) < needed:
        return
    own = sorted(set(kept) - set(given))
    chosen: set[int] = set()
    for number, each in places.items():
        short = counts[number] - (int(each.sum()) - int(each[own].sum()))
        for column in own:
            if short <= 0:
                break
            if each[column] and column not in chosen:
                chosen.add(column)
                short -= int(each[column])
    yield from sorted(chosen)


def _places(session: Session, job: SessionJob, task: Task) -> IntArray:
    """Count the equal tasks that each node can hold now or after its terminating pods are gone, shape (N,)."""
    count = len(session.nodes)
    if (
        session.queues.allocatable(session.queues.by_name[job.queue], task)
        or session.candidates.pre_predicate(task)
        or not session.candidates.has_room(task)
    ):
        return np.zeros(count, dtype=np.int64)
    request = session.nodes.needs(task.template).request
    asked = np.flatnonzero(request > 0)
    room = np.maximum(session.nodes.columns().future_idle[asked], 0) // request[asked, None]
    places: IntArray = np.where(session.candidates.of(task).nodes_for(task), room.min(axis=0), 0)
    return places
