"""Victim order: which pod is evicted first.

In one job: reversed task order, so the task that was placed last is evicted first. In one queue: the job that is served
last. Between queues: the order of plugins for the beneficiary's queue, else the queue that is served last.

Tasks of jobs that no plugin distinguishes are evicted in turns, again in reversed task order. The order of plugins for
a job's own tasks holds inside each job and is not compared between jobs.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key, partial
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

from pyroclast.framework.extension import contract
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.queues import Queue
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["LongOrder", "in_order"]


def in_order(session: Session, beneficiary: SessionJob, victims: Iterable[Task]) -> list[Task]:
    """Return victims in the order of evictions."""
    # ties that no rule decides fall to the reversed task order, which knows none
    ranked = sorted(victims, key=session.jobs.task_order_key, reverse=True)
    jobs = {job.id: job for task in ranked if (job := session.jobs.of(task)) is not None}
    if len(jobs) > 1:
        if any(each.within_job for each in session.extensions.functions(contract.TASK_ORDER)):
            ranked = _by_turns(session, ranked)
        groups = _Order(session, session.queues.by_name[beneficiary.queue], jobs.values()).groups(
            partial(_job_keys, session)
        )
        ranks: dict[JobId | None, int] = {job.id: rank for rank, group in enumerate(groups) for job in group}
        ranked.sort(key=lambda task: ranks[task.job])
    return ranked


def _by_turns(session: Session, ranked: Sequence[Task]) -> list[Task]:
    """Order tasks of several jobs in order inside each job: none is evicted before an earlier one of its job."""
    least: dict[JobId | None, tuple[Any, ...]] = {}
    turns: dict[TaskId, tuple[Any, ...]] = {}
    for task in ranked:
        key = session.jobs.task_order_key(task, across_jobs=True)
        turns[task.id] = least[task.job] = min(key, least.get(task.job, key))
    return sorted(ranked, key=lambda task: turns[task.id], reverse=True)


def _job_keys(session: Session, job: SessionJob) -> list[Any]:
    return session.extensions.keys(contract.JOB_ORDER, job)


class LongOrder:
    """The same order over many jobs, for one session. It is sorted only as far as it is read.

    Values of a job and its tasks are cached while the job does not change.
    """

    def __init__(self, session: Session, statuses: frozenset[TaskStatus]) -> None:
        """Prepare.

        Args:
            session: The session.
            statuses: Where in their lives victims may be.
        """
        self._session = session
        self._statuses = statuses
        self._within_job = any(each.within_job for each in session.extensions.functions(contract.TASK_ORDER))
        self._jobs: list[SessionJob] | None = None
        self._keys: dict[JobId, tuple[int, list[Any]]] = {}
        self._tasks: dict[JobId, tuple[int, list[_Keyed]]] = {}

    def jobs(self) -> list[SessionJob]:
        """Return the jobs that had tasks in the statuses when the session began, in the order of their ids."""
        if self._jobs is None:
            session, table = self._session, self._session.snapshot.job_table
            counts: IntArray = table.counts[list(self._statuses)].sum(axis=0)
            self._jobs = [job for each in table.select(counts > 0) if (job := session.jobs.get(each.id)) is not None]
        return self._jobs

    def iterate(self, beneficiary: SessionJob, jobs: Iterable[SessionJob], domain: BoolArray | None) -> Iterator[Task]:
        """Yield the preemptable tasks of jobs in the statuses, on nodes of a domain, in the order of evictions.

        Nothing may have changed between two steps, but for what has been undone.
        """
        order = _Order(self._session, self._session.queues.by_name[beneficiary.queue], jobs)
        for group in order.groups(self._keys_of):
            lists = [self._in_turn(job) for job in group]
            column = self._session.nodes.table.column
            for _, task in heapq.merge(*lists, key=itemgetter(0), reverse=True) if len(lists) > 1 else lists[0]:
                if domain is None or domain[column[task.node]]:  # type: ignore[index]  # those listed have a node
                    yield task

    def _keys_of(self, job: SessionJob) -> list[Any]:
        known = self._keys.get(job.id)
        if known is None or known[0] != job.changes:
            known = self._keys[job.id] = (job.changes, _job_keys(self._session, job))
        return known[1]

    def _in_turn(self, job: SessionJob) -> list["_Keyed"]:
        """Return a job's tasks in the order of evictions, each with the key by which jobs take turns."""
        known = self._tasks.get(job.id)
        if known is None or known[0] != job.changes:
            known = self._tasks[job.id] = (job.changes, self._sorted(job))
        return known[1]

    def _sorted(self, job: SessionJob) -> list["_Keyed"]:
        session, column = self._session, self._session.nodes.table.column
        keyed = [
            (session.jobs.task_order_key(task), task)
            for task in job.tasks.values()
            if task.status in self._statuses and task.preemptable and task.node in column
        ]
        keyed.sort(key=itemgetter(0), reverse=True)
        if not self._within_job:
            return keyed
        turns = accumulate((session.jobs.task_order_key(task, across_jobs=True) for _, task in keyed), min)
        return [(turn, task) for turn, (_, task) in zip(turns, keyed, strict=True)]


_Keyed = tuple[tuple[Any, ...], Task]


class _Order:
    """Jobs of victims, in groups that no plugin distinguishes."""

    def __init__(self, session: Session, queue: Queue, jobs: Iterable[SessionJob]) -> None:
        self._session = session
        self._queue = queue
        self._jobs: dict[QueueName, list[SessionJob]] = {}
        for job in jobs:
            self._jobs.setdefault(job.queue, []).append(job)
        self._queue_keys = {name: session.queues.order_key(session.queues.by_name[name]) for name in self._jobs}

    def groups(self, keys_of: Callable[[SessionJob], list[Any]]) -> Iterator[list[SessionJob]]:
        """Yield groups of jobs that no plugin distinguishes, first victims first."""
        for name in sorted(self._jobs, key=cmp_to_key(self._compare)):
            keyed = [(keys_of(job), job) for job in self._jobs[name]]
            keyed.sort(key=itemgetter(0), reverse=True)
            for _, equals in groupby(keyed, key=itemgetter(0)):
                yield [job for _, job in equals]

    def _compare(self, left: QueueName, right: QueueName) -> int:
        """Return a negative number if tasks of the left queue are evicted first."""
        session = self._session
        for each in session.extensions.functions(contract.VICTIM_QUEUE_ORDER):
            answer: int = session.extensions.ask_or(
                each, 0, session.queues.by_name[left], session.queues.by_name[right], self._queue
            )
            if answer:
                return answer
        left_key, right_key = self._queue_keys[left], self._queue_keys[right]
        return (left_key < right_key) - (left_key > right_key)
