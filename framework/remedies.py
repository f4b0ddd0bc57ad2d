"""Remedies: whose end would let a job run that waits for room.

Told at the end of a cycle, of jobs that were refused for want of room on nodes or in their queue: the jobs, as few as
can be told cheaply, without which the whole minimum would have places, all rules checked. A bound over all jobs on
nodes at once says whom to try; the trial evicts and places for real in the session and is undone, so nothing is decided
by it. Where no trial succeeds, or there would be too many of them, nothing is said.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from framework.evicting.gangs import ACTIVE_STATUSES
from framework.jobs import SessionJob
from framework.memory import Remedy
from framework.placing import Worksheet, place_tasks
from framework.session import Session
from model.arrays import IntArray
from model.ids import NodeName
from model.tasks import Task, TaskStatus

__all__ = ["find_remedies"]

_MOST_ENDED: Final = 1000
"""Jobs on nodes that are looked at, in the order of their ids."""
_MOST_WAITING: Final = 10_000
"""Pending tasks of the jobs that are told, in the order of the jobs' ids."""
_MOST_SEARCHES: Final = 8
"""Jobs, each with all that are like it, that are searched for in one cycle."""
_MOST_TRIALS: Final = 16
"""Trials in one cycle."""
_TRIALS_EACH: Final = 3
"""Trials for one job."""
_MOST_NODES: Final = 16
"""Nodes that are thought of as emptied."""
_MOST_NAMED: Final = 3
"""Jobs that must end together, at most."""


def find_remedies(session: Session) -> None:
    """Tell jobs that lack room whose end would give it to them."""
    waiting = [job for job in session.known_jobs().values() if _lacks_room(session, job)]
    if waiting:
        _Search(session).serve(sorted(waiting, key=lambda job: job.id))


def _lacks_room(session: Session, job: SessionJob) -> bool:
    """Tell whether a job waits for room that some node could have; of those whose places are nodes alone."""
    if job.is_pending or job.is_pipelined or not job.task_refusals or job.has_topology or job.has_sub_group_policy:
        return False
    return next(iter(job.task_refusals.values())).resolvable and not session.is_passed_over(job)


