"""Finished Jobs go when their time to live is over, and no other ever does."""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from controllers.garbage.expiry import expires_at
from controllers.garbage.reconciler import build
from controllers.kinds import JOBS
from controllers.operating.operator import Operator
from controllers.operating.options import ControllerOptions
from model.api.batch import Job, JobSpec, JobState, JobStatus
from model.api.meta import ObjectMeta
from model.wire import time_text
from tests.unit.controllers.ground import Ground

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
    assert expires_at(job(phase)) == 1_767_225_660


@pytest.mark.parametrize("phase", ["", "Pending", "Running", "Aborted", "Aborting", "Restarting", "Completing"])
def test_a_job_that_may_go_on_does_not_expire(phase: str) -> None:
    """An aborted one can be resumed."""
    assert expires_at(job(phase)) is None


def test_no_time_to_live_is_for_ever() -> None:
    """Zero is a time: at once."""
    assert expires_at(job(ttl=None)) is None
    assert expires_at(job(ttl=0)) == 1_767_225_600


def test_a_job_whose_end_is_unknown_does_not_expire() -> None:
    """Nor one that is going already."""
    assert expires_at(job(at="")) is None
    assert expires_at(job(at="soon")) is None
    going = msgspec.structs.replace(job(), metadata=ObjectMeta(name="j", deletion_timestamp="2026-01-01T00:00:00Z"))
    assert expires_at(going) is None


def controllers(ground: Ground) -> Operator:
    """The controller alone."""
    operator = ground.operator()
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
