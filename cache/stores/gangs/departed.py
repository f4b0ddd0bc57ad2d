"""Departed members: how many members of each gang have ended and are deleted.

A cleanup may delete finished pods while the rest of their gang runs. The gang no longer needs the members that have
succeeded. It still needs the members that have failed, because their controller may create them again. While no member
waits to be placed, the gang without its failed members is neither broken nor `Unknown`.

The status of the PodGroup still counts departed members. A new process reads their numbers from it.
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

_NO_MEMBERS: Final = Departed(0, 0)
_ENDED: Final = (TaskStatus.SUCCEEDED, TaskStatus.FAILED)


class DepartedMembers:
    """Counts by job. A completed gang has no count."""

    def __init__(self, counts: Mapping[JobId, Departed] = MappingProxyType({})) -> None:
        """Start with these counts."""
        self._counts: dict[JobId, Departed] = dict(counts)

    def note_removal(self, entry: JobEntry, status: TaskStatus) -> None:
        """Count a task with this status that was removed from a job."""
        if entry.facts is None or _is_over(entry):
            return
        count = self.of(entry.id)
        if status is TaskStatus.SUCCEEDED:
            count = Departed(count.succeeded + 1, count.failed)
        elif status is TaskStatus.FAILED:
            count = Departed(count.succeeded, count.failed + 1)
        self._set(entry, count)

    def note_group(self, entry: JobEntry, *, is_new: bool) -> None:
        """Forget the counts of a job whose PodGroup is new or completed."""
        if is_new or _is_over(entry):
            self.forget(entry.id)

    def read_status(self, entry: JobEntry) -> bool:
        """Read the counts of a job from the status of its PodGroup after a start, and return whether they changed."""
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
        """Forget the counts of a job."""
        self._counts.pop(job, None)

    def of(self, job: JobId) -> Departed:
        """Return the counts of a job."""
        return self._counts.get(job, _NO_MEMBERS)

    def shown(self) -> Mapping[JobId, Departed]:
        """Return all counts, in the order of job ids."""
        return MappingProxyType(dict(sorted(self._counts.items())))

    def _set(self, entry: JobEntry, count: Departed) -> None:
        assert entry.facts is not None
        if not entry.tasks and count.total < entry.facts.min_available:
            # The others were deleted before they finished. The controller creates them and the failed members again.
            count = Departed(count.succeeded, 0)
        if count.total:
            self._counts[entry.id] = count
        else:
            self.forget(entry.id)


def _is_over(entry: JobEntry) -> bool:
    """Return whether a job has completed, or has no PodGroup in the cluster."""
    return entry.facts is None or entry.is_made_up or entry.facts.phase is PodGroupPhase.COMPLETED
