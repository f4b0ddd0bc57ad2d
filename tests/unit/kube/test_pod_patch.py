"""Labels and annotations of pods are written before the bind in one patch, and put back if it fails."""

import asyncio
from typing import Any

import pytest

from pyroclast.kube.api.client import MediaType
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.kube.writes.binding import BindOutcome
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Plan, Preparation
from tests.unit.kube.world import World

BEFORE = {"labels:pool": "old"}
"""What the pod had when it was decided."""


def bind_of(name: str, uid: str, *earlier: Preparation) -> Bind:
    """A bind that labels its pod."""
    patch = Preparation(kind="patch-pod", namespace="default", name=name, details=BEFORE)
    return Bind(
        task=TaskId(uid),
        job=None,
        namespace="default",
        name=name,
        node=NodeName("n1"),
        annotations={"note": "n"},
        labels={"pool": "new", "more": "m"},
        preparations=(*earlier, patch),
    )


async def created(world: World, name: str = "a") -> str:
    """Create a pod with a label, and return its UID."""
    uid = await world.pod(name)
    await patched(world, name, {"labels": {"app": None, "pool": "old", "own": "o"}})
    return uid


async def patched(world: World, name: str, metadata: dict[str, Any]) -> None:
    """Patch a pod, as another client does."""
    await world.client.request_json(
        "PATCH",
        f"/api/v1/namespaces/default/pods/{name}",
        body={"metadata": metadata},
        media_type=MediaType.MERGE_PATCH,
    )


async def bound(world: World, *binds: Bind) -> tuple[BindOutcome, ...]:
    """Carry out a plan, in bounded time."""
    plan = Plan(number=0, cycle=1, configuration=0, action="allocate", job=None, queue=None, binds=binds)
    outcome = await asyncio.wait_for(ApiBinder(world.client, clock=world.clock).bind(plan), 30)
    return outcome.binds


async def metadata_of(world: World, name: str = "a") -> tuple[dict[str, str], dict[str, str], str]:
    """Read labels, annotations and node of a pod."""
    pod = await world.get_pod(name)
    metadata = pod["metadata"]
    return metadata.get("labels", {}), metadata.get("annotations", {}), pod["spec"].get("nodeName", "")


async def test_a_pod_is_labelled_and_bound(world: World) -> None:
    """Labels that it has besides stay."""
    (outcome,) = await bound(world, bind_of("a", await created(world)))

    assert outcome.is_bound
    assert await metadata_of(world) == ({"pool": "new", "more": "m", "own": "o"}, {"note": "n"}, "n1")


async def test_labels_and_annotations_are_one_patch(world: World) -> None:
    """The binding carries no annotations then."""
    uid = await created(world)
    version = (await world.get_pod("a"))["metadata"]["resourceVersion"]
    await bound(world, bind_of("a", uid))

    assert int((await world.get_pod("a"))["metadata"]["resourceVersion"]) == int(version) + 2


async def test_a_bind_that_fails_puts_back_what_the_pod_had(world: World) -> None:
    """Both labels and annotations."""
    uid = await created(world)
    world.faults.add(effect="error", subresource="binding", code=403)
    (outcome,) = await bound(world, bind_of("a", uid))

    assert not outcome.is_bound
    assert await metadata_of(world) == ({"pool": "old", "own": "o"}, {}, "")


async def test_a_plan_that_fails_puts_back_the_patches_of_its_other_pods(world: World) -> None:
    """A preparation of one pod failed after the other was labelled."""
    first, second = await created(world, "a"), await created(world, "b")
    unknown = Preparation(kind="bind-volume", namespace="default", name="missing", details={"claim-uid": "u"})
    outcomes = await bound(world, bind_of("a", first), bind_of("b", second, unknown))

    assert {each.reason for each in outcomes} == {"PreparationFailed"}
    assert (await metadata_of(world, "a"))[0] == {"pool": "old", "own": "o"}
    assert (await metadata_of(world, "b"))[0] == {"pool": "old", "own": "o"}


async def test_what_another_client_wrote_since_stays(world: World) -> None:
    """Only values of the patch are put back."""
    uid = await created(world)
    bind = bind_of("a", uid)
    patcher = ApiBinder(world.client, clock=world.clock).preparers["patch-pod"]
    await patcher.prepare(bind, bind.preparations[-1])
    await patched(world, "a", {"labels": {"pool": "newer"}})
    await patcher.revert(bind, bind.preparations[-1])

    assert await metadata_of(world) == ({"pool": "newer", "own": "o"}, {}, "")


async def test_a_later_pod_of_the_same_name_with_the_same_labels_is_left_alone(world: World) -> None:
    """The pod was replaced after the patch, by one that has the values of the patch of its own."""
    bind = bind_of("a", await created(world))
    patcher = ApiBinder(world.client, clock=world.clock).preparers["patch-pod"]
    await patcher.prepare(bind, bind.preparations[-1])
    await world.client.request_json("DELETE", "/api/v1/namespaces/default/pods/a")
    await created(world)
    await patched(world, "a", {"labels": {"pool": "new"}})
    await patcher.revert(bind, bind.preparations[-1])

    assert (await metadata_of(world))[0] == {"pool": "new", "own": "o"}


@pytest.mark.parametrize("effect", ["lost", "cut"])
async def test_a_patch_without_an_answer_is_sent_again(world: World, effect: str) -> None:
    """It has the same result."""
    uid = await created(world)
    world.faults.add(effect=effect, verb="patch", count=1)
    (outcome,) = await bound(world, bind_of("a", uid))

    assert outcome.is_bound
    assert (await metadata_of(world))[0]["pool"] == "new"


async def test_another_pod_of_the_same_name_is_left_alone(world: World) -> None:
    """Neither labelled nor put back."""
    await created(world)
    (outcome,) = await bound(world, bind_of("a", "another"))

    assert (outcome.reason, outcome.message) == (
        "PreparationFailed",
        "patch-pod default/a: another pod of the same name took its place",
    )
    assert await metadata_of(world) == ({"pool": "old", "own": "o"}, {}, "")


async def test_a_pod_that_is_gone_needs_no_revert(world: World) -> None:
    """The failure is that of the patch."""
    (outcome,) = await bound(world, bind_of("a", "uid"))

    assert outcome.reason == "PreparationFailed"


async def test_a_patch_that_is_refused_fails_the_plan(world: World) -> None:
    """Without the right, for example; nothing is bound."""
    uid = await created(world)
    world.faults.add(effect="error", verb="patch", code=403)
    (outcome,) = await bound(world, bind_of("a", uid))

    assert outcome.reason == "PreparationFailed"
    assert "patch-pod default/a" in outcome.message
    assert await metadata_of(world) == ({"pool": "old", "own": "o"}, {}, "")
