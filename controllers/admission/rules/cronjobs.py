"""Cron jobs: a readable schedule, an existing time zone, and a name short enough for the names of its Jobs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pyroclast.controllers.admission.faults import Fault, the_first
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.rules.jobs import made_name_faults
from pyroclast.controllers.admission.rules.names import QUALIFIED_NAME, is_qualified_name
from pyroclast.controllers.admission.rules.shape import read
from pyroclast.controllers.cronjobs.schedule import ScheduleError, parse, zone_named
from pyroclast.model.api.batch import CronJob, CronJobSpec, Job
from pyroclast.model.api.meta import ObjectMeta

__all__ = ["faults_of"]

_LONGEST_NAME: Final = 52
"""Names of Jobs add 11 characters, and a label has at most 63."""
_MINUTES: Final = "00000000"
"""Stands for the minutes since 1970 that end the name of each Job. They have eight digits until the year 2160."""
_LONGEST_SCHEDULE: Final = 1000
"""Maximum number of characters; no valid schedule of five fields is longer."""
_SCHEDULES: Final = "five fields (minute, hour, day of month, month, day of week), or @hourly and the like"
_ZONES: Final = "a name of the IANA database, such as Europe/Berlin"


def faults_of(
    cron_job: Mapping[str, Any] | CronJob,
    old: Mapping[str, Any] | CronJob | None = None,
    lookups: Lookups | None = None,  # noqa: ARG001  all rules have one signature
) -> tuple[Fault, ...]:
    """Find the faults of a cron job, or nothing if its spec is unchanged.

    Args:
        cron_job: The cron job, as JSON or as its struct.
        old: Previous cron job, None for a new one.
        lookups: Not used.
    """
    return the_first(_faults(cron_job, old))


def _faults(value: Mapping[str, Any] | CronJob, old: Mapping[str, Any] | CronJob | None) -> Iterator[Fault]:
    cron_job = read(CronJob, value)
    if isinstance(cron_job, Fault):
        yield cron_job
        return
    if old is not None:
        earlier = read(CronJob, old)
        if isinstance(earlier, CronJob) and earlier.spec == cron_job.spec:
            return
    yield from _schedule_faults(cron_job.spec)
    yield from _zone_faults(cron_job.spec.time_zone)
    yield from _name_faults(cron_job.metadata.name)
    yield from _template_faults(cron_job)


def _schedule_faults(spec: CronJobSpec) -> Iterator[Fault]:
    field, schedule = "spec.schedule", spec.schedule
    if not schedule:
        yield Fault(field=field, expected=_SCHEDULES, rule="schedule is required, but got empty")
    elif len(schedule) > _LONGEST_SCHEDULE:
        yield Fault(
            field=field,
            value=schedule,
            expected=f"at most {_LONGEST_SCHEDULE} characters",
            rule="schedule is not a valid cron expression: it is too long",
        )
    elif "TZ" in schedule:
        yield Fault(
            field=field,
            value=schedule,
            expected="the zone in spec.timeZone",
            rule="schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field",
        )
    else:
        try:
            parse(schedule)
        except ScheduleError as error:
            yield Fault(
                field=field,
                value=schedule,
                expected=_SCHEDULES,
                rule=f"schedule is not a valid cron expression: {error}",
            )


def _zone_faults(zone: str | None) -> Iterator[Fault]:
    field = "spec.timeZone"
    if zone is None:
        return
    if not zone:
        yield Fault(
            field=field, value=zone, expected=_ZONES, rule="timeZone must be nil or non-empty string, got empty string"
        )
    elif zone.lower() == "local":
        yield Fault(
            field=field,
            value=zone,
            expected=_ZONES,
            rule="timeZone can't be Local, and must be defined in https://www.iana.org/time-zones",
        )
    else:
        try:
            zone_named(zone)
        except ScheduleError:
            yield Fault(field=field, value=zone, expected=_ZONES, rule="unknown timeZone: invalid timeZone")


def _template_faults(cron_job: CronJob) -> Iterator[Fault]:
    """Find invalid names of the Jobs' pods and of the objects of their plugins."""
    name = cron_job.metadata.name
    if not name or len(name) > _LONGEST_NAME:
        return
    job = Job(metadata=ObjectMeta(name=f"{name}-{_MINUTES}"), spec=cron_job.spec.job_template.spec)
    for fault in made_name_faults(job):
        field = "metadata.name" if fault.field == "metadata.name" else f"spec.jobTemplate.{fault.field}"
        yield replace(fault, field=field, value=name if field == "metadata.name" else fault.value)


def _name_faults(name: str) -> Iterator[Fault]:
    field = "metadata.name"
    if len(name) > _LONGEST_NAME:
        yield Fault(
            field=field,
            value=name,
            expected=f"at most {_LONGEST_NAME} characters",
            rule=f"cronJob name must be no more than {_LONGEST_NAME} characters to accommodate job name suffix",
        )
    elif name and not is_qualified_name(name):
        yield Fault(field=field, value=name, expected=QUALIFIED_NAME, rule=f'invalid cronJob name "{name}"')
