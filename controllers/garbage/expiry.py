"""When a Job is to be deleted: pure functions of the Job."""

from typing import Final

from pyroclast.model.api.batch import Job, JobPhase
from pyroclast.model.wire import unix_seconds

__all__ = ["finished_at"]

_FINISHED: Final = frozenset({JobPhase.COMPLETED.value, JobPhase.FAILED.value, JobPhase.TERMINATED.value})
"""An aborted Job may be resumed, so it never expires."""


def finished_at(job: Job) -> float | None:
    """Return when a Job that has a time to live ended, in seconds since 1970; None for one that is to stay."""
    state = job.status.state
    is_finished = state.phase in _FINISHED and not job.metadata.deletion_timestamp
    if job.spec.ttl_seconds_after_finished is None or not is_finished:
        return None
    try:
        return unix_seconds(state.last_transition_time) or None
    except ValueError:
        return None
