"""Binds happen once, whatever becomes of their answers; preparations come first and are reverted when in vain."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from pyroclast.kube.api import resources
from pyroclast.kube.reflector import Reflector
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.kube.writes.binding import PlanOutcome
from pyroclast.model.errors import ConflictError
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Bind, Plan, Preparation
from pyroclast.model.wire import Pod
from tests.unit.kube.world import World


def plan_of(*binds: Bind) -> Plan:
    """Put binds into a plan."""
    return Plan(number=0, cycle=1, configuration=1, action="allocate", job=JobId("default/j"), queue=None, binds=binds)


def bind_of(name: str, uid: str, node: str = "n1", *steps: Preparation) -> Bind:
    """Send a pod to a node."""
    return Bind(
        task=TaskId(uid),
        job=JobId("default/j"),
        namespace="default",
        name=name,
        node=NodeName(node),
        annotations={"example.com/device": "7"},
        preparations=steps,
    )


@pytest.fixture
def binder(world: World) -> ApiBinder:
    """The binder under test."""
    return ApiBinder(world.client, clock=world.clock)


async def bind(binder: ApiBinder, *binds: Bind) -> PlanOutcome:
    """Carry out a plan, in bounded time."""
    return await asyncio.wait_for(binder.bind(plan_of(*binds)), 30)


async def test_all_pods_of_a_plan_are_bound_with_their_annotations(world: World, binder: ApiBinder) -> None:
    """The binding carries node, UID and annotations."""
    uids = {name: await world.pod(name) for name in ("a", "b", "c")}

    outcome = await bind(binder, *(bind_of(name, uid) for name, uid in uids.items()))

    assert outcome.is_complete
    assert [result.bind.name for result in outcome.binds] == ["a", "b", "c"]
    pod = await world.get_pod("b")
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["metadata"]["annotations"]["example.com/device"] == "7"


async def test_an_answer_that_was_lost_is_recognised(world: World, binder: ApiBinder) -> None:
    """The bind happened, the answer did not come: the pod is bound, and nothing is sent again."""
    uid = await world.pod("a")
    world.faults.add(effect="lost", subresource="binding", count=1)

    outcome = await bind(binder, bind_of("a", uid))

    assert outcome.is_complete
    assert (await world.get_pod("a"))["spec"]["nodeName"] == "n1"
    assert world.clock.slept == []


async def test_a_request_that_never_arrived_is_sent_again(world: World, binder: ApiBinder) -> None:
    """The connection was cut before anything happened."""
    uid = await world.pod("a")
    world.faults.add(effect="cut", subresource="binding", count=2)

    outcome = await bind(binder, bind_of("a", uid))

    assert outcome.is_complete


@pytest.mark.parametrize("code", [429, 500, 503, 504])
async def test_temporary_refusals_are_retried(world: World, binder: ApiBinder, code: int) -> None:
    """Too many requests and trouble inside the server pass; Retry-After is respected."""
    uid = await world.pod("a")
    world.faults.add(effect="error", subresource="binding", code=code, retry_after=3, count=2)

    outcome = await bind(binder, bind_of("a", uid))

    assert outcome.is_complete
    assert [wait for wait in world.clock.slept if wait >= 3] == [3, 3]


async def test_patience_ends(world: World, binder: ApiBinder) -> None:
    """A server that refuses for longer than the patience fails the bind, with its word."""
    uid = await world.pod("a")
    world.faults.add(effect="error", subresource="binding", code=503)

    outcome = await bind(binder, bind_of("a", uid))

    assert [result.reason for result in outcome.failed] == ["ServiceUnavailable"]
    assert 50 < sum(world.clock.slept) < 61


async def test_a_server_away_for_half_a_minute_loses_no_bind(world: World, binder: ApiBinder) -> None:
    """Connections are cut for thirty seconds, then all is as it should be."""
    uids = {name: await world.pod(name) for name in ("a", "b")}
    cut = world.faults.add(effect="cut", subresource="binding")
    world.faults.add(effect="cut", resource="pods", verb="get")
    task = world.start(binder.bind(plan_of(*(bind_of(name, uid) for name, uid in uids.items()))))
    while world.clock.now < 1030:  # noqa: ASYNC110  the fake clock has no event
        await asyncio.sleep(0)
    assert cut.count
    world.faults.clear()

    outcome = await asyncio.wait_for(task, 30)

    assert outcome.is_complete


async def test_a_pod_already_on_the_node_is_a_success(world: World, binder: ApiBinder) -> None:
    """Binding twice to the same node is harmless."""
    uid = await world.pod("a")
    assert (await bind(binder, bind_of("a", uid))).is_complete

    assert (await bind(binder, bind_of("a", uid))).is_complete


async def test_a_pod_on_another_node_stays_there(world: World, binder: ApiBinder) -> None:
    """The second bind fails, and names the node."""
    uid = await world.pod("a")
    assert (await bind(binder, bind_of("a", uid, "n1"))).is_complete

    outcome = await bind(binder, bind_of("a", uid, "n2"))

    assert [(result.reason, result.message) for result in outcome.failed] == [("BoundElsewhere", "it runs on n1")]
    assert (await world.get_pod("a"))["spec"]["nodeName"] == "n1"


async def test_a_successor_of_the_same_name_is_not_bound(world: World, binder: ApiBinder) -> None:
    """The UID is part of the question."""
    old = await world.pod("a")
    await world.delete_pod("a")
    await world.pod("a")

    outcome = await bind(binder, bind_of("a", old))

    assert [result.reason for result in outcome.failed] == ["Gone"]
    assert "nodeName" not in (await world.get_pod("a"))["spec"]


async def test_a_deleted_pod_is_gone(world: World, binder: ApiBinder) -> None:
    """Other binds of the plan are not affected: each has its own result."""
    gone, there = await world.pod("a"), await world.pod("b")
    await world.delete_pod("a")

    outcome = await bind(binder, bind_of("a", gone), bind_of("b", there))

    assert [(result.is_bound, result.reason) for result in outcome.binds] == [(False, "Gone"), (True, "")]


async def test_nothing_is_sent_without_leadership(world: World) -> None:
    """The fence is asked before the batch."""
    uid = await world.pod("a")

    outcome = await bind(ApiBinder(world.client, is_leader=lambda: False, clock=world.clock), bind_of("a", uid))

    assert [result.reason for result in outcome.failed] == ["NotLeader"]
    assert "nodeName" not in (await world.get_pod("a"))["spec"]


async def test_leadership_lost_between_attempts_ends_them(world: World) -> None:
    """The fence is asked before each attempt too."""
    uid = await world.pod("a")
    world.faults.add(effect="error", subresource="binding", code=503, count=1)
    binder = ApiBinder(world.client, is_leader=lambda: world.faults.used == 0, clock=world.clock)

    outcome = await bind(binder, bind_of("a", uid))

    assert [result.reason for result in outcome.failed] == ["NotLeader"]


@dataclass
class Preparer:
    """Records calls; refuses as configured."""

    world: World
    refuses: frozenset[str] = frozenset()
    log: list[str] = field(default_factory=list)

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Note it, and that its pod is not bound yet."""
        assert "nodeName" not in (await self.world.get_pod(bind.name))["spec"]
        if preparation.name in self.refuses:
            raise ConflictError("taken")
        self.log.append(f"prepare {preparation.name}")

    async def revert(self, bind: Bind, preparation: Preparation) -> None:  # noqa: ARG002  the shape of a preparer
        """Note it."""
        self.log.append(f"revert {preparation.name}")


