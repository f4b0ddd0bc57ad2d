"""Finished Jobs go when their time to live is over, and no other ever does."""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from pyroclast.controllers.garbage.reconciler import build, finished_at
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.clock import Clock
from pyroclast.kube.api.resources import JOBS
from pyroclast.model.api.batch import Job, JobSpec, JobState, JobStatus
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.wire import time_text
from tests.unit.controllers.ground import Ground, SetClock

PATH = JOBS.collection("default")


def job(phase: str = "Completed", ttl: int | None = 60, at: str = "2026-01-01T00:00:00Z") -> Job:
    """A Job in a phase."""
    return Job(
        metadata=ObjectMeta(name="j"),
        spec=JobSpec(ttl_seconds_after_finished=ttl),
        status=JobStatus(state=JobState(phase=phase, last_transition_time=at)),
    )


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated"])
def test_a_finished_job_expires_when_its_time_is_over(phase: str) -> None:
    """Counted from its last change."""
    assert finished_at(job(phase)) == 1_767_225_600


@pytest.mark.parametrize("phase", ["", "Pending", "Running", "Aborted", "Aborting", "Restarting", "Completing"])
def test_a_job_that_may_go_on_does_not_expire(phase: str) -> None:
    """An aborted one can be resumed."""
    assert finished_at(job(phase)) is None


def test_no_time_to_live_is_for_ever() -> None:
    """Zero is a time: at once."""
    assert finished_at(job(ttl=None)) is None
    assert finished_at(job(ttl=0)) == 1_767_225_600


def test_a_job_whose_end_is_unknown_does_not_expire() -> None:
    """Nor one that is going already."""
    assert finished_at(job(at="")) is None
    assert finished_at(job(at="soon")) is None
    going = msgspec.structs.replace(job(), metadata=ObjectMeta(name="j", deletion_timestamp="2026-01-01T00:00:00Z"))
    assert finished_at(going) is None


def controllers(ground: Ground, clock: Clock | None = None) -> Operator:
    """The controller alone."""
    operator = ground.operator(clock)
    build(operator, ControllerOptions())
    return operator


async def make_job(ground: Ground, name: str, *, ttl: int | None, phase: str = "Completed", age: float = 100) -> None:
    """Create a Job that finished a while ago."""
    spec: dict[str, Any] = {"tasks": [{"name": "t", "replicas": 1, "template": {}}]}
    if ttl is not None:
        spec["ttlSecondsAfterFinished"] = ttl
    await ground.post(PATH, {"apiVersion": JOBS.api_version, "kind": "Job", "metadata": {"name": name}, "spec": spec})
    state = {"phase": phase, "lastTransitionTime": time_text(time.time() - age)}
    await ground.patch(f"{PATH}/{name}/status", {"status": {"state": state}})


async def test_jobs_go_and_stay(ground: Ground) -> None:
    """Those whose time is over go, whenever they finished; the others stay."""
    await make_job(ground, "over", ttl=50)
    await make_job(ground, "never", ttl=None)
    await make_job(ground, "later", ttl=500)
    await make_job(ground, "running", ttl=0, phase="Running")
    async with ground.working(operator := controllers(ground)):
        await make_job(ground, "at-once", ttl=0, age=0)
        await make_job(ground, "soon", ttl=2, age=1.0)

        async def are_gone() -> bool:
            return await ground.names(PATH) == ["later", "never", "running"]

        await ground.soon(are_gone)
        await operator.idle()

    assert await ground.names(PATH) == ["later", "never", "running"]


async def test_a_job_whose_life_was_prolonged_in_the_last_moment_stays(ground: Ground) -> None:
    """The server is asked before anything is deleted."""
    await make_job(ground, "j", ttl=50)
    operator = controllers(ground)
    following = asyncio.create_task(operator.follow())
    await operator.synced()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await ground.patch(f"{PATH}/j", {"spec": {"ttlSecondsAfterFinished": 5000}})
    working = asyncio.create_task(operator.work())
    await operator.idle()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)

    assert await ground.names(PATH) == ["j"]


@pytest.mark.parametrize("ahead", [3600.0, -3600.0])
async def test_a_clock_that_is_set_ends_no_life_early_and_none_late(ground: Ground, ahead: float) -> None:
    """Seconds of life pass as they do, whatever the time of day is."""
    clock = SetClock()
    await make_job(ground, "later", ttl=500)
    async with ground.working(operator := controllers(ground, clock)):
        await make_job(ground, "soon", ttl=2, age=0)
        await operator.idle()
        clock.ahead = ahead
        await ground.patch(f"{PATH}/later", {"metadata": {"labels": {"looked": "at"}}})
        await ground.patch(f"{PATH}/soon", {"metadata": {"labels": {"looked": "at"}}})

        async def is_gone() -> bool:
            return await ground.names(PATH) == ["later"]

        await ground.soon(is_gone)
        await operator.idle()

    assert await ground.names(PATH) == ["later"]


@pytest.mark.parametrize("writes", [1, 2, 3])
async def test_killed_after_any_write_the_same_jobs_go(ground: Ground, writes: int) -> None:
    """Three are over their time: after a death the next process goes on, and no other Job is touched."""
    for number in range(3):
        await make_job(ground, f"over-{number}", ttl=50)
    await make_job(ground, "later", ttl=500)
    await make_job(ground, "never", ttl=None)
    await make_job(ground, "running", ttl=0, phase="Running")

    deaths = 0
    while await ground.live_and_die(lambda operator: build(operator, ControllerOptions()), writes=writes) >= writes:
        deaths += 1

    assert 1 <= deaths <= 3
    assert await ground.names(PATH) == ["later", "never", "running"]
