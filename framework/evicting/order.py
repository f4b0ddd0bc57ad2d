"""Order of victims: who goes first.

Of one job: reversed task order, so what was placed last goes first. Of one queue: the job that is served last. Of
different queues: as plugins say for the beneficiary's queue, else the queue that is served last.

Of jobs that nobody tells apart, tasks go by turns, in reversed task order again, but for what plugins say of a job's
own tasks: that is kept inside each job and not compared with others.
"""

from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from typing import Any

from framework import points
from framework.jobs import SessionJob
from framework.session import Session
from model.ids import JobId, QueueName, TaskId
from model.queues import Queue
from model.tasks import Task

__all__ = ["in_order"]


def in_order(session: Session, beneficiary: SessionJob, victims: Iterable[Task]) -> list[Task]:
    """Return victims, first to go first."""
    # ties that no rule decides fall to the reversed task order, which knows none
    ranked = sorted(victims, key=session.task_order_key, reverse=True)
    jobs = {job.id: job for task in ranked if (job := session.job_of(task)) is not None}
    if len(jobs) > 1:
        if any(each.within_job for each in session.functions(points.TASK_ORDER)):
            ranked = _by_turns(session, ranked)
        ranks = _Order(session, session.queue(beneficiary.queue), jobs.values()).ranks()
        ranked.sort(key=lambda task: ranks[task.job])
    return ranked


def _by_turns(session: Session, ranked: Sequence[Task]) -> list[Task]:
    """Order tasks of several jobs that are in order inside each job: none goes before one of its job that is first."""
    least: dict[JobId | None, tuple[Any, ...]] = {}
    turns: dict[TaskId, tuple[Any, ...]] = {}
    for task in ranked:
        key = session.task_order_key(task, across_jobs=True)
        turns[task.id] = least[task.job] = min(key, least.get(task.job, key))
    return sorted(ranked, key=lambda task: turns[task.id], reverse=True)


class _Order:
    """Jobs of victims, each with a rank: the lower, the sooner its tasks go; jobs that nobody tells apart share one."""

    def __init__(self, session: Session, queue: Queue, jobs: Iterable[SessionJob]) -> None:
        self._session = session
        self._queue = queue
        self._jobs: dict[QueueName, list[SessionJob]] = {}
        for job in jobs:
            self._jobs.setdefault(job.queue, []).append(job)
        self._queue_keys = {name: session.queue_order_key(session.queue(name)) for name in self._jobs}

    def ranks(self) -> dict[JobId | None, int]:
        """Return the rank of each job."""
        ranks: dict[JobId | None, int] = {}
        rank = 0
        for name in sorted(self._jobs, key=cmp_to_key(self._compare)):
            keys = {job.id: self._session.keys(points.JOB_ORDER, job) for job in self._jobs[name]}
            before = None
            for job in sorted(self._jobs[name], key=lambda each: keys[each.id], reverse=True):
                rank += before is None or keys[job.id] != before
                before = keys[job.id]
                ranks[job.id] = rank
        return ranks

    def _compare(self, left: QueueName, right: QueueName) -> int:
        """Return a negative number where tasks of the left queue go first."""
        session = self._session
        for each in session.functions(points.VICTIM_QUEUE_ORDER):
            answer: int = session.ask_or(each, 0, session.queue(left), session.queue(right), self._queue)
            if answer:
                return answer
        left_key, right_key = self._queue_keys[left], self._queue_keys[right]
        return (left_key < right_key) - (left_key > right_key)
