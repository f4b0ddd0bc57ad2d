"""When a Job is to be deleted: a pure function of the Job."""

from typing import Final

from model.api.batch import Job, JobPhase
from model.wire import unix_seconds

__all__ = ["expires_at"]

_FINISHED: Final = frozenset({JobPhase.COMPLETED.value, JobPhase.FAILED.value, JobPhase.TERMINATED.value})
"""An aborted Job may be resumed, so it never expires."""


def expires_at(job: Job) -> float | None:
    """Return the moment, in seconds since 1970, from which a Job may be deleted; None while there is none."""
    ttl, state = job.spec.ttl_seconds_after_finished, job.status.state
    if ttl is None or state.phase not in _FINISHED or job.metadata.deletion_timestamp:
        return None
    try:
        finished_at = unix_seconds(state.last_transition_time)
    except ValueError:
        return None
    return finished_at + ttl if finished_at else None
