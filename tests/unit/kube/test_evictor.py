"""Evictions respect budgets, hit the pod that was meant, and say why."""

import asyncio
from typing import Any, Literal, cast

import pytest

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.api.resources import PODS
from pyroclast.kube.writes.evictor import EvictionOutcome, Evictor
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Eviction
from tests.unit.kube.world import BusyClient, World


async def evict(
    world: World, name: str, uid: str, *, way: Literal["api", "delete"] = "api", is_leader: bool = True
) -> EvictionOutcome:
    """Evict a pod."""
    return await evictor(world, way=way, is_leader=is_leader).evict(eviction(name, uid))


def evictor(world: World, *, way: Literal["api", "delete"] = "api", is_leader: bool = True) -> Evictor:
    """An evictor."""
    return Evictor(
        world.client,
        Discovery(world.client),
        scheduler_name="volcano",
        eviction=way,
        clock=world.clock,
        is_leader=lambda: is_leader,
    )


def eviction(name: str, uid: str) -> Eviction:
    """A pod to be evicted."""
    return Eviction(
        task=TaskId(uid),
        job=JobId("default/j"),
        namespace="default",
        name=name,
        node=NodeName("n1"),
        reason="preempt",
        message="room for default/urgent",
    )


async def running_pod(world: World, name: str = "a") -> str:
    """A pod on a node, ready, with a grace period: it lingers when it is deleted."""
    uid = await world.pod(name, nodeName="n1")
    await world.patch(
        f"/api/v1/namespaces/default/pods/{name}/status",
        {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
    )
    return uid


async def budget(world: World, *apps: str) -> None:
    """A budget that keeps one of these apps."""
    await world.post(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "keep"},
            "spec": {
                "minAvailable": 1,
                "selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": apps}]},
            },
        },
    )


def conditions(pod: Any) -> dict[str, tuple[str, str]]:
    """Conditions by type."""
    return {
        condition["type"]: (condition["status"], condition.get("reason", ""))
        for condition in pod["status"].get("conditions", ())
    }


@pytest.mark.parametrize("way", ["api", "delete"])
async def test_a_victim_is_marked_and_leaves(world: World, way: Literal["api", "delete"]) -> None:
    """Conditions say why; the pod is being deleted, with its own grace period."""
    uid = await running_pod(world)

    outcome = await evict(world, "a", uid, way=way)

    pod = await world.get_pod("a")
    assert outcome.is_leaving
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert conditions(pod)["Ready"] == ("False", "Evict")
    assert conditions(pod)["DisruptionTarget"] == ("True", "PreemptionByScheduler")


async def test_a_budget_that_forbids_is_a_result(world: World) -> None:
    """The pod stays without a mark; no request waits."""
    uid = await running_pod(world)
    await budget(world, "a")

    outcome = await evict(world, "a", uid)

    pod = await world.get_pod("a")
    assert (outcome.is_leaving, outcome.reason) == (False, "DisruptionBudget")
    assert "deletionTimestamp" not in pod["metadata"]
    assert conditions(pod)["Ready"] == ("True", "")
    assert world.clock.slept == []


@pytest.mark.parametrize("way", ["api", "delete"])
async def test_a_dry_run_changes_nothing(world: World, way: Literal["api", "delete"]) -> None:
    """The server says that the pod could go; it stays, unmarked."""
    uid = await running_pod(world)
    before = await world.get_pod("a")

    outcome = await evictor(world, way=way).rehearse(eviction("a", uid))

    assert outcome.is_leaving
    assert await world.get_pod("a") == before


async def test_a_dry_run_respects_budgets(world: World) -> None:
    """Pods that a budget protects now would be protected."""
    uid = await running_pod(world)
    await budget(world, "a")

    outcome = await evictor(world).rehearse(eviction("a", uid))

    assert (outcome.is_leaving, outcome.reason) == (False, "DisruptionBudget")


async def test_a_webhook_without_dry_run_counts_as_permission(world: World) -> None:
    """A webhook that knows no dry run speaks when the pod is evicted."""
    uid = await running_pod(world)
    message = 'admission webhook "guard" does not support dry run'
    world.faults.add(effect="error", subresource="eviction", code=400, message=message)

    assert (await evictor(world).rehearse(eviction("a", uid))).is_leaving


async def test_budgets_hold_for_many_at_once(world: World) -> None:
    """One of three pods must stay: marking the first does not free the others."""
    uids = {name: await running_pod(world, name) for name in ("a1", "a2", "a3")}
    await budget(world, "a1", "a2", "a3")

    outcomes = await asyncio.gather(*(evict(world, name, uid) for name, uid in uids.items()))

    assert sorted(outcome.is_leaving for outcome in outcomes) == [False, True, True]


