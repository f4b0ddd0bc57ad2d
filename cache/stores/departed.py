"""Departed members: how many members of each gang have ended, and are there no more.

A cleaner deletes pods that have ended while the rest of their gang still runs. Members that have succeeded are done:
the gang needs as many less. Members that have failed may be made again, so they are needed as before, but while nothing
waits for a place the gang is neither broken nor `Unknown` without them.

The status of the PodGroup counts them still. A process that begins anew reads from it how many there were.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyroclast.cache.stores.job_store import JobEntry
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId
from pyroclast.model.jobs import Departed
from pyroclast.model.tasks import TaskStatus

__all__ = ["DepartedMembers"]

_NOBODY: Final = Departed(0, 0)
_ENDED: Final = (TaskStatus.SUCCEEDED, TaskStatus.FAILED)


class DepartedMembers:
    """Counts by job; a gang that is completed has none."""

    def __init__(self, counts: Mapping[JobId, Departed] = MappingProxyType({})) -> None:
        """Start with some counts."""
        self._counts: dict[JobId, Departed] = dict(counts)

    def note_removal(self, entry: JobEntry, status: TaskStatus) -> None:
        """Note that a task of this status was taken out of a job."""
        if entry.facts is None or _is_over(entry):
            return
        count = self.of(entry.id)
        if status is TaskStatus.SUCCEEDED:
            count = Departed(count.succeeded + 1, count.failed)
        elif status is TaskStatus.FAILED:
            count = Departed(count.succeeded, count.failed + 1)
        self._set(entry, count)

    def note_group(self, entry: JobEntry, *, is_new: bool) -> None:
        """Note what is said of a job by its PodGroup, which may be another than before."""
        if is_new or _is_over(entry):
            self.forget(entry.id)

    def read_status(self, entry: JobEntry) -> bool:
        """Read from a PodGroup's status how many have departed, after a start; tell whether that is news."""
        if entry.facts is None or _is_over(entry):
            return False
        written, known = entry.facts.group.status, self.of(entry.id)
        there = [sum(task.status is status for task in entry.tasks.values()) for status in _ENDED]
        count = Departed(
            max(written.succeeded - there[0], known.succeeded), max(written.failed - there[1], known.failed)
        )
        self._set(entry, count)
        return self.of(entry.id) != known

    def forget(self, job: JobId) -> None:
        """Drop a job whose PodGroup is gone."""
        self._counts.pop(job, None)

    def of(self, job: JobId) -> Departed:
        """Return how many members of a job have departed."""
        return self._counts.get(job, _NOBODY)

    def shown(self) -> Mapping[JobId, Departed]:
        """Return the counts, in the order of ids."""
        return MappingProxyType(dict(sorted(self._counts.items())))

    def _set(self, entry: JobEntry, count: Departed) -> None:
        assert entry.facts is not None
        if not entry.tasks and count.total < entry.facts.min_available:
            # All others went before they were done. They are made again, and with them those that failed.
            count = Departed(count.succeeded, 0)
        if count.total:
            self._counts[entry.id] = count
        else:
            self.forget(entry.id)


def _is_over(entry: JobEntry) -> bool:
    """Return whether a job has completed, or is none of a PodGroup."""
    return entry.facts is None or entry.is_made_up or entry.facts.phase is PodGroupPhase.COMPLETED
