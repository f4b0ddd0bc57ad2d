"""Broken gangs: gangs that run below their minimum, so that their missing members are placed first.

A gang breaks when a bind fails, when a node refuses a pod, or when the scheduler ended between two binds. It is whole
again when enough members run, or when none does.
"""

from collections.abc import Iterable

from pyroclast.cache.stores.gangs.departed import DepartedMembers
from pyroclast.cache.stores.job_store import JobEntry, JobStore
from pyroclast.model.ids import JobId

__all__ = ["BrokenGangs"]


class BrokenGangs:
    """The jobs of broken gangs."""

    def __init__(self, jobs: JobStore) -> None:
        """Start without broken gangs; `jobs` are those of the cluster."""
        self.departed = DepartedMembers()
        """Members that have ended and are deleted; those that succeeded are not needed again."""
        self._jobs = jobs
        self._broken: set[JobId] = set()

    def add(self, job: JobId) -> None:
        """Note that members of a gang have to be placed again."""
        self._broken.add(job)

    def add_if_half_bound(self, entry: JobEntry) -> bool:
        """Note a gang that runs below its minimum, and return whether it does; failed members count as running."""
        failed = entry.failed_count() + self.departed.of(entry.id).failed
        if not self._is_half_bound(entry, failed=failed):
            return False
        self._broken.add(entry.id)
        return True

    def current(self) -> frozenset[JobId]:
        """Forget the gangs that are whole again or run no pod, and return the others."""
        entries = ((job, self._jobs.entry(job)) for job in self._broken)
        self._broken = {job for job, entry in entries if entry is not None and self._is_half_bound(entry)}
        return frozenset(self._broken)

    def noted(self) -> frozenset[JobId]:
        """Return the jobs that were noted, also those that are whole again since."""
        return frozenset(self._broken)

    def resume(self, jobs: Iterable[JobId]) -> None:
        """Take over the jobs that an earlier state noted."""
        self._broken = set(jobs)

    def _is_half_bound(self, entry: JobEntry, *, failed: int = 0) -> bool:
        ready = entry.ready_count()
        if entry.facts is None or not ready:
            return False
        return ready + failed + self.departed.of(entry.id).succeeded < entry.facts.min_available
