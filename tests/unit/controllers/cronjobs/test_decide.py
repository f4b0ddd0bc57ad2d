from typing import Any

import msgspec
import pytest

from pyroclast.controllers.cronjobs.decide import Decision, decide
from pyroclast.model.api.batch import CronJob, Job
from pyroclast.model.wire.times import time_text, unix_seconds

NOON = int(unix_seconds("2026-07-09T12:00:00Z"))
HOUR = 3600


def cron_job(schedule: str = "0 * * * *", status: dict[str, Any] | None = None, **spec: Any) -> CronJob:
    """Make a CronJob that was created half an hour before noon."""
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"minAvailable": 2}}
    return msgspec.convert(
        {
            "metadata": {
                "name": "nightly",
                "namespace": "team",
                "uid": "c",
                "creationTimestamp": "2026-07-09T11:30:00Z",
            },
            "spec": {"schedule": schedule, "jobTemplate": template, **spec},
            "status": status or {},
        },
        CronJob,
    )


def job(due: int, phase: str = "Running", **metadata: Any) -> Job:
    """Make the Job of a time."""
    return msgspec.convert(
        {
            "metadata": {
                "name": f"nightly-{due // 60}",
                "namespace": "team",
                "uid": f"j{due // 60}",
                "creationTimestamp": time_text(due),
                "annotations": {"volcano.sh/cronjob-scheduled-timestamp": time_text(due)},
                **metadata,
            },
            "status": {"state": {"phase": phase, "lastTransitionTime": time_text(due + 300)}},
        },
        Job,
    )


def status(*jobs: Job, last: int = 0) -> dict[str, Any]:
    """Describe a status that knows of Jobs."""
    active = [{"kind": "Job", "namespace": "team", "name": j.metadata.name, "uid": j.metadata.uid} for j in jobs]
    return {"active": active, **({"lastScheduleTime": time_text(last)} if last else {})}


def reasons(decision: Decision) -> list[str]:
    """Return the reasons of the events."""
    return [note.reason for note in decision.notes]


