"""Flows on a server: what is written, and that it does not matter where the controller is killed."""

from typing import Any

import pytest

from pyroclast.controllers.jobflows.reconciler import JobFlows
from pyroclast.controllers.jobflows.templates import JobTemplates
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import JOB_FLOWS, JOB_TEMPLATES, JOBS
from pyroclast.model.wire.times import unix_seconds
from tests.unit.controllers.ground import Ground
from tests.unit.controllers.killing import KilledError, MortalClient, life, rest

KEY = ("default", "etl")
NOW = unix_seconds("2026-07-09T12:00:00Z")
SPEC = {"tasks": [{"name": "t", "replicas": 1, "template": {"spec": {"containers": []}}}]}


def built(operator: Operator) -> JobFlows:
    """Plug the controller in."""
    return JobFlows(operator, ControllerOptions())


async def make_template(ground: Ground, name: str) -> None:
    """Create a template."""
    await ground.writer.create(JOB_TEMPLATES, {"metadata": {"name": name, "namespace": "default"}, "spec": SPEC})


async def make_flow(ground: Ground, policy: str = "retain") -> None:
    """Create a flow of two, one after the other."""
    flows = [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]
    spec = {"flows": flows, "jobRetainPolicy": policy}
    await ground.writer.create(JOB_FLOWS, {"metadata": {"name": "etl", "namespace": "default"}, "spec": spec})


async def become(ground: Ground, name: str, phase: str) -> None:
    """Write a Job's phase, as its controller would."""
    counts = {"t": {"phase": {phase: 1}}}
    status = {"state": {"phase": phase}, "taskStatusCount": None}
    await ground.patch(f"{JOBS.path('default', name)}/status", {"status": status})
    await ground.patch(f"{JOBS.path('default', name)}/status", {"status": {"taskStatusCount": counts}})


async def state(ground: Ground) -> dict[str, Any]:
    """Return the flow's status."""
    found: dict[str, Any] = (await ground.get(JOB_FLOWS.path(*KEY))).get("status", {})
    return found


async def jobs(ground: Ground) -> list[str]:
    """Return the names of the Jobs."""
    return await ground.names(JOBS.collection("default"))


async def test_a_flow_from_begin_to_end(ground: Ground) -> None:
    """Each Job when the one before has completed; a template that comes late is waited for; then all is deleted."""
    operator = ground.operator()
    JobFlows(operator, ControllerOptions())
    JobTemplates(operator, ControllerOptions())

    async def lists(jobs_of_a: list[str]) -> bool:
        template = await ground.get(JOB_TEMPLATES.path("default", "a"))
        return bool(template.get("status", {}).get("jobDependsOnList", []) == jobs_of_a)

    async with ground.working(operator):
        await make_flow(ground, "delete")
        await make_template(ground, "b")
        await make_template(ground, "a")

        async def made(*names: str) -> bool:
            return await jobs(ground) == list(names)

        async def phase(name: str) -> bool:
            return bool((await state(ground)).get("state", {}).get("phase") == name)

        await ground.soon(lambda: made("etl-a"))
        await ground.soon(lambda: lists(["etl-a"]))
        await become(ground, "etl-a", "Running")
        await ground.soon(lambda: phase("Running"))
        await become(ground, "etl-a", "Completed")
        await ground.soon(lambda: made("etl-a", "etl-b"))
        await become(ground, "etl-b", "Completed")
        await ground.soon(lambda: phase("Succeed"))
        await ground.soon(made)
        await ground.soon(lambda: lists([]))


async def test_conditions_follow_the_jobs(ground: Ground) -> None:
    """What a Job no longer counts is not left over in the flow's status."""
    await make_template(ground, "a")
    await make_template(ground, "b")
    await make_flow(ground)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, built, now=NOW) as reconcile:
        await rest(client, reconcile, KEY)
        await become(ground, "etl-a", "Running")
        await ground.soon(lambda: _until(reconcile, ground, "Running"))
        await become(ground, "etl-a", "Completed")
        await ground.soon(lambda: _until(reconcile, ground, "Completed"))

    conditions = (await state(ground))["conditions"]
    assert conditions["etl-a"]["taskStatusCount"] == {"t": {"phase": {"Completed": 1}}}


async def test_a_job_that_is_refused_keeps_no_other_back(ground: Ground) -> None:
    """It is reported and tried again; the others are created, and the flow's status has them."""
    for name in "ab":
        await make_template(ground, name)
    body = {"metadata": {"name": "etl", "namespace": "default"}, "spec": {"flows": [{"name": "a"}, {"name": "b"}]}}
    await ground.writer.create(JOB_FLOWS, body)
    ground.emulator.faults.add(effect="error", resource="jobs", verb="create", code=403, count=1)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, built, now=NOW) as reconcile:
        with pytest.raises(ApiError):
            await reconcile(KEY)
        assert await jobs(ground) == ["etl-b"]
        assert (await state(ground))["state"]["phase"] == "Pending"
        await rest(client, reconcile, KEY)

    assert await jobs(ground) == ["etl-a", "etl-b"]


