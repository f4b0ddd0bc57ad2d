"""Lending: limits of queues beyond their deserved amounts, and the resources that they borrow.

A queue never borrows beyond its limit, nor resources that the guarantees of other queues reserve.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from pyroclast.framework.extension.contract import Change, Verb
from pyroclast.framework.queues.guarantees import kept_guarantees
from pyroclast.framework.session.session import Session
from pyroclast.model.ids import QueueName
from pyroclast.model.jobs import Job
from pyroclast.model.queues import Queue
from pyroclast.model.tasks import Task
from pyroclast.plugins.proportion.queue_usage import QueueUsage

__all__ = ["LentRoom"]


class LentRoom:
    """Resources beyond shares in one session."""

    def __init__(self, session: Session, usage: Mapping[QueueName, QueueUsage], rows: Sequence[int]) -> None:
        self._session = session
        self._usage = usage
        self._rows = rows
        """Rows that limit a request."""
        vectors = {name: kept.tolist() for name, kept in kept_guarantees(session).items()}
        self._guarantees: dict[QueueName, list[int]] = {name: each for name, each in vectors.items() if any(each)}
        self._nothing = [0] * len(session.resources)
        self._lent: dict[QueueName, list[int]] = {}
        """Requests of tasks on borrowed resources, by queue."""
        self._evicted: dict[QueueName, list[int]] = {}
        """Requests of the tasks that this session evicts, by queue."""
        self._exchangeable: dict[QueueName, list[int]] = {}
        """Cache of `exchangeable`."""

    # Lending ----------------------------------------------------------------------------------------------------------

    def may_be_lent(self, queue: Queue, queue_usage: QueueUsage, request: Sequence[int], more: Sequence[int]) -> bool:
        """Return whether `request` fits if shares do not count; `more` is the part of it that is not reserved."""
        spare = self._spare(queue, queue_usage)
        return all(more[row] <= spare[row] for row in self._rows if request[row] > 0)

    def headroom(self, queue: Queue, queue_usage: QueueUsage, request: Sequence[int], most: int) -> int:
        """Return how often `request` fits if shares do not count, at most `most` times."""
        spare = self._spare(queue, queue_usage)
        for row in self._rows:
            if request[row] > 0:
                most = min(most, spare[row] // request[row])
        return max(most, 0)

    def _spare(self, queue: Queue, queue_usage: QueueUsage) -> list[int]:
        """Return the free amounts below the limit and beside the unused guarantees of others, by row."""
        # Lent resources are used at once, and an eviction can be refused: until then the victims use their queue.
        used_or_reserved = queue_usage.with_more(self._evicted.get(queue.name, self._nothing))
        spare = [most - used for most, used in zip(queue_usage.limit, used_or_reserved, strict=True)]
        others = [self._unused(name) for name in self._guarantees if name != queue.name]
        if not others:
            return spare
        # An overfull node does not reduce the free amounts of other nodes.
        free = np.maximum(self._session.nodes.columns().future_idle, 0).sum(axis=1).tolist()
        return [min(own, there - sum(kept)) for own, there, *kept in zip(spare, free, *others, strict=True)]

    def _unused(self, name: QueueName) -> list[int]:
        guarantee, queue_usage = self._guarantees[name], self._usage.get(name)
        used = [0] * len(guarantee) if queue_usage is None else queue_usage.allocated
        return [max(least - have, 0) for least, have in zip(guarantee, used, strict=True)]

    # Borrowed resources -----------------------------------------------------------------------------------------------

    def of(self, name: QueueName) -> list[int]:
        """Return the usage of a queue's tasks that were bound to borrowed resources, base units by row."""
        known = self._lent.get(name)
        if known is None:
            known = self._lent[name] = self._sum(self._lent_tasks(name))
        return known

    def exchangeable(self, queue: Queue, queue_usage: QueueUsage) -> list[int]:
        """Return the queue's limit when one of its jobs preempts another one, base units by row.

        It is the deserved amount, or the usage at the session's start if the queue has borrowed more: a more important
        job may replace one on borrowed resources.
        """
        known = self._exchangeable.get(queue.name)
        if known is None:
            jobs = (job for job in self._jobs_of(queue.name) if job.lent)
            lent = self._sum(task for job in jobs for task in job.tasks.values() if task.has_lent_room)
            known = self._exchangeable[queue.name] = [
                max(share, min(had, share + more))
                for share, had, more in zip(queue_usage.floor, queue_usage.begun, lent, strict=True)
            ]
        return known

    def _sum(self, tasks: Iterable[Task]) -> list[int]:
        amounts = [0] * len(self._session.resources)
        for task in tasks:
            _add(amounts, self._session.nodes.counted_amounts(task), 1)
        return amounts

    def count(self, change: Change, sign: int) -> None:
        """Count an eviction, or its reversal. Resources that this session lends are not evicted in it."""
        if change.verb is not Verb.EVICT:
            return
        evicted = self._evicted.setdefault(change.job.queue, list(self._nothing))
        _add(evicted, change.totals, -sign)
        known = self._lent.get(change.job.queue)
        if known is not None:
            for task in change.tasks:
                if task.is_lent:
                    _add(known, change.each, sign)

    def _lent_tasks(self, name: QueueName) -> Iterator[Task]:
        known = self._session.jobs.known()
        for job in self._jobs_of(name):
            if job.lent:
                tasks = known[job.id].tasks if job.id in known else job.tasks
                yield from (task for task in tasks.values() if task.has_lent_room)

    def _jobs_of(self, name: QueueName) -> Sequence[Job]:
        snapshot = self._session.snapshot
        return snapshot.job_table.select(snapshot.job_table.queue == snapshot.queue_names.index(name))


def _add(amounts: list[int], more: Sequence[int], sign: int) -> None:
    for row, amount in enumerate(more):
        amounts[row] += sign * amount