def test_a_time_that_has_come_makes_a_job() -> None:
    """Its name follows from the time, it carries the template's metadata, and it belongs to the CronJob."""
    decision = decide(cron_job(), [], NOON + 0.1)

    assert decision.due == NOON
    assert decision.manifest is not None
    metadata = decision.manifest["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("nightly-29726640", "team")
    assert metadata["labels"] == {"a": "b"}
    assert metadata["annotations"] == {"c": "d", "volcano.sh/cronjob-scheduled-timestamp": "2026-07-09T12:00:00Z"}
    assert metadata["ownerReferences"][0]["uid"] == "c"
    assert metadata["ownerReferences"][0]["controller"] is True
    assert decision.manifest["spec"] == {"minAvailable": 2}


def test_before_its_time_there_is_nothing_to_do() -> None:
    """It is looked at again right after the time, by a tenth of a second."""
    decision = decide(cron_job(), [], NOON - 100)

    assert (decision.due, decision.manifest) == (0, None)
    assert decision.requeue_after == pytest.approx(100.1)


def test_the_clock_is_looked_at_every_ten_minutes() -> None:
    """Any user may set it."""
    assert decide(cron_job("0 0 1 1 *"), [], NOON).requeue_after == 600.0


def test_times_are_those_of_the_zone() -> None:
    """So is the annotation."""
    decision = decide(cron_job("0 14 * * *", timeZone="Europe/Berlin"), [], NOON + 1)

    assert decision.manifest is not None
    annotations = decision.manifest["metadata"]["annotations"]
    assert annotations["volcano.sh/cronjob-scheduled-timestamp"] == "2026-07-09T14:00:00+02:00"


def test_a_served_time_is_not_served_again() -> None:
    """The status says so."""
    decision = decide(cron_job(status=status(last=NOON)), [], NOON + 60)

    assert decision.manifest is None
    assert decision.requeue_after == 600.0


def test_a_job_says_so_too() -> None:
    """Killed between making the Job and writing the status, a process finds it, and the status is mended."""
    made = job(NOON)
    decision = decide(cron_job(), [made], NOON + 60)

    assert decision.manifest is None
    assert [each.uid for each in decision.status.active] == [made.metadata.uid]
    assert decision.status.last_schedule_time == "2026-07-09T12:00:00Z"


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated"])
def test_a_finished_job_is_active_no_longer(phase: str) -> None:
    """Only a completed one counts as success."""
    ended = job(NOON, phase)
    decision = decide(cron_job(status=status(ended, last=NOON)), [ended], NOON + 600)

    assert decision.status.active == ()
    assert reasons(decision) == ["SawCompletedJob"]
    assert decision.status.last_successful_time == ("2026-07-09T12:05:00Z" if phase == "Completed" else "")


def test_the_last_success_never_goes_back() -> None:
    """An older Job tells nothing new."""
    known = {**status(last=NOON), "lastSuccessfulTime": "2026-07-09T12:06:00Z"}

    decision = decide(cron_job(status=known), [job(NOON, "Completed")], NOON + 600)

    assert decision.status.last_successful_time == "2026-07-09T12:06:00Z"


@pytest.mark.parametrize("phase", ["", "Pending", "Aborted", "Restarting"])
def test_an_unfinished_job_stays_active(phase: str) -> None:
    """An aborted one may be resumed."""
    running = job(NOON, phase)
    decision = decide(cron_job(status=status(running, last=NOON)), [running], NOON + 600)

    assert len(decision.status.active) == 1
    assert decision.notes == ()


def test_jobs_that_are_gone_are_dropped() -> None:
    """Also when another has taken the name."""
    gone, other = job(NOON), job(NOON, uid="other")
    decision = decide(cron_job(status=status(gone, last=NOON)), [other], NOON + 60)

    assert [each.uid for each in decision.status.active] == ["other"]
    assert reasons(decision) == ["StaleReference"]


def test_history_keeps_the_newest() -> None:
    """Three completed and one failed by default, any number of terminated ones; the oldest go first."""
    completed = [job(NOON - n * HOUR, "Completed") for n in (1, 4, 2, 5, 3)]
    failed = [job(NOON - n * HOUR - 60, "Failed") for n in (1, 2)]
    terminated = [job(NOON - n * HOUR - 120, "Terminated") for n in (1, 2, 3)]

    decision = decide(cron_job(status=status(last=NOON)), [*completed, *failed, *terminated], NOON + 60)

    assert decision.deletes == (completed[3], completed[1], failed[1])


def test_history_of_nothing() -> None:
    """A limit of 0 keeps none; what is going already is not deleted again."""
    ended, going = job(NOON - HOUR, "Completed"), job(NOON - 2 * HOUR, "Completed", deletionTimestamp="x")
    of = cron_job(status=status(last=NOON), successfulJobsHistoryLimit=0)

    assert decide(of, [ended, going], NOON + 60).deletes == (ended,)


def test_suspended() -> None:
    """Nothing is made, and history is kept all the same."""
    ended = [job(NOON - n * HOUR, "Failed") for n in (1, 2)]
    decision = decide(cron_job(suspend=True), ended, NOON + 60)

    assert (decision.manifest, decision.requeue_after) == (None, None)
    assert decision.deletes == (ended[1],)


def test_a_year_of_suspension_is_followed_by_one_job() -> None:
    """kubernetes#42649: the latest time is served, and the next one in its turn; 8,760 times were missed."""
    late = NOON + 365 * 24 * HOUR + 60
    resumed = decide(cron_job(suspend=False, status=status(last=NOON)), [], late)
    made = job(resumed.due)
    again = decide(cron_job(suspend=False, status=status(made, last=resumed.due)), [made], late + 1)

    assert resumed.due == late - 60
    assert resumed.manifest is not None
    assert (again.due, again.manifest) == (0, None)


def test_the_latest_of_missed_times_is_served() -> None:
    """Those before it are not."""
    decision = decide(cron_job(), [], NOON + 5 * HOUR + 60)

    assert decision.due == NOON + 5 * HOUR
    assert decision.notes == ()


def test_a_changed_schedule_is_looked_at_at_once() -> None:
    """What it missed since the last time served is made up for, whether or not the process is the same."""
    served = status(last=NOON)

    assert decide(cron_job("45 * * * *", served), [], NOON + 44 * 60).due == 0
    assert decide(cron_job("30 * * * *", served), [], NOON + 44 * 60).due == NOON + 30 * 60


def test_too_many_missed_times_are_reported() -> None:
    """The latest is served all the same: beyond a hundred something is wrong with the clock or the controller."""
    of = cron_job("* * * * *")

    assert reasons(decide(of, [], NOON - 1800 + 100 * 60)) == []
    decision = decide(of, [], NOON - 1800 + 101 * 60)
    assert reasons(decision) == ["TooManyMissedTimes"]
    assert decision.due == NOON - 1800 + 101 * 60


def test_a_deadline_bounds_what_is_served_late() -> None:
    """Later than that a time is left out; the count of missed ones begins there too."""
    of = cron_job(startingDeadlineSeconds=60)

    assert decide(of, [], NOON + 59).due == NOON
    assert decide(of, [], NOON + 60).manifest is None
    assert decide(cron_job("* * * * *", startingDeadlineSeconds=600), [], NOON + 30 * HOUR).notes == ()
    assert decide(cron_job(startingDeadlineSeconds=0), [], NOON + 1).manifest is None


def test_spans_are_counted_from_the_last_time_whatever_the_deadline() -> None:
    """A deadline shorter than the span does not move the times."""
    of = cron_job("@every 45m", startingDeadlineSeconds=100)

    assert decide(of, [], NOON + 15 * 60).due == NOON + 15 * 60
    assert decide(of, [], NOON + 17 * 60).manifest is None
    assert decide(of, [], NOON + 17 * 60).requeue_after == 600.0


def test_one_job_a_minute() -> None:
    """Names tell minutes apart: of shorter spans the first time in a minute is served."""
    made = job(NOON)
    of = cron_job("@every 10s", status=status(made, last=NOON))

    assert decide(of, [made], NOON + 50).manifest is None
    assert decide(of, [made], NOON + 61).due == NOON + 60


def test_forbid_waits_for_what_runs() -> None:
    """The time is skipped, unless the running Job ends before the next one."""
    running = job(NOON)
    of = cron_job(status=status(running, last=NOON), concurrencyPolicy="Forbid")

    decision = decide(of, [running], NOON + HOUR + 1)
    assert decision.manifest is None
    assert reasons(decision) == ["ForbidConcurrent"]
    assert decide(of, [job(NOON, "Completed")], NOON + HOUR + 60).due == NOON + HOUR


def test_forbid_counts_a_job_that_is_going() -> None:
    """Its pods may still run."""
    going = job(NOON, deletionTimestamp="2026-07-09T12:59:00Z")
    of = cron_job(status=status(going, last=NOON), concurrencyPolicy="Forbid")

    assert decide(of, [going], NOON + HOUR + 1).manifest is None


def test_replace_deletes_what_runs() -> None:
    """And makes the new one."""
    running = job(NOON)
    of = cron_job(status=status(running, last=NOON), concurrencyPolicy="Replace")

    decision = decide(of, [running], NOON + HOUR + 1)

    assert decision.replaced == (running,)
    assert decision.status.active == ()
    assert decision.due == NOON + HOUR
    assert reasons(decision) == ["ReplaceConcurrent"]


def test_a_replaced_job_that_is_still_going_is_not_taken_up_again() -> None:
    """A finalizer may hold it for long."""
    going = job(NOON, deletionTimestamp="2026-07-09T13:00:00Z")

    assert decide(cron_job(status=status(last=NOON)), [going], NOON + 60).status.active == ()


def test_allow_runs_side_by_side() -> None:
    """The default."""
    running = job(NOON)
    decision = decide(cron_job(status=status(running, last=NOON)), [running], NOON + HOUR)

    assert decision.due == NOON + HOUR
    assert len(decision.status.active) == 1


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"timeZone": "Nowhere/Land"}, "InvalidTimeZone"),
        ({"schedule": "every day"}, "UnParseableCronJobSchedule"),
        ({"schedule": "0 0 31 2 *"}, "InvalidSchedule"),
    ],
)
def test_a_schedule_that_is_never_due_is_reported(spec: dict[str, Any], reason: str) -> None:
    """It waits until it is corrected."""
    decision = decide(cron_job(**{"schedule": "0 * * * *", **spec}), [], NOON)

    assert reasons(decision) == [reason]
    assert (decision.manifest, decision.requeue_after) == (None, None)


def test_a_zone_in_the_schedule_has_effect_and_a_warning() -> None:
    """Admission refuses it; where there is none it is read."""
    decision = decide(cron_job("TZ=Asia/Tokyo 0 21 * * *", timeZone="UTC"), [], NOON + 1)

    assert decision.due == NOON
    assert reasons(decision) == ["UnsupportedSchedule"]
