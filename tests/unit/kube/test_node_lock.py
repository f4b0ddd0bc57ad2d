"""Nodes are locked before pods with cards are bound to them, and set free where these are not."""

import pytest

from pyroclast.kube.api.clock import SystemClock
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.kube.writes.node_lock import NodeLocker
from pyroclast.model import wire
from pyroclast.model.errors import ConflictError
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Plan, Preparation
from tests.unit.kube.world import World

NODES = "/api/v1/nodes"
LOCK = Preparation(kind="lock-node", namespace="", name="n1", details={"annotation": "hamivgpu"})


class WallClock(SystemClock):
    """A clock whose moment is given."""

    now = 1_800_000_000.0

    def wall(self) -> float:
        """Return the moment."""
        return self.now


def bind(uid: str = "u", name: str = "p") -> Bind:
    """A bind that locks its node first."""
    return Bind(task=TaskId(uid), job=None, namespace="default", name=name, node=NodeName("n1"), preparations=(LOCK,))


async def node(world: World, **annotations: str) -> None:
    """Create a node."""
    await world.post(
        NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "annotations": annotations}}
    )


async def lock_of(world: World) -> str | None:
    """Read the lock of the node."""
    read = await world.client.request_json("GET", f"{NODES}/n1")
    text: str | None = read["metadata"].get("annotations", {}).get("hamivgpu")
    return text


async def test_a_free_node_is_locked_with_the_moment(world: World) -> None:
    """To the second, with a zone."""
    await node(world)
    await NodeLocker(world.client, clock=WallClock()).prepare(bind(), LOCK)

    assert await lock_of(world) == "2027-01-15T08:00:00Z"


@pytest.mark.parametrize(
    ("ago", "message"),
    [
        (-20 * 60, "node n1 has been locked within 5 minutes"),
        (0, "node n1 has been locked within 5 minutes"),
        (300, "node n1 has been locked within 5 minutes"),
        (301, None),
        (20 * 60, None),
    ],
)
async def test_a_lock_holds_for_five_minutes(world: World, ago: float, message: str | None) -> None:
    """One from twenty minutes ago is taken over, one from twenty minutes ahead is held."""
    clock = WallClock()
    text = wire.time_text(clock.wall() - ago)
    await node(world, hamivgpu=text)
    locker = NodeLocker(world.client, clock=clock)

    if message is None:
        await locker.prepare(bind(), LOCK)
        assert await lock_of(world) == wire.time_text(clock.wall())
    else:
        with pytest.raises(ConflictError, match=message):
            await locker.prepare(bind(), LOCK)
        assert await lock_of(world) == text


@pytest.mark.parametrize("text", ["soon", ""])
async def test_a_lock_that_is_not_a_time_is_held(world: World, text: str) -> None:
    """Its holder is unknown."""
    await node(world, hamivgpu=text)

    with pytest.raises(ConflictError, match=f"annotation hamivgpu: '{text}' is not a time"):
        await NodeLocker(world.client).prepare(bind(), LOCK)


async def test_the_next_pod_finds_the_lock_of_the_one_before(world: World) -> None:
    """Though the same process set it."""
    await node(world)
    locker = NodeLocker(world.client)
    await locker.prepare(bind("u"), LOCK)

    with pytest.raises(ConflictError, match="within 5 minutes"):
        await locker.prepare(bind("v", "q"), LOCK)


async def test_what_was_locked_in_vain_is_set_free(world: World) -> None:
    """But not a lock that another scheduler has set since."""
    clock = WallClock()
    await node(world)
    locker = NodeLocker(world.client, clock=clock)
    await locker.prepare(bind(), LOCK)
    await locker.revert(bind(), LOCK)
    assert await lock_of(world) is None

    await locker.prepare(bind(), LOCK)
    await world.patch(f"{NODES}/n1", {"metadata": {"annotations": {"hamivgpu": "2027-01-15T09:00:00Z"}}})
    await locker.revert(bind(), LOCK)
    await locker.revert(bind(), LOCK)
    assert await lock_of(world) == "2027-01-15T09:00:00Z"