async def test_a_job_that_cannot_be_deleted_keeps_no_other_there(ground: Ground) -> None:
    """It is tried again; the others of a flow that succeeded go."""
    for name in "ab":
        await make_template(ground, name)
    await make_flow(ground, "delete")
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, built, now=NOW) as reconcile:
        for name in ("etl-a", "etl-b"):
            await rest(client, reconcile, KEY)
            await become(ground, name, "Completed")
        ground.emulator.faults.add(effect="error", resource="jobs", verb="delete", code=403, count=1)
        with pytest.raises(ApiError):
            await rest(client, reconcile, KEY)
        assert await jobs(ground) == ["etl-a"]
        await rest(client, reconcile, KEY)

    assert await jobs(ground) == []


async def test_a_refused_job_has_a_message(ground: Ground) -> None:
    """Reported by an event on the flow, with the server's words."""
    await make_template(ground, "a")
    await make_flow(ground)
    ground.emulator.faults.add(effect="error", resource="jobs", verb="create", code=403, count=1)
    operator = ground.operator()
    built(operator)

    async def is_told() -> bool:
        events = (await ground.get("/api/v1/namespaces/default/events"))["items"]
        told = [event for event in events if event["message"].startswith("job etl-a could not be made: ")]
        return [(event["type"], event["reason"], event["involvedObject"]["kind"]) for event in told] == [
            ("Warning", "SyncJobFlow", "JobFlow")
        ]

    async with ground.working(operator):
        await ground.soon(is_told)


async def _until(reconcile: Any, ground: Ground, phase: str) -> bool:
    """Reconcile; return whether the flow has a phase."""
    await reconcile(KEY)
    condition = (await state(ground)).get("conditions", {}).get("etl-a", {})
    return phase in condition.get("taskStatusCount", {}).get("t", {}).get("phase", {})


async def test_another_ones_job_is_left_alone(ground: Ground) -> None:
    """It counts for nothing in the flow."""
    await ground.writer.create(JOBS, {"metadata": {"name": "etl-a", "namespace": "default"}, "spec": SPEC})
    await become(ground, "etl-a", "Completed")
    await make_template(ground, "a")
    await make_flow(ground)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, built, now=NOW) as reconcile:
        await reconcile(KEY)

    assert (await state(ground))["state"]["phase"] == "Pending"
    assert await jobs(ground) == ["etl-a"]


@pytest.mark.parametrize("is_carried_out", [False, True])
@pytest.mark.parametrize("dies_at", [-1, 0, 1, 2, 3])
async def test_killed_at_any_write_it_ends_the_same(ground: Ground, dies_at: int, is_carried_out: bool) -> None:
    """A Job of each template, made once, also when the first is cleared away right after."""
    await make_template(ground, "a")
    await make_template(ground, "b")
    await make_flow(ground)
    async with MortalClient(ground.client.cluster, component="t") as client:
        client.dies_at, client.is_carried_out = dies_at, is_carried_out
        made = []
        for name in ("a", "b"):
            await _rest_through(client)
            made += await jobs(ground)
            await become(ground, f"etl-{name}", "Completed")
            await _rest_through(client)
            await ground.delete(JOBS.path("default", f"etl-{name}"))
        await _rest_through(client)

    end = await state(ground)
    assert made == ["etl-a", "etl-b"]
    assert end["state"]["phase"] == "Succeed"
    assert sorted(each["name"] for each in end["jobStatusList"]) == ["etl-a", "etl-b"]
    assert {each["state"] for each in end["jobStatusList"]} == {"Completed"}


async def _rest_through(client: MortalClient) -> None:
    """Reconcile until there is nothing to do, and once more after a death."""
    for _ in range(2):
        try:
            async with life(client, built, now=NOW) as reconcile:
                await rest(client, reconcile, KEY)
        except KilledError:
            continue
        return


async def test_the_jobs_of_a_wide_flow_are_created_in_portions(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two Jobs at a time, so that other flows have their turn between; in the end there are five."""
    monkeypatch.setattr("pyroclast.controllers.jobflows.reconciler._MOST_AT_A_TIME", 2)
    names = [f"f{number}" for number in range(5)]
    for name in names:
        await make_template(ground, name)
    spec = {"flows": [{"name": name} for name in names], "jobRetainPolicy": "retain"}
    await ground.writer.create(JOB_FLOWS, {"metadata": {"name": "etl", "namespace": "default"}, "spec": spec})
    client = MortalClient(ground.client.cluster, component="tests")
    async with client, life(client, built, now=NOW) as reconcile:
        assert await reconcile(KEY) is not None
        assert await jobs(ground) == ["etl-f0", "etl-f1"]

    operator = ground.operator()
    built(operator)
    async with ground.working(operator):

        async def are_there() -> bool:
            return len(await jobs(ground)) == 5

        await ground.soon(are_there)
