"""CronJobs on a server: what is written, and that it does not matter where the controller is killed."""

from typing import Any

import pytest

from pyroclast.controllers.cronjobs.reconciler import CronJobs
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import CRON_JOBS, JOBS
from pyroclast.model.wire.times import unix_seconds
from tests.unit.controllers.ground import Ground
from tests.unit.controllers.killing import KilledError, MortalClient, life, rest

KEY = ("default", "nightly")
TEMPLATE = {"spec": {"tasks": [{"name": "t", "replicas": 1, "template": {"spec": {"containers": []}}}]}}


def build(operator: Operator) -> CronJobs:
    """Plug the controller in."""
    return CronJobs(operator, ControllerOptions())


async def make(ground: Ground, **spec: Any) -> dict[str, Any]:
    """Create a CronJob that is due every hour."""
    made: dict[str, Any] = await ground.post(
        CRON_JOBS.collection("default"),
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "CronJob",
            "metadata": {"name": "nightly"},
            "spec": {"schedule": "0 * * * *", "jobTemplate": TEMPLATE, **spec},
        },
    )
    return made


def hour_after(cron_job: dict[str, Any], hours: int) -> float:
    """Return a moment in the n-th hour after a CronJob's making."""
    made = unix_seconds(cron_job["metadata"]["creationTimestamp"])
    return made // 3600 * 3600 + hours * 3600 + 5


async def finish(ground: Ground, name: str, phase: str) -> None:
    """Write a Job's phase, as its controller would."""
    state = {"phase": phase, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await ground.patch(f"{JOBS.path('default', name)}/status", {"status": {"state": state}})


async def pictured(ground: Ground) -> dict[str, Any]:
    """Return what there is, without what differs from run to run."""
    status = (await ground.get(CRON_JOBS.path(*KEY))).get("status", {})
    return {
        "jobs": await ground.names(JOBS.collection("default")),
        "active": [each["name"] for each in status.get("active", [])],
        "last": status.get("lastScheduleTime"),
        "success": status.get("lastSuccessfulTime"),
    }


async def test_a_due_time_creates_a_job_and_updates_the_status(ground: Ground) -> None:
    """The Job has the template's spec, and is found under the status."""
    made = await make(ground)
    now = hour_after(made, 1)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, build, now=now) as reconcile:
        await rest(client, reconcile, KEY)

    name = f"nightly-{int(now) // 60}"
    found = await ground.get(JOBS.path("default", name))
    assert found["spec"]["tasks"][0]["name"] == "t"
    assert found["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    assert (await pictured(ground))["active"] == [name]


async def test_a_refused_job_has_a_message(ground: Ground) -> None:
    """Reported by an event on the CronJob, with the server's words."""
    await make(ground, schedule="@every 1s")
    ground.emulator.faults.add(effect="error", resource="jobs", verb="create", code=403, count=1)
    operator = ground.operator()
    build(operator)

    async def is_told() -> bool:
        events = (await ground.get("/api/v1/namespaces/default/events"))["items"]
        told = [event for event in events if event["reason"] == "FailedCreate"]
        return [(event["type"], event["involvedObject"]["kind"], event["message"]) for event in told] == [
            ("Warning", "CronJob", "Failed to create job: injected by the test")
        ]

    async with ground.working(operator):
        await ground.soon(is_told)


async def test_a_time_whose_job_is_refused_is_served_later(ground: Ground) -> None:
    """Not before the Job is there."""
    made = await make(ground)
    ground.emulator.faults.add(effect="error", resource="jobs", verb="create", code=403, count=1)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, build, now=hour_after(made, 1)) as reconcile:
        with pytest.raises(ApiError):
            await reconcile(KEY)
        assert (await pictured(ground))["last"] is None
        await rest(client, reconcile, KEY)

    there = await pictured(ground)
    assert there["active"] == there["jobs"] != []


