"""A plan's victims leave all together, or nobody does."""

from typing import Any

import pytest

from pyroclast.cache.state import ClusterState
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.plan import Eviction, Nomination, Plan
from pyroclast.model.tasks import TaskStatus
from tests.unit.cache.conftest import Following

JOB = JobId("default/g")
URGENT = "urgent"


async def running(following: Following, *names: str) -> dict[str, str]:
    """Start the cache on a node with ready pods of a gang, and a pod that waits; return UIDs by name."""
    await following.node()
    await following.world.pod_group("g", minMember=len(names), queue="default")
    uids = {name: await following.member(name) for name in (*names, URGENT)}
    for name in names:
        path = f"/api/v1/namespaces/default/pods/{name}"
        binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}}
        await following.world.post(f"{path}/binding", binding)
        await following.world.patch(path, {"metadata": {"labels": {"app": name}}})
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await following.world.patch(f"{path}/status", {"status": ready})
    assert await following.cache.take_over()
    assert await following.cache.start(patience_seconds=10)
    return uids


async def budget(following: Following, name: str, stay: int, *apps: str) -> None:
    """Add a budget, and wait until the cache knows what it lets go."""
    await following.world.post(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {
                "minAvailable": stay,
                "selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": apps}]},
            },
        },
    )
    allowed = len(apps) - stay

    def is_known() -> bool:
        budgets = following.cache.state.stored("PodDisruptionBudget").values()
        counted = [each.status for each in budgets if each.metadata.name == name and each.status.observed_generation]
        return [each.disruptions_allowed for each in counted] == [allowed]

    await following.world.soon(is_known)


def plan_for(uids: dict[str, str], *victims: str, beneficiary: bool = True) -> Plan:
    """A plan that evicts some pods, for the one that waits or for nobody."""
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


async def carried_out(following: Following, plan: Plan) -> None:
    """Assume a plan, and carry it out."""
    assert following.cache.assume(plan)
    await following.cache.execute_plan(plan)
    await following.writers.statuses.drain()


async def leaving(following: Following, *names: str) -> list[str]:
    """Which pods are being deleted."""
    pods = {name: await following.world.get_pod(name) for name in names}
    return [name for name, pod in pods.items() if "deletionTimestamp" in pod["metadata"]]


def are_back(state: ClusterState, uids: dict[str, str], *names: str) -> bool:
    """Whether the books show pods as they run."""
    tasks: list[Any] = [state.task(TaskId(uids[name])) for name in names]
    return not state.assumed() and all(task.status is TaskStatus.RUNNING for task in tasks)


async def test_all_leave_where_all_can(following: Following) -> None:
    """Budgets that let them go stand in nobody's way; who waits is nominated."""
    uids = await running(following, "a", "b")
    await budget(following, "loose", 0, "a", "b")

    await carried_out(following, plan_for(uids, "a", "b"))

    assert await leaving(following, "a", "b") == ["a", "b"]
    assert (await following.world.get_pod(URGENT))["status"]["nominatedNodeName"] == "n1"


async def test_nobody_leaves_where_a_budget_keeps_one(following: Following) -> None:
    """The plan is dropped whole: books, nomination; the beneficiary hears why, and the kept pod is no victim now."""
    uids = await running(following, "a", "b")
    await budget(following, "strict", 1, "b")

    await carried_out(following, plan_for(uids, "a", "b"))

    assert await leaving(following, "a", "b") == []
    assert are_back(following.cache.state, uids, "a", "b")
    assert "nominatedNodeName" not in (await following.world.get_pod(URGENT))["status"]
    (event,) = await following.events("FailedScheduling")
    assert event["involvedObject"]["name"] == URGENT
    assert event["message"].startswith("default/b stays on node n1: the disruption budget strict lets 0 of")
    kept = {name: following.cache.state.task(TaskId(uids[name])) for name in ("a", "b")}
    assert [name for name, task in kept.items() if task is not None and not task.preemptable] == ["b"]


async def test_victims_of_one_budget_are_counted_together(following: Following) -> None:
    """It lets each of two go, but not both."""
    uids = await running(following, "a", "b")
    await budget(following, "one", 1, "a", "b")

    await carried_out(following, plan_for(uids, "a", "b"))

    assert await leaving(following, "a", "b") == []


async def test_a_pod_of_two_budgets_stays(following: Following) -> None:
    """The server evicts no such pod, whatever the budgets allow."""
    uids = await running(following, "a", "b")
    await budget(following, "one", 0, "a")
    await budget(following, "two", 0, "a", "b")

    await carried_out(following, plan_for(uids, "a", "b"))

    assert await leaving(following, "a", "b") == []
    (event,) = await following.events("FailedScheduling")
    assert "several disruption budgets cover it (one, two)" in event["message"]


@pytest.mark.parametrize("code", [403, 422])
async def test_nobody_leaves_where_the_server_refuses_one(following: Following, code: int) -> None:
    """A webhook, or a right that is missing: heard by a dry run."""
    uids = await running(following, "a", "b")
    following.world.faults.add(effect="error", subresource="eviction", code=code, skip=1, count=1)

    await carried_out(following, plan_for(uids, "a", "b"))

    assert await leaving(following, "a", "b") == []
    assert are_back(following.cache.state, uids, "a", "b")


async def test_who_is_gone_already_is_no_objection(following: Following) -> None:
    """The others leave."""
    uids = await running(following, "a", "b")
    made = plan_for(uids, "a", "b")
    assert following.cache.assume(made)
    await following.world.delete_pod("b")

    await following.cache.execute_plan(made)

    assert await leaving(following, "a") == ["a"]


async def test_for_nobody_each_leaves_for_itself(following: Following) -> None:
    """What shuffle names need not go together."""
    uids = await running(following, "a", "b")
    await budget(following, "strict", 1, "b")

    await carried_out(following, plan_for(uids, "a", "b", beneficiary=False))

    assert await leaving(following, "a", "b") == ["a"]


async def test_a_single_victim_is_asked_once(following: Following) -> None:
    """It goes or stays; a rehearsal would tell nothing more."""
    uids = await running(following, "a")
    following.world.faults.add(effect="error", subresource="eviction", code=403, skip=1)

    await carried_out(following, plan_for(uids, "a"))

    assert await leaving(following, "a") == ["a"]
