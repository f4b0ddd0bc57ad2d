"""Bounds: how much room evictions could free on each node at most.

Looked at before any victim is: where even all candidates together would not make room the plugins need not be asked.
Kept true by the session's log of touched columns; R resources, N nodes.
"""

from collections.abc import Callable, Iterable

import numpy as np

from framework.jobs import SessionJob
from framework.session import Session
from model.arrays import IntArray
from model.ids import QueueName
from model.tasks import Task

__all__ = ["EvictableRoom"]

_MOST_QUEUES = 32
"""Queues whose sums are kept; without effect on decisions."""


class EvictableRoom:
    """Requests of tasks that might be evicted, by node, for one rule."""

    __slots__ = ("_by_queue", "_cursor", "_might_go", "_places", "_session", "_total")

    def __init__(self, session: Session, might_go: Callable[[Task, SessionJob], bool]) -> None:
        self._session = session
        self._might_go = might_go
        self._total: IntArray | None = None
        self._by_queue: dict[QueueName, IntArray] = {}
        self._places: dict[QueueName, set[int]] | None = None
        """Columns on which a queue has, or had, tasks of jobs; None before the first question."""
        self._cursor = 0

    def of_queue(self, queue: QueueName) -> IntArray:
        """Return what tasks of one queue hold on each node, shape (R, N); do not write, do not keep."""
        self._refresh()
        known = self._by_queue.get(queue)
        if known is None:
            if len(self._by_queue) >= _MOST_QUEUES:
                self._by_queue.clear()
            known = self._by_queue[queue] = self._nothing()
            for column in self._columns_of(queue):
                self._count(column, known, queue)
        return known

    def of_others(self, queue: QueueName) -> IntArray:
        """Return what tasks of all other queues hold on each node, shape (R, N)."""
        self._refresh()
        if self._total is None:
            self._total = self._nothing()
            for column in range(len(self._session.nodes)):
                self._count(column, self._total, None)
        return self._total - self.of_queue(queue)

    def _columns_of(self, queue: QueueName) -> Iterable[int]:
        if self._places is None:
            self._places = {}
            self._note(range(len(self._session.nodes)), self._places)
        return self._places.get(queue, ())

    def _note(self, columns: Iterable[int], places: dict[QueueName, set[int]]) -> None:
        session = self._session
        for column in columns:
            for task in session.nodes.tasks_on(column).values():
                job = session.job_of(task)
                if job is not None:
                    places.setdefault(job.queue, set()).add(column)

    def _nothing(self) -> IntArray:
        return np.zeros((len(self._session.resources), len(self._session.nodes)), dtype=np.int64)

    def _refresh(self) -> None:
        log = self._session.nodes.log
        if self._cursor == len(log):
            return
        touched = set(log[self._cursor :])
        self._cursor = len(log)
        if self._places is not None:
            self._note(touched, self._places)
        if self._total is not None:
            self._recount(touched, self._total, None)
        for queue, amounts in self._by_queue.items():
            self._recount(touched, amounts, queue)

    def _recount(self, touched: set[int], amounts: IntArray, queue: QueueName | None) -> None:
        for column in touched:
            amounts[:, column] = 0
            self._count(column, amounts, queue)

    def _count(self, column: int, amounts: IntArray, queue: QueueName | None) -> None:
        session = self._session
        for task in session.nodes.tasks_on(column).values():
            job = session.job_of(task)
            if job is not None and (queue is None or job.queue == queue) and self._might_go(task, job):
                amounts[:, column] += session.nodes.needs(task.template).request