def step(name: str) -> Preparation:
    """One preparation."""
    return Preparation(kind="reserve", namespace="default", name=name)


async def test_preparations_come_before_the_first_bind(world: World) -> None:
    """Both pods' preparations are done while neither is bound, in order."""
    first, second = await world.pod("a"), await world.pod("b")
    preparer = Preparer(world)
    binder = ApiBinder(world.client, preparers={"reserve": preparer}, clock=world.clock)

    outcome = await bind(binder, bind_of("a", first, "n1", step("a1"), step("a2")), bind_of("b", second))

    assert outcome.is_complete
    assert preparer.log == ["prepare a1", "prepare a2"]


async def test_a_failed_preparation_reverts_the_plan(world: World) -> None:
    """What was done is undone in reverse, and nothing is bound."""
    first, second = await world.pod("a"), await world.pod("b")
    preparer = Preparer(world, refuses=frozenset({"a3"}))
    binder = ApiBinder(world.client, preparers={"reserve": preparer}, clock=world.clock)

    outcome = await bind(
        binder, bind_of("a", first, "n1", step("a1"), step("a2"), step("a3"), step("a4")), bind_of("b", second)
    )

    assert {result.reason for result in outcome.binds} == {"PreparationFailed"}
    assert "reserve default/a3: taken" in outcome.binds[1].message
    assert preparer.log == ["prepare a1", "prepare a2", "revert a3", "revert a2", "revert a1"]
    assert "nodeName" not in (await world.get_pod("b"))["spec"]


