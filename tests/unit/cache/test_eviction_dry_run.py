"""Eviction dry run: all victims of a plan are evicted, or none is."""

from typing import Any

import pytest
from msgspec.structs import replace

from pyroclast.cache.state import ClusterState
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.plan import Eviction, Nomination, Plan
from pyroclast.model.tasks import TaskStatus
from tests.unit.cache.conftest import WatchedCluster

JOB = JobId("default/g")
URGENT = "urgent"


async def running(watched: WatchedCluster, *names: str) -> dict[str, str]:
    """Start the cache on a node with ready pods of a gang, and a waiting pod; return UIDs by name."""
    await watched.node()
    await watched.world.pod_group("g", minMember=len(names), queue="default")
    uids = {name: await watched.member(name) for name in (*names, URGENT)}
    for name in names:
        path = f"/api/v1/namespaces/default/pods/{name}"
        binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}}
        await watched.world.post(f"{path}/binding", binding)
        await watched.world.patch(path, {"metadata": {"labels": {"app": name}}})
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await watched.world.patch(f"{path}/status", {"status": ready})
    assert await watched.cache.take_over()
    assert await watched.cache.start(patience_seconds=10)
    return uids


async def budget(watched: WatchedCluster, name: str, min_available: int, *apps: str) -> None:
    """Create a budget, and wait until the cache knows its allowed disruptions."""
    await watched.world.post(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {
                "minAvailable": min_available,
                "selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": apps}]},
            },
        },
    )
    allowed = len(apps) - min_available

    def is_known() -> bool:
        budgets = watched.cache.state.stored("PodDisruptionBudget").values()
        counted = [each.status for each in budgets if each.metadata.name == name and each.status.observed_generation]
        return [each.disruptions_allowed for each in counted] == [allowed]

    await watched.world.soon(is_known)


def plan_for(uids: dict[str, str], *victims: str, beneficiary: bool = True) -> Plan:
    """A plan that evicts pods, with or without the waiting pod as the beneficiary."""
    waits = Nomination(task=TaskId(uids[URGENT]), job=JOB, namespace="default", name=URGENT, node=NodeName("n1"))
    return Plan(
        number=0,
        cycle=1,
        configuration=1,
        action="preempt",
        job=JOB,
        queue=QueueName("default"),
        binds=(),
        evictions=tuple(
            Eviction(
                task=TaskId(uids[name]),
                job=JOB,
                namespace="default",
                name=name,
                node=NodeName("n1"),
                reason="preempt",
                message="why",
            )
            for name in victims
        ),
        nominations=(waits,) if beneficiary else (),
    )


async def execute(watched: WatchedCluster, plan: Plan) -> None:
    """Assume and execute a plan."""
    assert watched.cache.assume(plan)
    await watched.cache.execute_plan(plan)
    await watched.writers.statuses.drain()


async def terminating(watched: WatchedCluster, *names: str) -> list[str]:
    """Return the pods that are being deleted."""
    pods = {name: await watched.world.get_pod(name) for name in names}
    return [name for name, pod in pods.items() if "deletionTimestamp" in pod["metadata"]]


def are_running(state: ClusterState, uids: dict[str, str], *names: str) -> bool:
    """Return whether pods are running in the cluster state, without an assumption."""
    tasks: list[Any] = [state.task(TaskId(uids[name])) for name in names]
    return not state.assumed() and all(task.status is TaskStatus.RUNNING for task in tasks)


async def test_all_victims_are_evicted_if_all_can_be(watched: WatchedCluster) -> None:
    """The budgets allow all evictions, and the waiting pod is nominated."""
    uids = await running(watched, "a", "b")
    await budget(watched, "loose", 0, "a", "b")

    await execute(watched, plan_for(uids, "a", "b"))

    assert await terminating(watched, "a", "b") == ["a", "b"]
    assert (await watched.world.get_pod(URGENT))["status"]["nominatedNodeName"] == "n1"


