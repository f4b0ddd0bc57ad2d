"""A reflector with a limit leaves objects out, and takes them up when others are deleted."""

import asyncio
from typing import Any

import pytest

from pyroclast.kube.api import resources
from pyroclast.kube.reflector import ObjectLimit, Reflector
from tests.unit.kube.world import World


def limited(world: World, size: Any = lambda _: 1, **limit: int) -> Reflector[Any]:
    """Return a reflector of pods that has started."""
    reflector = Reflector(
        world.client,
        resources.PODS,
        [world.recorder],
        clock=world.clock,
        page_size=2,
        limit=ObjectLimit(**{"objects": 3, "bytes": 1000, **limit}, size=size),
    )
    world.start(reflector.run())
    return reflector


@pytest.mark.parametrize("limit", [{"objects": 3}, {"objects": 100, "bytes": 3}])
async def test_a_list_is_read_up_to_the_limit(world: World, limit: dict[str, int]) -> None:
    """The limit is a number of objects, or of bytes."""
    for name in "abcdefg":
        await world.pod(name)
    pods = limited(world, **limit)
    await asyncio.wait_for(pods.synced.wait(), 30)

    assert sorted(pods.objects) == ["default/a", "default/b", "default/c"]
    assert pods.is_full


async def test_a_new_object_beyond_the_limit_is_left_out_until_one_is_deleted(world: World) -> None:
    """Known objects still follow their changes."""
    for name in "abc":
        await world.pod(name)
    pods = limited(world)
    await asyncio.wait_for(pods.synced.wait(), 30)
    assert not pods.is_full
    await world.pod("d")
    await world.soon(lambda: pods.is_full)
    await world.label_pod("a", turn="1")
    await world.soon(lambda: ("updated", "a") in world.log)
    assert ("added", "d") not in world.log

    await world.delete_pod("b")

    await world.soon(lambda: ("added", "d") in world.log)
    assert sorted(pods.objects) == ["default/a", "default/c", "default/d"]
    await world.soon(lambda: not pods.is_full)


async def test_an_object_that_grows_beyond_the_limit_is_left_out(world: World) -> None:
    """With its last known state, as after a restart."""
    for name in "ab":
        await world.pod(name)
    pods = limited(world, size=lambda pod: int(pod.metadata.labels.get("turn", "1")), bytes=5)
    await asyncio.wait_for(pods.synced.wait(), 30)

    await world.label_pod("a", turn="4")
    await world.soon(lambda: ("updated", "a") in world.log)
    await world.label_pod("b", turn="2")
    await world.soon(lambda: ("deleted", "b") in world.log)
    await world.label_pod("a", turn="1")
    await world.label_pod("b", turn="3")

    await world.soon(lambda: sorted(pods.objects) == ["default/a", "default/b"])