async def test_a_delete_that_is_refused_takes_the_mark_back(world: World) -> None:
    """The pod stays, so it is no victim."""
    uid = await running_pod(world)
    world.faults.add(effect="error", verb="delete", code=403)

    outcome = await evict(world, "a", uid, way="delete")

    assert not outcome.is_leaving
    assert "DisruptionTarget" not in conditions(await world.get_pod("a"))


async def test_identical_conditions_do_not_spare_a_pod(world: World) -> None:
    """A victim marked before a crash is evicted all the same."""
    uid = await running_pod(world)
    world.faults.add(effect="error", verb="delete", code=403, count=1)
    world.faults.add(effect="error", subresource="status", code=403, skip=1, count=1)
    await evict(world, "a", uid, way="delete")
    assert conditions(await world.get_pod("a"))["DisruptionTarget"] == ("True", "PreemptionByScheduler")

    outcome = await evict(world, "a", uid, way="delete")

    assert outcome.is_leaving
    assert "deletionTimestamp" in (await world.get_pod("a"))["metadata"]


@pytest.mark.parametrize("way", ["api", "delete"])
async def test_a_successor_of_the_same_name_is_spared(world: World, way: Literal["api", "delete"]) -> None:
    """The UID is a precondition of every step, and the pod it was meant for is gone."""
    old = await world.pod("a")
    await world.delete_pod("a")
    await running_pod(world)

    outcome = await evict(world, "a", old, way=way)

    pod = await world.get_pod("a")
    assert (outcome.is_leaving, outcome.reason) == (True, "Gone")
    assert "deletionTimestamp" not in pod["metadata"]
    assert conditions(pod)["Ready"] == ("True", "")


@pytest.mark.parametrize("way", ["api", "delete"])
async def test_a_pod_that_is_gone_has_left(world: World, way: Literal["api", "delete"]) -> None:
    """There is nothing to evict, which is the goal."""
    uid = await world.pod("a")
    await world.delete_pod("a")

    outcome = await evict(world, "a", uid, way=way)

    assert (outcome.is_leaving, outcome.reason) == (True, "Gone")


async def test_temporary_refusals_are_retried(world: World) -> None:
    """Too many requests is no budget."""
    uid = await running_pod(world)
    world.faults.add(effect="error", subresource="eviction", code=429, retry_after=2, count=1)
    world.faults.add(effect="error", subresource="status", code=503, count=1)

    outcome = await evict(world, "a", uid)

    assert outcome.is_leaving
    assert max(world.clock.slept) == 2


async def test_a_server_without_evictions_gets_a_delete(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Discovery tells that there is no eviction subresource."""
    uid = await running_pod(world)

    async def has(*_: object) -> bool:
        return False

    monkeypatch.setattr(Discovery, "has", has)
    world.faults.add(effect="error", subresource="eviction", code=404)

    outcome = await evict(world, "a", uid)

    assert outcome.is_leaving
    assert "deletionTimestamp" in (await world.get_pod("a"))["metadata"]


async def test_many_evictions_wait_their_turn() -> None:
    """A request that waits for a connection loses the time it has: of a plan with thousands, most would fail."""
    busy = BusyClient()
    made = Evictor(cast("Client", busy), cast("Discovery", None), eviction="delete", concurrency=3)

    outcomes = await asyncio.gather(*(made.evict(eviction(f"p{number}", f"u{number}")) for number in range(50)))

    assert all(outcome.is_leaving for outcome in outcomes)
    assert (busy.most, busy.answered) == (3, 100)


async def test_nothing_happens_without_leadership(world: World) -> None:
    """The fence is asked first."""
    uid = await running_pod(world)

    outcome = await evict(world, "a", uid, is_leader=False)

    assert (outcome.is_leaving, outcome.reason) == (False, "NotLeader")
    assert "deletionTimestamp" not in (await world.get_pod("a"))["metadata"]


async def test_discovery_finds_subresources(world: World) -> None:
    """Kinds that a server lacks are distinguished from those it has."""
    discovery = Discovery(world.client)

    assert await discovery.has(PODS, "eviction")
    assert not await discovery.has(PODS, "nonsense")


async def test_an_eviction_that_breaks_is_an_outcome(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever went wrong; those beside it have their own outcomes."""
    uid = await running_pod(world)
    made = evictor(world)

    async def broken(*_: Any, **__: Any) -> bytes:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(world.client, "request", broken)
    outcome = await made.evict(eviction("a", uid))

    assert (outcome.is_leaving, outcome.reason, outcome.message) == (False, "Failed", "RuntimeError: no such thing")
