"""Bounds: how much capacity evictions could free on each node at most.

Looked at before any victim is: where even all candidates together would not make room the plugins need not be asked.
Kept true by the session's log of touched columns; R resources, N nodes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import JobId, QueueName
from pyroclast.model.tasks import TaskStatus, TaskTemplate

__all__ = ["EvictableRoom"]

_MOST_QUEUES = 32
"""Number of queues whose sums are cached. Decisions do not depend on it."""

_HOLDERS: Final = ScratchKey("what holds room on nodes")
"""Key of the session's scratch: what the first question of all rules found."""

_Holders = dict[tuple[JobId, TaskTemplate, TaskStatus], list[int]]
"""Columns of tasks that may be evicted, one for each task."""
_Stock = dict[tuple[QueueName, TaskTemplate], list[int]]
"""Columns of tasks that might be evicted, one for each task."""


class EvictableRoom:
    """Requests of tasks that might be evicted, by node, for one rule."""

    __slots__ = (
        "_begin",
        "_by_queue",
        "_cursor",
        "_largest",
        "_might_lose",
        "_session",
        "_statuses",
        "_stock",
        "_total",
    )

    def __init__(
        self, session: Session, statuses: frozenset[TaskStatus], might_lose: Callable[[SessionJob], bool]
    ) -> None:
        """Prepare.

        Args:
            session: The session.
            statuses: Statuses of tasks that might be evicted.
            might_lose: Whether a job might lose some; a wrong yes costs time, a wrong no plans.
        """
        self._session = session
        self._statuses = statuses
        self._might_lose = might_lose
        self._stock: _Stock | None = None
        """Result of the first query; None before it."""
        self._total: IntArray | None = None
        self._by_queue: dict[QueueName, IntArray] = {}
        self._largest: IntArray | None = None
        self._begin = self._cursor = 0

    def of_queue(self, queue: QueueName) -> IntArray:
        """Return what tasks of one queue hold on each node, shape (R, N); do not write, do not keep."""
        self._refresh()
        known = self._by_queue.get(queue)
        if known is None:
            if len(self._by_queue) >= _MOST_QUEUES:
                self._by_queue.clear()
            known = self._by_queue[queue] = self._sum(queue)
        return known

    def of_others(self, queue: QueueName) -> IntArray:
        """Return what tasks of all other queues hold on each node, shape (R, N)."""
        self._refresh()
        if self._total is None:
            self._total = self._sum(None)
        return self._total - self.of_queue(queue)

    def largest(self) -> IntArray:
        """Return the most that one task holds that might be evicted, shape (R,); do not write."""
        self._refresh()
        if self._largest is None:
            templates = {template for _, template in self._first_stock()}
            nothing: IntArray = np.zeros(len(self._session.resources), dtype=np.int64)
            requests = [self._session.nodes.needs(template).request for template in templates]
            self._largest = np.max([nothing, *requests], axis=0)
        return self._largest

    def _first_stock(self) -> _Stock:
        if self._stock is None:
            self._begin, holders = _first_holders(self._session)
            self._stock = self._stock_of(holders)
        return self._stock

    def _sum(self, queue: QueueName | None) -> IntArray:
        """Add up over all nodes, of one queue or all."""
        session = self._session
        stock = self._first_stock()
        amounts: IntArray = np.zeros((len(session.nodes), len(session.resources)), dtype=np.int64)
        self._add(stock, amounts, queue)
        by_resource: IntArray = np.ascontiguousarray(amounts.T)
        self._recount(set(session.nodes.log[self._begin :]), [(queue, by_resource)])
        return by_resource

    def _refresh(self) -> None:
        log = self._session.nodes.log
        if self._cursor == len(log):
            return
        touched = set(log[self._cursor :])
        self._cursor = len(log)
        amounts: list[tuple[QueueName | None, IntArray]] = [*self._by_queue.items()]
        if self._total is not None:
            amounts.append((None, self._total))
        self._recount(touched, amounts)

    def _recount(self, touched: set[int], amounts_of: Sequence[tuple[QueueName | None, IntArray]]) -> None:
        """Count again what tasks hold on some nodes, of one queue each or of all."""
        if not (touched and amounts_of):
            return
        columns = sorted(touched)
        stock = self._stock_of(_holders_on(self._session, columns))
        for queue, amounts in amounts_of:
            amounts[:, columns] = 0
            self._add(stock, amounts.T, queue)

    def _stock_of(self, holders: _Holders) -> _Stock:
        """Return which tasks that hold capacity might be evicted."""
        session, statuses = self._session, self._statuses
        verdicts: dict[JobId, QueueName | None] = {}
        stock: _Stock = {}
        for (job_id, template, status), columns in holders.items():
            if status not in statuses:
                continue
            if job_id not in verdicts:
                job = session.jobs.get(job_id)
                verdicts[job_id] = job.queue if job is not None and self._might_lose(job) else None
            queue = verdicts[job_id]
            if queue is not None:
                stock.setdefault((queue, template), []).extend(columns)
        return stock

    def _add(self, stock: _Stock, amounts: IntArray, queue: QueueName | None) -> None:
        """Add requests, of one queue or all, to amounts of shape (N, R)."""
        chosen = [(template, columns) for (name, template), columns in stock.items() if queue is None or name == queue]
        if chosen:
            requests = np.array([self._session.nodes.needs(template).request for template, _ in chosen])
            times = [len(columns) for _, columns in chosen]
            np.add.at(amounts, [column for _, columns in chosen for column in columns], np.repeat(requests, times, 0))


def _first_holders(session: Session) -> tuple[int, _Holders]:
    """Return what holds capacity on all nodes, and the length of the log at that moment; once in a session."""
    known: tuple[int, _Holders] | None = session.scratch.get(_HOLDERS)
    if known is None:
        known = len(session.nodes.log), _holders_on(session, range(len(session.nodes)))
        session.scratch[_HOLDERS] = known
    return known


def _holders_on(session: Session, columns: Iterable[int]) -> _Holders:
    holders: _Holders = {}
    for column in columns:
        for task in session.nodes.tasks_on(column).values():
            if task.preemptable and task.job is not None:
                holders.setdefault((task.job, task.template, task.status), []).append(column)
    return holders
