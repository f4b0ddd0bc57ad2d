"""Statuses: counts of a Job, and its phase with times, conditions and reasons."""

from typing import Final

import msgspec

from pyroclast.controllers.jobs.decision.counts import Counts
from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import Observed
from pyroclast.controllers.jobs.decision.states import RESTS
from pyroclast.controllers.jobs.durations import duration_text
from pyroclast.model.api.batch import Job, JobCondition, JobPhase, JobState, JobStatus
from pyroclast.model.wire.times import time_text, unix_seconds

__all__ = ["PLUGIN_RECORD", "changed", "entered", "remembering_plugins", "with_counts"]

PLUGIN_RECORD: Final = "plugin-"
"""Prefix of the entries of `status.controlledResources` that name plugins."""


def with_counts(seen: Observed, counts: Counts) -> JobStatus:
    """Return the status with the current counts of pods."""
    return msgspec.structs.replace(
        seen.job.status,
        min_available=seen.job.spec.min_available,
        task_status_count=counts.by_task,
        pending=counts.pending,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        terminating=counts.terminating,
        unknown=counts.unknown,
    )


def entered(
    seen: Observed,
    status: JobStatus,
    phase: JobPhase,
    memory: JobMemory,
    *,
    reason: str | None = None,
    message: str | None = None,
    version: int | None = None,
    retry_count: int | None = None,
) -> JobStatus:
    """Return the status in a phase. A new phase sets the transition time, and moves its condition to the end.

    Args:
        seen: The Job.
        status: Status with the current counts.
        phase: The phase, which may be the current one.
        memory: History to write.
        reason: Cause in one word. None: unchanged.
        message: Message for users. None: unchanged.
        version: New version of the pods, for actions, which always enter a new phase. None: unchanged.
        retry_count: Number of retries. None: unchanged.
    """
    old = status.state
    is_entered = old.phase != phase or version is not None
    now = time_text(seen.now)
    state = JobState(
        phase=phase.value,
        reason=old.reason if reason is None else reason,
        message=old.message if message is None else message,
        last_transition_time=now if is_entered else old.last_transition_time,
    )
    condition = JobCondition(status=phase.value, last_transition_time=now)
    others = tuple(one for one in status.conditions if one.status != phase)
    return msgspec.structs.replace(
        status,
        state=state,
        conditions=(*others, condition) if is_entered else status.conditions,
        controlled_resources=memory.write(),
        version=status.version if version is None else version,
        retry_count=status.retry_count if retry_count is None else retry_count,
        running_duration=_running_duration(seen, state) if is_entered else status.running_duration,
    )


def changed(seen: Observed, status: JobStatus) -> JobStatus | None:
    """Return the status if it differs, otherwise None."""
    return None if status == seen.job.status else status


def remembering_plugins(job: Job, status: JobStatus | None) -> JobStatus | None:
    """Return the status with the plugins whose objects still exist, None if nothing changes."""
    if status is None:
        return None
    named = {key: name for key, name in job.status.controlled_resources.items() if key.startswith(PLUGIN_RECORD)}
    resources = dict(sorted({**status.controlled_resources, **named}.items()))
    kept = msgspec.structs.replace(status, controlled_resources=resources)
    return None if kept == job.status else kept


def _running_duration(seen: Observed, state: JobState) -> str:
    """Return the duration of a Job that is stopped or restarted. A Job that continues has no duration yet."""
    if state.phase not in RESTS | {JobPhase.RESTARTING}:
        return ""
    try:
        return duration_text(max(0.0, seen.now - unix_seconds(seen.job.metadata.creation_timestamp)))
    except ValueError:
        return ""
