"""Memory: what one cycle tells the next, as one serialisable value.

Dropping it changes no decision: it saves work that would come to the same end, and it keeps promises (room held for a
beneficiary) that the cluster shows too, by nominated nodes.
"""

import msgspec

from model.ids import JobId
from model.jobs import Job

__all__ = ["Memory", "Settled"]


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What the next cycle should know."""

    cycle: int = 0
    """Number of the last cycle."""
    quiet_snapshot: int = -1
    """Generation of a snapshot on which a cycle decided nothing and would decide nothing again; -1 for none."""
    quiet_configuration: int = -1
    """Generation of the configuration of that cycle."""


class Settled:
    """Jobs whose status was found to be written as it should be; a cache beside the memory, never serialised.

    A job of a snapshot is replaced by a new object whenever anything of it changes, so a job that is still the same
    object needs no second look unless the session touched it.
    """

    __slots__ = ("_jobs",)

    def __init__(self) -> None:
        self._jobs: dict[JobId, Job] = {}

    def holds(self, job: Job) -> bool:
        """Tell whether this very job was settled."""
        return self._jobs.get(job.id) is job

    def add(self, job: Job) -> None:
        """Note that a job's status is as it should be."""
        self._jobs[job.id] = job

    def discard(self, job_id: JobId) -> None:
        """Forget a job."""
        self._jobs.pop(job_id, None)

    def keep_only(self, jobs: dict[JobId, Job]) -> None:
        """Forget jobs that no longer exist."""
        if len(self._jobs) > len(jobs):
            self._jobs = {job_id: job for job_id, job in self._jobs.items() if job_id in jobs}
