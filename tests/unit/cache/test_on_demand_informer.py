"""Objects are followed as long as somebody wants them: a ConfigMap by its name, or all NodeMetrics."""

import asyncio

import pytest

from pyroclast.cache.sync.on_demand_informer import EVERY, OnDemandInformer, Wanted
from pyroclast.kube.resources import CONFIG_MAPS, NODE_METRICS
from tests.nodemetrics import node_metric
from tests.unit.cache.conftest import Following

WANTED = Wanted("default", "devices")
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def watch(following: Following) -> OnDemandInformer:
    """A watch at work, told to follow nothing."""
    made = OnDemandInformer(following.cache.state, following.world.client, CONFIG_MAPS)
    following.world.start(made.run())
    return made


async def write(following: Following, name: str, text: str) -> None:
    """Create a ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"t": text}}
    await following.world.post(MAPS, body)


def texts(following: Following) -> dict[str, str]:
    """What the books hold, by name."""
    return {key: each.data["t"] for key, each in following.cache.state.snapshot().objects.config_maps.items()}


async def test_the_named_one_is_in_the_books_and_stays_as_the_server_has_it(
    following: Following, watch: OnDemandInformer
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


async def test_another_one_takes_its_place(following: Following, watch: OnDemandInformer) -> None:
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


async def test_one_that_is_not_there_is_no_reason_to_wait(following: Following, watch: OnDemandInformer) -> None:
    """Its list is empty, which is an answer."""
    watch.follow(WANTED)

    assert await watch.wait(10)
    assert texts(following) == {}


async def test_a_server_that_does_not_answer_is_waited_for_in_vain(following: Following) -> None:
    """Nobody follows here: the patience ends, which is told."""
    idle = OnDemandInformer(following.cache.state, following.world.client, CONFIG_MAPS)
    idle.follow(WANTED)

    assert not await idle.wait(0.01)
    await asyncio.sleep(0)


METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"


async def define_node_metrics(following: Following) -> None:
    """Serve the kind that Koordinator brings."""
    await following.world.define("nodemetrics", "NodeMetric", group="slo.koordinator.sh", version="v1alpha1")


def measured(following: Following) -> set[str]:
    """Nodes of which the books know what they use."""
    return {str(name) for name in following.cache.state.snapshot().loads}


async def test_all_objects_of_a_kind_are_followed_while_they_are_wanted(following: Following) -> None:
    """Nobody asks for them before; one that does not fit its kind is told, and afterwards none is left."""
    await define_node_metrics(following)
    watch = following.cache.watch_of(NODE_METRICS)
    following.world.start(watch.run())
    assert await watch.wait(10)
    for name in ("n1", "n2"):
        await following.world.post(METRICS, dict(node_metric(name, {"cpu": "1"}, at=1_800_000_000)))
    broken = {**node_metric("n3", {"cpu": "1"}, at=1_800_000_000), "status": {"podsMetric": "none"}}
    await following.world.post(METRICS, broken)
    assert measured(following) == set()

    watch.follow(EVERY)
    assert await watch.wait(10)
    assert measured(following) == {"n1", "n2"}
    assert [(fault.kind, fault.name, fault.path) for fault in following.faults] == [
        ("NodeMetric", "n3", "status.podsMetric")
    ]
    watch.follow(None)
    assert await watch.wait(10)
    await following.world.soon(lambda: measured(following) == set())


async def test_a_server_without_the_kind_has_none_of_it(following: Following) -> None:
    """There is nothing to wait for."""
    watch = following.cache.watch_of(NODE_METRICS)
    following.world.start(watch.run())
    watch.follow(EVERY)

    assert await watch.wait(10)
    assert measured(following) == set()