async def test_no_victim_is_evicted_if_a_budget_protects_one(watched: WatchedCluster) -> None:
    """The plan is dropped with its assumptions and its nomination. The beneficiary has an event with the reason."""
    uids = await running(watched, "a", "b")
    await budget(watched, "strict", 1, "b")

    await execute(watched, plan_for(uids, "a", "b"))

    assert await terminating(watched, "a", "b") == []
    assert are_running(watched.cache.state, uids, "a", "b")
    assert "nominatedNodeName" not in (await watched.world.get_pod(URGENT))["status"]
    (event,) = await watched.events("FailedScheduling")
    assert event["involvedObject"]["name"] == URGENT
    assert event["message"].startswith(
        "default/b is not evicted from node n1: the disruption budget strict allows 0 evictions"
    )
    tasks = {name: watched.cache.state.task(TaskId(uids[name])) for name in ("a", "b")}
    assert [name for name, task in tasks.items() if task is not None and not task.preemptable] == ["b"]


async def test_victims_of_one_budget_are_counted_together(watched: WatchedCluster) -> None:
    """The budget allows each of two evictions, but not both."""
    uids = await running(watched, "a", "b")
    await budget(watched, "one", 1, "a", "b")

    await execute(watched, plan_for(uids, "a", "b"))

    assert await terminating(watched, "a", "b") == []


async def test_a_pod_of_two_budgets_is_not_evicted(watched: WatchedCluster) -> None:
    """The API server refuses the eviction regardless of the allowed disruptions."""
    uids = await running(watched, "a", "b")
    await budget(watched, "one", 0, "a")
    await budget(watched, "two", 0, "a", "b")

    await execute(watched, plan_for(uids, "a", "b"))

    assert await terminating(watched, "a", "b") == []
    (event,) = await watched.events("FailedScheduling")
    assert "several disruption budgets select the pod (one, two)" in event["message"]


@pytest.mark.parametrize("code", [403, 422])
async def test_no_victim_is_evicted_if_the_server_refuses_one(watched: WatchedCluster, code: int) -> None:
    """A dry run shows the refusal of a webhook, or a missing right."""
    uids = await running(watched, "a", "b")
    watched.world.faults.add(effect="error", subresource="eviction", code=code, skip=1, count=1)

    await execute(watched, plan_for(uids, "a", "b"))

    assert await terminating(watched, "a", "b") == []
    assert are_running(watched.cache.state, uids, "a", "b")


async def test_a_victim_that_is_gone_does_not_block_the_others(watched: WatchedCluster) -> None:
    """The other victims are evicted."""
    uids = await running(watched, "a", "b")
    made = plan_for(uids, "a", "b")
    assert watched.cache.assume(made)
    await watched.world.delete_pod("b")

    await watched.cache.execute_plan(made)

    assert await terminating(watched, "a") == ["a"]


async def test_evictions_without_a_beneficiary_are_independent(watched: WatchedCluster) -> None:
    """The evictions of shuffle do not depend on each other."""
    uids = await running(watched, "a", "b")
    await budget(watched, "strict", 1, "b")

    await execute(watched, plan_for(uids, "a", "b", beneficiary=False))

    assert await terminating(watched, "a", "b") == ["a"]


async def test_a_gang_without_a_beneficiary_is_evicted_whole_or_not_at_all(watched: WatchedCluster) -> None:
    """The budget of one pod protects both."""
    uids = await running(watched, "a", "b")
    await budget(watched, "strict", 1, "b")

    await execute(watched, replace(plan_for(uids, "a", "b", beneficiary=False), together=True))

    assert await terminating(watched, "a", "b") == []


async def test_a_single_victim_has_no_dry_run(watched: WatchedCluster) -> None:
    """A dry run would have the same result as the eviction."""
    uids = await running(watched, "a")
    watched.world.faults.add(effect="error", subresource="eviction", code=403, skip=1)

    await execute(watched, plan_for(uids, "a"))

    assert await terminating(watched, "a") == ["a"]
