"""Cron jobs: schedule, zone, name."""

import pytest

from pyroclast.controllers.admission.rules.cronjobs import faults_of
from tests.unit.controllers.admission.objects import Json, fields_of, job


def cron_job(schedule: str = "*/5 * * * *", *, name: str = "nightly", **spec: object) -> Json:
    """A cron job."""
    return {
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}, **spec},
    }


@pytest.mark.parametrize(
    ("value", "field", "words"),
    [
        (cron_job(""), "spec.schedule", "schedule is required, but got empty"),
        (cron_job("CRON_TZ=UTC 0 0 * * *"), "spec.schedule", "schedule should not contain TZ or CRON_TZ"),
        (cron_job("TZ=UTC 0 0 * * *"), "spec.schedule", "schedule should not contain TZ or CRON_TZ"),
        (cron_job("0 0 * *"), "spec.schedule", "schedule is not a valid cron expression"),
        (cron_job("0 0 * * * *"), "spec.schedule", "schedule is not a valid cron expression"),
        (cron_job("60 0 * * *"), "spec.schedule", "schedule is not a valid cron expression"),
        (cron_job("@sometimes"), "spec.schedule", "schedule is not a valid cron expression"),
        (cron_job(timeZone=""), "spec.timeZone", "timeZone must be nil or non-empty string, got empty string"),
        (cron_job(timeZone="Local"), "spec.timeZone", "timeZone can't be Local"),
        (cron_job(timeZone="Europe/Nowhere"), "spec.timeZone", "unknown timeZone"),
        (cron_job(timeZone="../etc/passwd"), "spec.timeZone", "unknown timeZone"),
        (cron_job(timeZone="America"), "spec.timeZone", "unknown timeZone"),
        (cron_job(name="n" * 53), "metadata.name", "cronJob name must be no more than 52 characters"),
        (cron_job(name="a_"), "metadata.name", 'invalid cronJob name "a_"'),
    ],
)
def test_what_is_refused(value: Json, field: str, words: str) -> None:
    """One fault, at its field."""
    (fault,) = faults_of(value)

    assert fault.field == field
    assert words in str(fault)


@pytest.mark.parametrize(
    "schedule", ["0 0 * * *", "*/15 1-5 * JAN-MAR MON,WED", "@hourly", "@every 1h30m", "0 0 1 1 ?"]
)
def test_what_is_taken(schedule: str) -> None:
    """Five fields, names, and the short forms."""
    assert faults_of(cron_job(schedule, timeZone="Europe/Berlin", name="n" * 40)) == ()


def test_a_change_is_judged_like_a_new_one() -> None:
    """But where the spec stays nothing is said."""
    broken = cron_job("never", timeZone="nowhere")

    assert fields_of(faults_of(broken, cron_job())) == ["spec.schedule", "spec.timeZone"]
    assert faults_of(broken, broken) == ()


def test_a_schedule_that_cannot_be_read() -> None:
    """The part at fault is named; descriptors and spans are fine."""
    (fault,) = faults_of(cron_job(schedule="61 * * * *"))

    assert "schedule is not a valid cron expression: minute '61' is not a range within 0-59" in str(fault)
    assert faults_of(cron_job(schedule="@every 1h")) == ()


def test_a_name_that_leaves_no_room_for_pods_is_refused() -> None:
    """Volcano takes it, and each of its Jobs is refused: 44 characters, 9 of the Job, and those of the pod."""
    faults = faults_of(cron_job(name="n" * 48))

    assert fields_of(faults) == ["spec.jobTemplate.spec.tasks[0].name"]
    assert "validate failed" in str(faults[0])


def test_a_name_that_plugins_make_no_hosts_of_is_refused() -> None:
    """Services have no dots."""
    value = cron_job(name="a.b")
    value["spec"]["jobTemplate"]["spec"]["plugins"] = {"svc": []}

    assert "metadata.name" in fields_of(faults_of(value))
