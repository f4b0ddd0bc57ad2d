"""Order of victims: who goes first.

Of one job: reversed task order, so what was placed last goes first. Of one queue: the job that is served last. Of
different queues: as plugins say for the beneficiary's queue, else the queue that is served last.
"""

from collections.abc import Iterable
from functools import cmp_to_key

from framework import points
from framework.jobs import SessionJob
from framework.session import Session
from model.queues import Queue
from model.tasks import Task

__all__ = ["in_order"]


def in_order(session: Session, beneficiary: SessionJob, victims: Iterable[Task]) -> list[Task]:
    """Return victims, first to go first."""
    order = _Order(session, session.queue(beneficiary.queue))
    # ties that no rule decides fall to the reversed task order, which knows none
    ranked = sorted(victims, key=session.task_order_key, reverse=True)
    return sorted(ranked, key=cmp_to_key(order.compare))


class _Order:
    def __init__(self, session: Session, queue: Queue) -> None:
        self._session = session
        self._queue = queue

    def compare(self, left: Task, right: Task) -> int:
        """Return a negative number where the left one goes first."""
        session = self._session
        if left.job == right.job:
            return 0
        left_job, right_job = session.job_of(left), session.job_of(right)
        assert left_job is not None, "a victim has a job"
        assert right_job is not None, "a victim has a job"
        if left_job.queue == right_job.queue:
            left_key, right_key = session.keys(points.JOB_ORDER, left_job), session.keys(points.JOB_ORDER, right_job)
            return (left_key < right_key) - (left_key > right_key)
        return self._compare_queues(session.queue(left_job.queue), session.queue(right_job.queue))

    def _compare_queues(self, left: Queue, right: Queue) -> int:
        session = self._session
        for each in session.functions(points.VICTIM_QUEUE_ORDER):
            answer: int = session.ask_or(each, 0, left, right, self._queue)
            if answer:
                return answer
        left_key, right_key = session.queue_order_key(left), session.queue_order_key(right)
        return (left_key < right_key) - (left_key > right_key)