async def test_a_write_whose_answer_is_lost_is_found_again(world: World) -> None:
    """The node has the lock of this very attempt."""
    await node(world)
    world.faults.add(effect="lost", verb="patch", resource="nodes", count=1)
    await NodeLocker(world.client, clock=WallClock()).prepare(bind(), LOCK)

    assert await lock_of(world) == "2027-01-15T08:00:00Z"


async def test_a_plan_that_fails_leaves_no_lock(world: World) -> None:
    """Its pod is not there to be bound."""
    await node(world)
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=None, queue=None, binds=(bind(),))
    outcome = await ApiBinder(world.client, patience_seconds=0.5).bind(plan)

    assert [each.reason for each in outcome.binds] == ["Gone"]
    assert await lock_of(world) is None


async def test_a_plan_that_comes_too_early_leaves_the_lock_of_the_one_before(world: World) -> None:
    """Its own failure gives back nothing: the device plugin has not served the first pod yet."""
    await node(world)
    uids = [await world.pod(name) for name in ("p", "q")]
    plans = [
        Plan(number=0, cycle=1, configuration=1, action="allocate", job=None, queue=None, binds=(bind(uid, name),))
        for uid, name in zip(uids, "pq", strict=True)
    ]
    binder = ApiBinder(world.client)
    first = await binder.bind(plans[0])
    lock = await lock_of(world)
    second = await binder.bind(plans[1])

    assert first.is_complete
    assert [each.reason for each in second.binds] == ["PreparationFailed"]
    assert lock is not None
    assert await lock_of(world) == lock


async def test_a_bound_pod_keeps_its_node_locked(world: World) -> None:
    """The device plugin sets it free when it has served the pod."""
    await node(world)
    uid = await world.pod("p")
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=None, queue=None, binds=(bind(uid),))
    outcome = await ApiBinder(world.client).bind(plan)

    assert outcome.is_complete
    assert await lock_of(world) is not None


NAMED = Preparation(kind="lock-node", namespace="", name="n1", details={"annotation": "hamivgpu", "names-pod": "true"})


async def test_a_lock_may_name_its_pod(world: World) -> None:
    """The pod is part of the value, and the lock is reverted like any other."""
    await node(world)
    locker = NodeLocker(world.client, clock=WallClock())
    await locker.prepare(bind(), NAMED)
    assert await lock_of(world) == "2027-01-15T08:00:00Z,default,p"

    await locker.revert(bind(), NAMED)
    assert await lock_of(world) is None


@pytest.mark.parametrize("preparation", [LOCK, NAMED])
async def test_a_lock_is_taken_over_if_its_pod_is_gone(world: World, preparation: Preparation) -> None:
    """A lock of a pod that exists is held for five minutes."""
    await node(world, hamivgpu="2027-01-15T07:59:59Z,default,other")
    locker = NodeLocker(world.client, clock=WallClock())
    await world.pod("other")
    with pytest.raises(ConflictError, match="node n1 has been locked within 5 minutes"):
        await locker.prepare(bind(), preparation)

    await world.client.request("DELETE", "/api/v1/namespaces/default/pods/other")
    await locker.prepare(bind(), preparation)
    assert (await lock_of(world) or "").startswith("2027-01-15T08:00:00Z")


async def test_a_pod_takes_over_its_own_lock(world: World) -> None:
    """A process that was killed before the bind leaves the lock behind."""
    await node(world, hamivgpu="2027-01-15T07:59:59Z,default,p")
    await world.pod("p")
    await NodeLocker(world.client, clock=WallClock()).prepare(bind(), NAMED)

    assert await lock_of(world) == "2027-01-15T08:00:00Z,default,p"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2027-01-15T07:59:59Z,default,../../nodes/n1", "node n1 has been locked within 5 minutes"),
        ("2027-01-15T07:59:59Z,,", "node n1 has been locked within 5 minutes"),
        ("2027-01-15T07:59:59Z,default", "is not a time"),
        ("2027-01-15T07:59:59Z,default,p,q", "is not a time"),
    ],
)
async def test_a_lock_of_an_impossible_pod_is_held(world: World, text: str, message: str) -> None:
    """A node can write anything into its annotations, and none of it is read as a path."""
    await node(world, hamivgpu=text)

    with pytest.raises(ConflictError, match=message):
        await NodeLocker(world.client, clock=WallClock()).prepare(bind(), LOCK)
