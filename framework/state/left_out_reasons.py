"""Left-out reasons: why jobs wait that a cycle did not try, computed again only for jobs of which something changed.

Thousands of jobs of one namespace can wait for their turn. Most of them have the reasons that they had in the last
cycle.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

from pyroclast.framework.state.last_result import LastResult
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.jobs import Job, JobTable
from pyroclast.model.refusals import Refusal

__all__ = ["LeftOutReasons"]

_MOST_REFUSALS: Final = 4096
"""Different reasons, about one for each namespace, above which all are dropped and computed again."""

K = TypeVar("K", JobId, TaskId)
Reasons = tuple[Refusal, ...]


class LeftOutReasons:
    """The reasons of the jobs that the last cycle left out. It is a cache: an empty one gives the same reasons."""

    __slots__ = ("_entries", "_known", "_numbers", "_of_jobs", "_of_tasks", "_revisions")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._known: dict[tuple[str, str, str], int] = {}
        """Numbers of the reasons for which jobs are left out, from 1, by plugin, reason and message."""
        self._numbers: IntArray = np.zeros(0, dtype=np.int64)
        """Number of the reason of each column; 0 for jobs that are not left out."""
        self._revisions: IntArray = np.zeros(0, dtype=np.int64)
        self._entries: dict[int, tuple[JobId, tuple[TaskId, ...]]] = {}
        """Job and tasks with reasons, by column."""
        self._of_jobs: dict[JobId, Reasons] = {}
        self._of_tasks: dict[TaskId, Reasons] = {}

    def update(
        self, table: JobTable, numbers: IntArray, refusals: Sequence[Refusal], results: Mapping[JobId, LastResult]
    ) -> tuple[Mapping[JobId, Reasons], Mapping[TaskId, Reasons]]:
        """Return the reasons of the jobs that a cycle leaves out, and of their tasks, each in the order of ids.

        Args:
            table: The jobs.
            numbers: For each column the number of its refusal, from 1; 0 for jobs that are not left out. Shape (J,), or
                (0,) if no job is left out.
            refusals: Why jobs are not tried, one for each number.
            results: Last results of jobs, which count if the jobs did not change since.
        """
        count = table.revision.size
        if len(self._known) > _MOST_REFUSALS or self._numbers.size > count:
            self._clear()
        self._fit(count)
        current = np.zeros(count, dtype=np.int64)
        if numbers.size:
            current[:] = np.array([0, *map(self._number_of, refusals)], dtype=np.int64)[numbers]
        is_changed = (current != self._numbers) | ((current > 0) & (table.revision != self._revisions))
        changed = np.flatnonzero(is_changed)
        for column in changed.tolist():
            self._drop(column)
        left_out = [column for column in changed.tolist() if current[column]]
        for column in left_out:
            job = table.jobs[column]
            if job is not None:
                self._add(column, job, refusals[int(numbers[column]) - 1], results.get(job.id), table)
        self._numbers, self._revisions = current, table.revision
        if left_out:
            self._of_jobs, self._of_tasks = _in_order(self._of_jobs), _in_order(self._of_tasks)
        return self._of_jobs, self._of_tasks

    def _number_of(self, refusal: Refusal) -> int:
        key = refusal.plugin, refusal.reason, refusal.message
        return self._known.setdefault(key, len(self._known) + 1)

    def _fit(self, columns: int) -> None:
        missing = columns - self._numbers.size
        if missing > 0:
            self._numbers = np.append(self._numbers, np.zeros(missing, dtype=np.int64))
            self._revisions = np.append(self._revisions, np.zeros(missing, dtype=np.int64))

    def _drop(self, column: int) -> None:
        job, tasks = self._entries.pop(column, (None, ()))
        if job is not None:
            del self._of_jobs[job]
        for task in tasks:
            del self._of_tasks[task]

    def _add(self, column: int, job: Job, first: Refusal, last_result: LastResult | None, table: JobTable) -> None:
        if last_result is None or last_result.revision != table.revision[column]:
            self._entries[column] = job.id, ()
            self._of_jobs[job.id] = (first,)
            return
        self._entries[column] = job.id, tuple(last_result.task_refusals)
        self._of_jobs[job.id] = (first, *last_result.all_refusals)
        self._of_tasks.update((task, (refusal,)) for task, refusal in last_result.task_refusals.items())


def _in_order(reasons: dict[K, Reasons]) -> dict[K, Reasons]:
    return {key: reasons[key] for key in sorted(reasons)}
