"""Deciding: the next step of a CronJob, as a function of the CronJob, its Jobs and the time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

import msgspec

from pyroclast.controllers.admission.faults import faults_message
from pyroclast.controllers.admission.rules.cronjobs import faults_of
from pyroclast.controllers.cronjobs.schedule import Schedule, ScheduleError, parse, zone_named
from pyroclast.controllers.cronjobs.status import CronJobEvent, beyond_history, observed, served_until, without_jobs
from pyroclast.controllers.runtime.invalid_condition import INVALID
from pyroclast.controllers.runtime.writer import owner_reference
from pyroclast.kube.api.resources import CRON_JOBS
from pyroclast.model.api import names
from pyroclast.model.api.batch import ConcurrencyPolicy, CronJob, CronJobStatus, Job

__all__ = ["Decision", "decide", "job_name"]

_MANY: Final = 100
_GRACE: Final = 0.1
"""Delay of a Job after its time in seconds, which tolerates small differences between clocks."""
_LONGEST_WAIT: Final = 600.0
"""Maximum seconds until the next decision, because the clock may have been set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Next step of a CronJob. The order is: record events, write the status, delete Jobs, create Jobs."""

    notes: tuple[CronJobEvent, ...] = ()
    status: CronJobStatus
    deletes: tuple[Job, ...] = ()
    """Jobs of the history to delete. A failed deletion does not block the rest."""
    replaced: tuple[Job, ...] = ()
    """Running Jobs to delete before the next Job is created."""
    due: int = 0
    """Time of the Job to create, in seconds since 1970. 0 if none is due."""
    manifest: dict[str, Any] | None = None
    """Manifest of that Job."""
    requeue_after: float | None = None
    """Seconds until the next decision if no object changes."""


def decide(cron_job: CronJob, jobs: Sequence[Job], now: float) -> Decision:
    """Return the next step of a CronJob.

    Args:
        cron_job: The CronJob, which is not being deleted.
        jobs: Jobs that the CronJob controls, in any order.
        now: Seconds since 1970.
    """
    status, notes = observed(cron_job, jobs, now)
    base = Decision(status=status, notes=notes, deletes=beyond_history(cron_job, jobs))
    if cron_job.spec.suspend:
        return base
    try:
        zone = zone_named(cron_job.spec.time_zone) if cron_job.spec.time_zone else UTC
    except ScheduleError as error:
        return _noted(base, CronJobEvent(reason="InvalidTimeZone", message=f"Invalid time zone: {error}"))
    try:
        schedule = parse(cron_job.spec.schedule, zone)
    except ScheduleError as error:
        message = f"unparseable schedule for cronjob: {error}"
        return _noted(base, CronJobEvent(reason="UnParseableCronJobSchedule", message=message))
    if "TZ" in cron_job.spec.schedule:
        message = f"TZ in the schedule {cron_job.spec.schedule!r} is not supported officially; timeZone is ignored"
        base = _noted(base, CronJobEvent(reason="UnsupportedSchedule", message=message))
    # The event above reports a zone in the schedule. As in Kubernetes' CronJobs, the zone still takes effect.
    has_zone = "TZ" in cron_job.spec.schedule
    faults = tuple(fault for fault in faults_of(cron_job) if not (has_zone and fault.field == "spec.schedule"))
    if faults:
        return _noted(base, CronJobEvent(reason=INVALID, message=faults_message(faults)))
    return _timed(cron_job, jobs, base, schedule=schedule, zone=zone, now=now)


def _timed(
    cron_job: CronJob, jobs: Sequence[Job], base: Decision, *, schedule: Schedule, zone: tzinfo, now: float
) -> Decision:
    """Return the step for the latest due time, if it has no Job yet."""
    second = int(now)
    served = served_until(cron_job, base.status)
    last = schedule.last_until(second, after=served)
    following = schedule.first_after(last or served)
    if following is None and last is None:
        message = f"Error getting schedule time: {cron_job.spec.schedule!r} is never due"
        return _noted(base, CronJobEvent(reason="InvalidSchedule", message=message))
    base = replace(base, requeue_after=_wait(following, now))
    deadline = cron_job.spec.starting_deadline_seconds
    since = served if deadline is None else max(served, second - deadline)
    if last is None or last <= since:
        return base
    if schedule.count_until(second, after=since, most=_MANY + 1) > _MANY:
        message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        base = _noted(base, CronJobEvent(reason="TooManyMissedTimes", message=message))
    if job_name(cron_job, last) in {*(each.name for each in base.status.active), *(job.metadata.name for job in jobs)}:
        return base
    return _due(cron_job, jobs, base, due=last, zone=zone)


def _due(cron_job: CronJob, jobs: Sequence[Job], base: Decision, *, due: int, zone: tzinfo) -> Decision:
    """Create a Job, if the concurrency policy permits it."""
    running = {each.uid for each in base.status.active}
    if running and cron_job.spec.concurrency_policy == ConcurrencyPolicy.FORBID:
        message = "Skipping job creation because another job is already running"
        return _noted(base, CronJobEvent(reason="ForbidConcurrent", message=message))
    if running and cron_job.spec.concurrency_policy == ConcurrencyPolicy.REPLACE:
        replaced = tuple(job for job in jobs if job.metadata.uid in running)
        base = replace(
            _noted(base, CronJobEvent(reason="ReplaceConcurrent", message="Replacing active job for CronJob")),
            status=without_jobs(base.status, replaced),
            replaced=replaced,
        )
    return replace(base, due=due, manifest=_manifest(cron_job, due, zone))


def job_name(cron_job: CronJob, due: int) -> str:
    """Return the name of the Job of a time. It is unique per minute, so that a repeated creation finds the same Job."""
    return f"{cron_job.metadata.name}-{due // 60}"


def _manifest(cron_job: CronJob, due: int, zone: tzinfo) -> dict[str, Any]:
    template = cron_job.spec.job_template
    # In Go's notation, an offset of zero is Z.
    written = datetime.fromtimestamp(due, zone).isoformat().replace("+00:00", "Z")
    return {
        "metadata": {
            "name": job_name(cron_job, due),
            "namespace": cron_job.metadata.namespace,
            "labels": dict(template.metadata.labels),
            "annotations": {**template.metadata.annotations, names.CRON_JOB_SCHEDULED_TIMESTAMP: written},
            "ownerReferences": [owner_reference(CRON_JOBS, cron_job.metadata)],
        },
        "spec": msgspec.to_builtins(template.spec),
    }


def _wait(following: int | None, now: float) -> float | None:
    """Return the seconds until a time, within the limits above."""
    return None if following is None else min(max(following + _GRACE - now, _GRACE), _LONGEST_WAIT)


def _noted(decision: Decision, note: CronJobEvent) -> Decision:
    return replace(decision, notes=(*decision.notes, note))
