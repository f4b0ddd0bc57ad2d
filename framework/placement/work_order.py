"""Orders of work: queues by need, jobs of a queue by rank.

A job's key is taken when it is pushed; queues are compared with the keys they have after each turn, so a queue that was
just served falls behind as its share grows. An action that evicts has all queues ranked again.
"""

import heapq
from collections.abc import Iterable
from typing import Any

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import Queue

__all__ = ["WorkOrder"]


class WorkOrder:
    """Jobs that wait for a turn, by queue."""

    __slots__ = ("_jobs", "_keys", "_session")

    def __init__(self, session: Session, jobs: Iterable[SessionJob]) -> None:
        self._session = session
        self._jobs: dict[QueueName, list[tuple[tuple[Any, ...], SessionJob]]] = {}
        self._keys: dict[QueueName, tuple[Any, ...]] = {}
        for job in jobs:
            self._jobs.setdefault(job.queue, []).append((session.jobs.order_key(job), job))
        for name, heap in self._jobs.items():
            heapq.heapify(heap)
            self._keys[name] = session.queues.order_key(session.queues.by_name[name])

    def next_queue(self) -> Queue | None:
        """Remove and return the next queue; None if no queue is left. Give it back with `return_queue`."""
        if not self._keys:
            return None
        name = min(self._keys, key=self._keys.__getitem__)
        del self._keys[name]
        return self._session.queues.by_name[name]

    def next_job(self, queue: Queue) -> SessionJob | None:
        """Take the first job of a queue; None when it has none left."""
        heap = self._jobs[queue.name]
        return heapq.heappop(heap)[1] if heap else None

    def return_job(self, job: SessionJob) -> None:
        """Return a job that has work left, ranked again."""
        heapq.heappush(self._jobs[job.queue], (self._session.jobs.order_key(job), job))

    def return_queue(self, queue: Queue) -> None:
        """Return a queue, ranked again."""
        self._keys[queue.name] = self._session.queues.order_key(queue)

    def rank_anew(self) -> None:
        """Rank all waiting queues again, because an eviction also changes queues other than the served one."""
        for name in self._keys:
            self._keys[name] = self._session.queues.order_key(self._session.queues.by_name[name])

    def rest_of(self, queue: Queue) -> list[SessionJob]:
        """Return the jobs that a queue still holds, in no order; for saying why they wait."""
        return [job for _, job in self._jobs[queue.name]]