async def test_a_failed_bind_reverts_its_own_preparations(world: World) -> None:
    """Those of pods that were bound stay."""
    gone, there = await world.pod("a"), await world.pod("b")
    preparer = Preparer(world)
    binder = ApiBinder(world.client, preparers={"reserve": preparer}, clock=world.clock)
    world.faults.add(effect="error", subresource="binding", name="a", code=403)

    outcome = await bind(binder, bind_of("a", gone, "n1", step("a1")), bind_of("b", there, "n1", step("b1")))

    assert [result.is_bound for result in outcome.binds] == [False, True]
    assert [line for line in preparer.log if line.startswith("revert")] == ["revert a1"]


async def test_a_bug_of_a_preparer_fails_its_plan_alone(world: World) -> None:
    """Preparers come from outside: any exception of theirs is a failed preparation."""

    class Buggy(Preparer):
        async def prepare(self, bind: Bind, preparation: Preparation) -> None:  # noqa: ARG002  the shape of a preparer
            raise KeyError(preparation.name)

        async def revert(self, bind: Bind, preparation: Preparation) -> None:  # noqa: ARG002  see above
            raise KeyError(bind.name)

    uid = await world.pod("a")
    binder = ApiBinder(world.client, preparers={"reserve": Buggy(world)}, clock=world.clock)

    outcome = await bind(binder, bind_of("a", uid, "n1", step("a1")))

    assert [result.reason for result in outcome.binds] == ["PreparationFailed"]


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_the_server_does_each_pod_is_bound_once(world: World, seed: int) -> None:
    """Lost answers, cut connections, refusals and cut watches: all pods get their node, and the watch shows it."""
    uids = {f"p{number}": await world.pod(f"p{number}") for number in range(30)}
    nodes: dict[str, set[str]] = {}

    class Seen:
        def added(self, new: Pod) -> None:
            nodes.setdefault(new.metadata.name, set()).add(new.spec.node_name)

        def updated(self, old: Pod, new: Pod) -> None:
            nodes[old.metadata.name].add(new.spec.node_name)

        def deleted(self, old: Pod) -> None:
            nodes[old.metadata.name].add("deleted")

    pods = Reflector(world.client, resources.PODS, [Seen()], clock=world.clock, chance=random.Random(seed))
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    world.faults.command({"seed": seed})
    for fault in (
        {"effect": "lost", "subresource": "binding"},
        {"effect": "cut", "subresource": "binding"},
        {"effect": "error", "subresource": "binding", "code": 503},
        {"effect": "error", "subresource": "binding", "code": 429, "retry_after": 1},
        {"effect": "error", "resource": "pods", "verb": "get", "code": 500},
        {"effect": "half", "resource": "pods", "verb": "watch"},
    ):
        world.faults.add(chance=0.15, **fault)

    outcome = await bind(
        ApiBinder(world.client, clock=world.clock, patience_seconds=600, chance=random.Random(seed)),
        *(bind_of(name, uid, f"node-{name}") for name, uid in uids.items()),
    )
    assert world.faults.used
    world.faults.clear()

    assert outcome.is_complete
    await world.soon(lambda: all(nodes[name] == {"", f"node-{name}"} for name in uids))


async def test_a_preparation_of_unknown_kind_fails_the_plan(world: World, binder: ApiBinder) -> None:
    """It is said which kind no preparer for."""
    uid = await world.pod("a")

    outcome = await bind(binder, bind_of("a", uid, "n1", step("a1")))

    assert outcome.binds[0].message == "no preparer for reserve"
