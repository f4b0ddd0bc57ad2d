"""Job facts: numbers about each job that the table of jobs has as arrays, written only when the job changes."""

from bisect import bisect_left
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Final

import numpy as np

from pyroclast.cache.stores.amounts.columns import frozen
from pyroclast.model.ids import JobId
from pyroclast.model.jobs import MANY_TEMPLATES, NO_NAMESPACE, NO_TEMPLATE, Job

__all__ = ["JobFacts", "JobsInOrder"]

_EMPTY: Final = {
    "rank": 0.0,
    "namespace": NO_NAMESPACE,
    "priority": 0,
    "created": 0.0,
    "waiting_template": NO_TEMPLATE,
}
"""Value of each fact in a column without a job."""
_LEAST, _MOST = -(2**62), 2**62
"""Priorities beyond these count as these: no class has them."""

_FEW: Final = 64
"""Jobs that are inserted one by one; more are sorted with the others."""
_GAP: Final = 2.0**20
"""Distance between two ranks after sorting."""


class JobsInOrder(Mapping[JobId, Job]):
    """Jobs by id, iterated in the order of their ids. They are put in order by the first iteration."""

    __slots__ = ("_jobs", "_order")

    def __init__(self, jobs: dict[JobId, Job], order: list[JobId]) -> None:
        """Show jobs; `order` has all their ids, ascending. Both are taken over."""
        self._jobs, self._order = jobs, order

    def __getitem__(self, job: JobId) -> Job:
        """Return a job."""
        return self._jobs[job]

    def __contains__(self, job: object) -> bool:
        """Return whether there is a job."""
        return job in self._jobs

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self._jobs)

    def __iter__(self) -> Iterator[JobId]:
        """Iterate over the ids."""
        return iter(self._ordered())

    def keys(self) -> KeysView[JobId]:
        """Return the ids."""
        return self._ordered().keys()

    def values(self) -> ValuesView[Job]:
        """Return the jobs."""
        return self._ordered().values()

    def items(self) -> ItemsView[JobId, Job]:
        """Return the ids with the jobs."""
        return self._ordered().items()

    def _ordered(self) -> dict[JobId, Job]:
        if self._order:
            # An audit and a cycle may both be here, in two threads: each puts the same jobs in the same order.
            self._jobs, self._order = {job: self._jobs[job] for job in self._order}, []
        return self._jobs


class JobFacts:
    """Facts by column."""

    def __init__(self) -> None:
        """Start without jobs."""
        self._arrays: dict[str, Any] = {name: np.full(0, value) for name, value in _EMPTY.items()}
        self._namespaces: dict[str, int] = {}
        """Numbers of the namespaces that have jobs."""
        self._jobs_of: dict[str, int] = {}
        """Number of jobs by namespace."""
        self._free: list[int] = []
        """Numbers of namespaces that have no jobs any more."""
        self._columns: dict[JobId, int] = {}
        self._order: list[JobId] = []
        """Ids of the jobs, ascending, as of the last call of `order`."""
        self._added: set[JobId] = set()
        self._removed: set[JobId] = set()

    def show(self, column: int, old: Job | None, new: Job | None) -> None:
        """Write the facts of a column, whose job has changed."""
        self._fit(column + 1)
        arrays = self._arrays
        if new is not None:
            arrays["namespace"][column] = self._number(new.namespace)
            arrays["priority"][column] = min(max(new.priority, _LEAST), _MOST)
            arrays["created"][column] = new.created
            arrays["waiting_template"][column] = _waiting_template(new)
        elif old is not None:
            for name, value in _EMPTY.items():
                arrays[name][column] = value
        if old is not None:
            self._release(old.namespace)
        if (old is None or new is None) or old.id != new.id:
            self._move(column, old, new)

    def order(self) -> list[JobId]:
        """Return the ids of the jobs, ascending."""
        if self._added or self._removed:
            if len(self._added) + len(self._removed) > _FEW or not self._insert():
                self._sort()
            self._added.clear()
            self._removed.clear()
        return self._order.copy()

    def copies(self, columns: int) -> dict[str, Any]:
        """Return write-protected copies of the arrays, by name, each of shape (columns,)."""
        self.order()
        self._fit(columns)
        return {name: frozen(array[:columns].copy()) for name, array in self._arrays.items()}

    def _move(self, column: int, old: Job | None, new: Job | None) -> None:
        if old is not None and self._columns.get(old.id) == column:
            del self._columns[old.id]
            if old.id in self._added:
                self._added.discard(old.id)
            else:
                self._removed.add(old.id)
        if new is not None:
            self._columns[new.id] = column
            self._added.add(new.id)

    def _insert(self) -> bool:
        """Remove and insert few jobs. Return whether there are numbers left between the ranks of their neighbors."""
        order, ranks = self._order, self._arrays["rank"]
        for job in self._removed:
            del order[bisect_left(order, job)]
        for job in self._added:
            place = bisect_left(order, job)
            below = ranks[self._columns[order[place - 1]]] if place else 0.0
            above = ranks[self._columns[order[place]]] if place < len(order) else below + 2 * _GAP
            middle = (below + above) / 2
            if not below < middle < above:
                return False
            order.insert(place, job)
            ranks[self._columns[job]] = middle
        return True

    def _sort(self) -> None:
        self._order = sorted(self._columns)
        columns = np.array([self._columns[job] for job in self._order], dtype=np.int64)
        self._arrays["rank"][columns] = np.arange(1, columns.size + 1) * _GAP

    def _fit(self, columns: int) -> None:
        missing = columns - self._arrays["rank"].size
        if missing > 0:
            more = max(missing, self._arrays["rank"].size)
            for name, value in _EMPTY.items():
                self._arrays[name] = np.append(self._arrays[name], np.full(more, value))

    def _number(self, namespace: str) -> int:
        self._jobs_of[namespace] = self._jobs_of.get(namespace, 0) + 1
        number = self._namespaces.get(namespace)
        if number is None:
            number = self._namespaces[namespace] = self._free.pop() if self._free else len(self._namespaces)
        return number

    def _release(self, namespace: str) -> None:
        self._jobs_of[namespace] -= 1
        if not self._jobs_of[namespace]:
            del self._jobs_of[namespace]
            self._free.append(self._namespaces.pop(namespace))


def _waiting_template(job: Job) -> int:
    """Return the number of the only template of a job's pending tasks, if there is one and none has rules on others."""
    if not job.waiting:
        return NO_TEMPLATE
    if len(job.waiting) > 1 or job.refused_by_others:
        return MANY_TEMPLATES
    ((number, _),) = job.waiting
    return number