class _Search:
    """What is known of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._searches = _MOST_SEARCHES
        self._trials = _MOST_TRIALS
        self._found: dict[tuple[Any, ...], Remedy | None] = {}
        """Answers for jobs that are alike."""

    def serve(self, jobs: Sequence[SessionJob]) -> None:
        """Find an answer for each job, as long as trials are left."""
        looks = 0
        for job in jobs:
            looks += job.counts[TaskStatus.PENDING]
            if looks > _MOST_WAITING:
                return
            pending = self._session.pending_tasks(job)
            tasks = [task for task in pending if not (task.gated or task.template.best_effort)]
            if not tasks or self._session.job_valid(job) is not None:
                continue
            like = tuple((task.template.number, task.priority, task.role) for task in tasks)
            key = job.queue, job.priority, job.min_available - job.ready_count, like
            # labels count for rules beyond nodes, and whose own members run may be told of others alone
            is_alone = bool(job.allocated.any()) or any(self._session.beyond(task) is not None for task in tasks)
            if is_alone or key not in self._found:
                self._found[key] = self._answer(job, tasks)
            job.remedy = self._found[key]
            known = None if job.standing is None else job.standing.remedy
            job.touched = job.touched or known != job.remedy

    def _answer(self, job: SessionJob, tasks: Sequence[Task]) -> Remedy | None:
        if self._searches <= 0 or not all(map(self._session.fits_empty_nodes, tasks)):
            return None
        self._searches -= 1
        for choice in self._choices(job, tasks):
            if self._fits_without(choice, job, tasks):
                ended = self._thinned(choice, job, tasks)
                nodes = tuple(sorted({node for each in ended for _task, node in _on_nodes_here(self._session, each)}))
                return Remedy(tuple(each.id for each in ended), nodes, self._session.nodes.room_on(nodes))
        return None

    # Whom to try ------------------------------------------------------------------------------------------------------

    @cached_property
    def _held(self) -> "_Held":
        return _Held.of(self._session)

    def _choices(self, job: SessionJob, tasks: Sequence[Task]) -> Iterator[list[SessionJob]]:
        """Yield jobs that might be enough: single ones, oldest first, then ever more of those that share few nodes."""
        session = self._session
        needed = max(job.min_available - job.ready_count - job.pending_best_effort, 1)
        smallest = min(tasks, key=lambda task: tuple(session.nodes.needs(task.template).request.tolist()))
        places = _Places(session, self._held, smallest)
        gains = places.gains().tolist()
        there = places.total()
        alone = [
            each
            for each, gain in zip(self._held.jobs, gains, strict=True)
            if gain > 0 and there + gain >= needed and each is not job
        ]
        alone.sort(key=lambda each: (each.created, each.id))
        yield from ([each] for each in alone[:_TRIALS_EACH])
        chosen: set[int] = set()
        for more in places.emptying():
            if len(chosen | more) > _MOST_NAMED or job in (self._held.jobs[number] for number in more):
                continue
            chosen |= more
            if len(chosen) > 1 and places.total(chosen) >= needed:
                together = [self._held.jobs[number] for number in chosen]
                yield sorted(together, key=lambda each: (each.created, each.id))

    # Trial ------------------------------------------------------------------------------------------------------------

    def _fits_without(self, ended: Sequence[SessionJob], job: SessionJob, tasks: Sequence[Task]) -> bool:
        """Tell whether a job would have its places if others had ended; leaves everything as it was."""
        if self._trials <= 0:
            return False
        self._trials -= 1
        session = self._session
        touched = [(each, each.touched) for each in (*ended, job)]
        told = job.task_refusals, job.last_places, job.misfit, job.misfits_queue, list(job.refusals)
        job.task_refusals, job.last_places = {}, {}
        try:
            with session.statement() as trial:
                for each in ended:
                    for task, _node in _on_nodes_here(session, each):
                        if trial.evict(each, task, "") is not None:
                            return False
                part = next(iter(job.sub_jobs.values()))
                place_tasks(session, trial, job, Worksheet(part, tasks))
                return session.job_pipelined(job)
        finally:
            job.task_refusals, job.last_places, job.misfit, job.misfits_queue, job.refusals = told
            for each, was_touched in touched:
                each.touched = was_touched

    def _thinned(self, ended: list[SessionJob], job: SessionJob, tasks: Sequence[Task]) -> list[SessionJob]:
        """Leave out of jobs that are enough together those whose end is not needed."""
        for each in ended if len(ended) > 1 else ():
            others = [other for other in ended if other is not each]
            if others and self._fits_without(others, job, tasks):
                ended = others
        return ended


@dataclass(frozen=True, slots=True)
class _Held:
    """What jobs hold on nodes; K pairs of a job and a node."""

    jobs: list[SessionJob]
    number: IntArray
    """Position in `jobs`, shape (K,)."""
    column: IntArray
    """Shape (K,)."""
    amounts: IntArray
    """Base units, shape (R, K)."""

    @classmethod
    def of(cls, session: Session) -> "_Held":
        """Add up what jobs hold that have tasks on nodes at this moment."""
        jobs = list(_on_nodes(session))
        pairs: list[int] = []
        requests: list[IntArray] = []
        for number, job in enumerate(jobs):
            for task, node in _on_nodes_here(session, job):
                pairs.append(number * len(session.nodes) + session.nodes.table.column[node])
                requests.append(session.nodes.needs(task.template).request)
        distinct, position = np.unique(np.array(pairs, dtype=np.int64), return_inverse=True)
        amounts = np.zeros((distinct.size, len(session.resources)), dtype=np.int64)
        if requests:
            np.add.at(amounts, position, np.array(requests))
        numbers, columns = np.divmod(distinct, len(session.nodes))
        return cls(jobs, numbers, columns, np.ascontiguousarray(amounts.T))


class _Places:
    """How many tasks like one nodes could take if jobs had ended.

    Never too few: rules that depend on what else is on nodes are not asked.
    """

    def __init__(self, session: Session, held: _Held, task: Task) -> None:
        request = session.nodes.needs(task.template).request
        self._asked = np.flatnonzero(request > 0)
        self._request = request[self._asked]
        self._helped = session.candidates(task).permitted_by_facts
        self._held = held
        self._room = session.nodes.columns().future_idle[self._asked]
        self._now = self._on(self._room)

    def _on(self, room: IntArray) -> IntArray:
        return np.where(self._helped, (np.maximum(room, 0) // self._request[:, None]).min(axis=0), 0)

    def total(self, ended: Collection[int] = ()) -> int:
        """Count places without some jobs, by their positions."""
        return int(self._now.sum() if not ended else self._on(self._without(list(ended))).sum())

    def gains(self) -> IntArray:
        """Count by job how many more places there were without it alone."""
        held = self._held
        after = self._room[:, held.column] + held.amounts[self._asked]
        places = (np.maximum(after, 0) // self._request[:, None]).min(axis=0)
        more = np.where(self._helped[held.column], places - self._now[held.column], 0)
        gains = np.zeros(len(held.jobs), dtype=np.int64)
        np.add.at(gains, held.number, more)
        return gains

    def emptying(self) -> Iterator[set[int]]:
        """Yield the jobs on nodes that had more places without them: first those of nodes with few jobs."""
        held = self._held
        on_node = np.bincount(held.column, minlength=self._now.size)
        more = self._on(self._without(range(len(held.jobs)))) - self._now
        able = np.flatnonzero((more > 0) & (on_node <= _MOST_NAMED))
        for column in able[np.lexsort((able, -more[able], on_node[able]))][:_MOST_NODES].tolist():
            yield set(held.number[held.column == column].tolist())

    def _without(self, ended: Sequence[int]) -> IntArray:
        held = self._held
        gone = np.isin(held.number, ended)
        freed = np.zeros(self._room.shape[::-1], dtype=np.int64)
        np.add.at(freed, held.column[gone], held.amounts[self._asked][:, gone].T)
        return self._room + freed.T


def _on_nodes_here(session: Session, job: SessionJob) -> list[tuple[Task, NodeName]]:
    """Return a job's tasks on nodes of this session, with them: a node may have gone, or be another scheduler's now."""
    column = session.nodes.table.column
    return [
        (task, task.node) for task in job.in_status(*ACTIVE_STATUSES) if task.node is not None and task.node in column
    ]


def _on_nodes(session: Session) -> Iterator[SessionJob]:
    """Yield the first jobs, in the order of their ids, that hold room in the snapshot or were placed since."""
    table = session.snapshot.job_table
    mask = table.counts[list(ACTIVE_STATUSES)].sum(axis=0) > 0
    mask[[job.job.column for job in session.known_jobs().values() if job.allocated_count]] = True
    for job in table.select(mask)[:_MOST_ENDED]:
        found = session.job(job.id)
        if found is not None:
            yield found