async def test_history_that_cannot_be_deleted_holds_nothing_up(ground: Ground) -> None:
    """It is tried again when what is due was made."""
    made = await make(ground, successfulJobsHistoryLimit=0)
    first, second = hour_after(made, 1), hour_after(made, 2)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, build, now=first) as reconcile:
        await rest(client, reconcile, KEY)
    old, new = (f"nightly-{int(hour) // 60}" for hour in (first, second))
    await finish(ground, old, "Completed")
    ground.emulator.faults.add(effect="error", resource="jobs", verb="delete", code=403, count=1)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, build, now=second) as reconcile:
        with pytest.raises(ApiError):
            await reconcile(KEY)
        assert (await pictured(ground))["jobs"] == [old, new]
        await rest(client, reconcile, KEY)

    there = await pictured(ground)
    assert there["jobs"] == there["active"] == [new]


async def test_a_job_that_cannot_be_replaced_has_no_successor(ground: Ground) -> None:
    """They would run side by side."""
    made = await make(ground, concurrencyPolicy="Replace")
    first, second = hour_after(made, 1), hour_after(made, 2)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, build, now=first) as reconcile:
        await rest(client, reconcile, KEY)
    old, new = (f"nightly-{int(hour) // 60}" for hour in (first, second))
    ground.emulator.faults.add(effect="error", resource="jobs", verb="delete", code=403, count=1)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, build, now=second) as reconcile:
        with pytest.raises(ApiError):
            await reconcile(KEY)
        assert (await pictured(ground))["jobs"] == [old]
        await rest(client, reconcile, KEY)

    assert (await pictured(ground))["jobs"] == [new]


async def test_another_ones_job_is_left_alone(ground: Ground) -> None:
    """The time counts as not served, and nothing of the other's is touched."""
    made = await make(ground)
    now = hour_after(made, 1)
    name = f"nightly-{int(now) // 60}"
    await ground.post(
        JOBS.collection("default"),
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, **TEMPLATE},
    )
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, build, now=now) as reconcile:
        requeue_after = await reconcile(KEY)

    assert requeue_after is not None
    assert (await pictured(ground))["last"] is None


async def live(ground: Ground, dies_at: int, *, is_carried_out: bool) -> tuple[dict[str, Any], int]:
    """Run two hours of a CronJob that replaces, with a death in the second; return the end and the writes."""
    made = await make(ground, concurrencyPolicy="Replace", successfulJobsHistoryLimit=0)
    first, second = hour_after(made, 1), hour_after(made, 2)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, build, now=first) as reconcile:
        await rest(client, reconcile, KEY)
    old = f"nightly-{int(first) // 60 - 60}"
    await ground.post(
        JOBS.collection("default"),
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {
                "name": old,
                "ownerReferences": [
                    {
                        "apiVersion": CRON_JOBS.api_version,
                        "kind": "CronJob",
                        "name": "nightly",
                        "uid": made["metadata"]["uid"],
                        "controller": True,
                    }
                ],
            },
            **TEMPLATE,
        },
    )
    await finish(ground, old, "Completed")
    async with MortalClient(ground.client.cluster, component="t") as client:
        client.dies_at, client.is_carried_out = dies_at, is_carried_out
        try:
            async with life(client, build, now=second) as reconcile:
                await rest(client, reconcile, KEY)
        except KilledError:
            async with life(client, build, now=second) as reconcile:
                await rest(client, reconcile, KEY)
        return await pictured(ground), client.writes


@pytest.mark.parametrize("is_carried_out", [False, True])
@pytest.mark.parametrize("dies_at", [-1, 0, 1, 2, 3, 4])
async def test_killed_at_any_write_it_ends_the_same(ground: Ground, dies_at: int, is_carried_out: bool) -> None:
    """Status, deletion of history, deletion of the replaced, the new Job, status: one new Job, named in the status."""
    end, writes = await live(ground, dies_at, is_carried_out=is_carried_out)

    assert writes >= 5
    (name,) = end["jobs"]
    assert end["active"] == [name]
    assert end["success"] == "2026-01-01T00:00:00Z"
    minutes = int(unix_seconds(end["last"])) // 60
    assert name == f"nightly-{minutes}"
