"""Objects are followed as long as somebody wants them, here a ConfigMap by its name."""

import asyncio

import pytest

from cache.wanted import Wanted, WantedWatch
from kube.resources import CONFIG_MAPS
from tests.unit.cache.conftest import Following

WANTED = Wanted("default", "devices")
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def watch(following: Following) -> WantedWatch:
    """A watch at work, told to follow nothing."""
    made = WantedWatch(following.cache.books, following.world.client, CONFIG_MAPS)
    following.world.start(made.run())
    return made


async def write(following: Following, name: str, text: str) -> None:
    """Create a ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"t": text}}
    await following.world.post(MAPS, body)


def texts(following: Following) -> dict[str, str]:
    """What the books hold, by name."""
    return {key: each.data["t"] for key, each in following.cache.books.snapshot().objects.config_maps.items()}


async def test_the_named_one_is_in_the_books_and_stays_as_the_server_has_it(
    following: Following, watch: WantedWatch
) -> None:
    """Another one of the namespace is not; changes come without a restart, and so does its end."""
    await write(following, "devices", "one")
    await write(following, "other", "x")
    watch.follow(WANTED)

    assert await watch.wait(10)
    assert texts(following) == {"default/devices": "one"}
    await following.world.patch(f"{MAPS}/devices", {"data": {"t": "two"}})
    await following.world.soon(lambda: texts(following) == {"default/devices": "two"})
    await following.world.client.request("DELETE", f"{MAPS}/devices")
    await following.world.soon(lambda: texts(following) == {})


async def test_another_one_takes_its_place(following: Following, watch: WantedWatch) -> None:
    """And none at all leaves nothing in the books."""
    await write(following, "devices", "one")
    await write(following, "other", "x")
    watch.follow(WANTED)
    assert await watch.wait(10)

    watch.follow(Wanted("default", "other"))
    assert await watch.wait(10)
    await following.world.soon(lambda: texts(following) == {"default/other": "x"})
    watch.follow(None)
    assert await watch.wait(10)
    await following.world.soon(lambda: texts(following) == {})


async def test_one_that_is_not_there_is_no_reason_to_wait(following: Following, watch: WantedWatch) -> None:
    """Its list is empty, which is an answer."""
    watch.follow(WANTED)

    assert await watch.wait(10)
    assert texts(following) == {}


async def test_a_server_that_does_not_answer_is_waited_for_in_vain(following: Following) -> None:
    """Nobody follows here: the patience ends, which is told."""
    idle = WantedWatch(following.cache.books, following.world.client, CONFIG_MAPS)
    idle.follow(WANTED)

    assert not await idle.wait(0.01)
    await asyncio.sleep(0)
