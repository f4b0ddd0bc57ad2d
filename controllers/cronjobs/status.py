"""Status of a CronJob: its running Jobs, the latest scheduled time, and the Jobs of the history.

The facts come from the Jobs as well as from the status. So a Job that was created right before the process was killed
counts too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from pyroclast.kube.api.resources import JOBS
from pyroclast.model.api import names
from pyroclast.model.api.batch import CronJob, CronJobStatus, Job, JobPhase
from pyroclast.model.api.meta import ObjectReference
from pyroclast.model.wire.times import time_text, unix_seconds

__all__ = ["CronJobEvent", "beyond_history", "observed", "reference_to", "served_until", "with_job", "without_jobs"]

_FINISHED: Final = frozenset({JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED})


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJobEvent:
    """An event to record on the CronJob."""

    type: str = "Warning"
    reason: str
    message: str


def observed(cron_job: CronJob, jobs: Sequence[Job], now: float) -> tuple[CronJobStatus, tuple[CronJobEvent, ...]]:
    """Return the status that follows from the Jobs, and events of Jobs that ended."""
    status = cron_job.status
    by_uid = {job.metadata.uid: job for job in jobs}
    active = tuple(each for each in status.active if each.uid in by_uid and not _is_finished(by_uid[each.uid]))
    known = {each.uid for each in active}
    # A Job that is being deleted was replaced or will be gone soon, so it is not added again.
    found = [
        job
        for job in jobs
        if job.metadata.uid not in known and not job.metadata.deletion_timestamp and not _is_finished(job)
    ]
    successes = [_seconds(job.status.state.last_transition_time) for job in jobs if _has_phase(job, JobPhase.COMPLETED)]
    observed_status = msgspec.structs.replace(
        status,
        active=(*active, *map(reference_to, found)),
        last_schedule_time=_later(status.last_schedule_time, [t for t in map(_time_of, jobs) if t <= now]),
        last_successful_time=_later(status.last_successful_time, successes),
    )
    return observed_status, tuple(_events_of_ended(status, by_uid))


def beyond_history(cron_job: CronJob, jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Return the finished Jobs beyond the history limits, the oldest first. Terminated Jobs do not count."""
    return (
        *_oldest(jobs, JobPhase.COMPLETED, cron_job.spec.successful_jobs_history_limit),
        *_oldest(jobs, JobPhase.FAILED, cron_job.spec.failed_jobs_history_limit),
    )


def served_until(cron_job: CronJob, status: CronJobStatus) -> int:
    """Return the latest scheduled time in seconds since 1970. Without one, return the creation time of the CronJob."""
    return int(_seconds(status.last_schedule_time) or _seconds(cron_job.metadata.creation_timestamp))


def reference_to(job: Job) -> ObjectReference:
    """Return a reference to a Job."""
    return ObjectReference(
        api_version=JOBS.api_version,
        kind=JOBS.kind,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
    )


def with_job(status: CronJobStatus, job: Job, due: int) -> CronJobStatus:
    """Return the status with a Job that was created or found for a time."""
    is_new = all(each.uid != job.metadata.uid for each in status.active) and not _is_finished(job)
    return msgspec.structs.replace(
        status,
        active=(*status.active, *([reference_to(job)] if is_new else ())),
        last_schedule_time=_later(status.last_schedule_time, [float(due)]),
    )


def without_jobs(status: CronJobStatus, jobs: Sequence[Job]) -> CronJobStatus:
    """Return the status without some Jobs."""
    uids = {job.metadata.uid for job in jobs}
    return msgspec.structs.replace(status, active=tuple(each for each in status.active if each.uid not in uids))


def _events_of_ended(status: CronJobStatus, by_uid: dict[str, Job]) -> Iterator[CronJobEvent]:
    for each in status.active:
        if each.uid not in by_uid:
            yield CronJobEvent(
                reason="StaleReference", message=f'Active job "{each.name}" no longer exists (UID: {each.uid})'
            )
        elif _is_finished(by_uid[each.uid]):
            yield CronJobEvent(
                type="Normal",
                reason="SawCompletedJob",
                message=f"Saw completed job: {each.name} in active, remove",
            )


def _oldest(jobs: Sequence[Job], phase: JobPhase, limit: int) -> Sequence[Job]:
    """Return the oldest Jobs of a phase beyond a limit."""
    of_phase = [job for job in jobs if _has_phase(job, phase) and not job.metadata.deletion_timestamp]
    of_phase.sort(key=lambda job: (_seconds(job.metadata.creation_timestamp), job.metadata.name))
    return of_phase[: max(0, len(of_phase) - limit)]


def _is_finished(job: Job) -> bool:
    return job.status.state.phase in _FINISHED


def _has_phase(job: Job, phase: JobPhase) -> bool:
    return job.status.state.phase == phase


def _time_of(job: Job) -> float:
    """Return the scheduled time of a Job."""
    return _seconds(job.metadata.annotations.get(names.CRON_JOB_SCHEDULED_TIMESTAMP, ""))


def _later(text: str, times: Sequence[float]) -> str:
    """Return the latest of a time in text form and other times."""
    latest = max(times, default=0.0)
    return time_text(latest) if latest > _seconds(text) else text


def _seconds(text: str) -> float:
    """Parse a time. An invalid time counts as absent, because users can write annotations."""
    try:
        return unix_seconds(text)
    except (ValueError, OverflowError):
        return 0.0
