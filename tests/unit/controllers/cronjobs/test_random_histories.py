"""CronJobs live through chance: time jumps, Jobs end, stores lag, and the controller is killed anywhere."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.controllers.cronjobs.reconciler import CronJobs
from pyroclast.controllers.cronjobs.schedule import parse
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import CRON_JOBS, JOBS
from pyroclast.model.wire.times import unix_seconds
from tests.unit.controllers.smallworld import START, Life, SmallWorld, rest

KEY = ("team", "tick")
SCHEDULE = "*/10 * * * *"


def build(life: Life) -> CronJobs:
    """Plug the controller in."""
    return CronJobs(life, ControllerOptions())  # type: ignore[arg-type]  # has what it asks for


def unfinished(world: SmallWorld) -> list[str]:
    """Return the names of the Jobs that run."""
    return sorted(
        name
        for (_, name), job in world.kinds["jobs"].objects.items()
        if job.get("status", {}).get("state", {}).get("phase") not in {"Completed", "Failed", "Terminated"}
    )


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_each_time_is_served_once_at_most(policy: str, seed: int) -> None:
    """The latest due time is served unless something forbids it, and the status says what is."""
    chance = random.Random(seed)
    world = SmallWorld((CRON_JOBS, JOBS), chance=chance)
    spec = {
        "schedule": SCHEDULE,
        "concurrencyPolicy": policy,
        "successfulJobsHistoryLimit": 2,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": {}},
    }
    world.put("cronjobs", {"metadata": {"name": "tick", "namespace": "team"}, "spec": spec})
    schedule = parse(SCHEDULE)
    for _ in range(8):
        world.clock.now += chance.randint(1, 1800)
        for name in unfinished(world):
            if chance.random() < 0.5:
                phase = chance.choice(["Completed", "Failed", "Terminated", "Running"])
                state = {"phase": phase, "lastTransitionTime": "2026-01-01T00:00:00Z"}
                world.status("jobs", ("team", name), {"state": state})
        ran_before = unfinished(world)
        rest(world, build, KEY)

        status = world.kinds["cronjobs"].objects[KEY].get("status", {})
        last = schedule.last_until(int(world.clock.now), after=int(START))
        running = unfinished(world)
        assert len(world.made) == len(set(world.made))
        assert sorted(each["name"] for each in status.get("active", [])) == running
        if policy != "Allow":
            assert len(running) <= 1
        if last is not None and not (policy == "Forbid" and ran_before):
            assert unix_seconds(status["lastScheduleTime"]) == last
            assert f"tick-{last // 60}" in world.made
        phases = [job["status"]["state"]["phase"] for job in world.kinds["jobs"].objects.values() if "status" in job]
        assert phases.count("Completed") <= 2
        assert phases.count("Failed") <= 1
    # Nobody else deletes Jobs here: one that counts as lost was only not seen yet.
    assert "StaleReference" not in [reason for reason, _ in world.notes]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_a_clock_that_is_set_serves_no_time_twice(seed: int) -> None:
    """It is set by up to two hours, either way, while Jobs run, end and are deleted as history; then time goes on."""
    chance = random.Random(seed)
    world = SmallWorld((CRON_JOBS, JOBS), chance=chance)
    spec = {"schedule": SCHEDULE, "successfulJobsHistoryLimit": 1, "jobTemplate": {"spec": {}}}
    world.put("cronjobs", {"metadata": {"name": "tick", "namespace": "team"}, "spec": spec})
    latest = world.clock.now
    for _ in range(12):
        world.clock.now += chance.choice([chance.randint(1, 1800), chance.randint(-7200, 7200)])
        latest = max(latest, world.clock.now)
        for name in unfinished(world):
            if chance.random() < 0.5:
                state = {"phase": "Completed", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                world.status("jobs", ("team", name), {"state": state})
        rest(world, build, KEY)
        assert len(world.made) == len(set(world.made))

    world.clock.now = latest + 600
    rest(world, build, KEY)
    last = parse(SCHEDULE).last_until(int(world.clock.now), after=int(START))
    assert last is not None
    assert f"tick-{last // 60}" in world.made
    assert len(world.made) == len(set(world.made))
