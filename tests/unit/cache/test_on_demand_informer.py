"""On-demand informer: watches one ConfigMap by name or all NodeMetrics while they are required."""

import asyncio

import pytest

from pyroclast.cache.sync.on_demand_informer import EVERY_OBJECT, OnDemandInformer, RequiredObjects
from pyroclast.kube.api.resources import CONFIG_MAPS, NODE_METRICS
from tests.nodemetrics import node_metric
from tests.unit.cache.conftest import WatchedCluster

REQUIRED = RequiredObjects("default", "devices")
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def informer(watched: WatchedCluster) -> OnDemandInformer:
    """A running informer without a required object."""
    made = OnDemandInformer(watched.cache.state, watched.world.client, CONFIG_MAPS)
    watched.world.start(made.run())
    return made


async def write(watched: WatchedCluster, name: str, text: str) -> None:
    """Create a ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"t": text}}
    await watched.world.post(MAPS, body)


def texts(watched: WatchedCluster) -> dict[str, str]:
    """Return the texts in the cluster state by name."""
    return {key: each.data["t"] for key, each in watched.cache.state.snapshot().objects.config_maps.items()}


async def test_a_required_object_is_in_the_state_and_follows_its_changes(
    watched: WatchedCluster, informer: OnDemandInformer
) -> None:
    """Another object of the namespace is not in the state. Changes and the deletion need no restart."""
    await write(watched, "devices", "one")
    await write(watched, "other", "x")
    informer.require(REQUIRED)

    assert await informer.wait(10)
    assert texts(watched) == {"default/devices": "one"}
    await watched.world.patch(f"{MAPS}/devices", {"data": {"t": "two"}})
    await watched.world.soon(lambda: texts(watched) == {"default/devices": "two"})
    await watched.world.client.request("DELETE", f"{MAPS}/devices")
    await watched.world.soon(lambda: texts(watched) == {})


async def test_another_required_object_replaces_the_first(watched: WatchedCluster, informer: OnDemandInformer) -> None:
    """If no object is required, the state has none."""
    await write(watched, "devices", "one")
    await write(watched, "other", "x")
    informer.require(REQUIRED)
    assert await informer.wait(10)

    informer.require(RequiredObjects("default", "other"))
    assert await informer.wait(10)
    await watched.world.soon(lambda: texts(watched) == {"default/other": "x"})
    informer.require(None)
    assert await informer.wait(10)
    await watched.world.soon(lambda: texts(watched) == {})


async def test_a_missing_object_does_not_delay_the_sync(watched: WatchedCluster, informer: OnDemandInformer) -> None:
    """Its list is empty, which completes the sync."""
    informer.require(REQUIRED)

    assert await informer.wait(10)
    assert texts(watched) == {}


async def test_the_wait_for_a_sync_has_a_timeout(watched: WatchedCluster) -> None:
    """The informer does not run in this test, and the result is False."""
    idle = OnDemandInformer(watched.cache.state, watched.world.client, CONFIG_MAPS)
    idle.require(REQUIRED)

    assert not await idle.wait(0.01)
    await asyncio.sleep(0)


METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"


async def define_node_metrics(watched: WatchedCluster) -> None:
    """Define the kind of Koordinator."""
    await watched.world.define("nodemetrics", "NodeMetric", group="slo.koordinator.sh", version="v1alpha1")


def measured(watched: WatchedCluster) -> set[str]:
    """Return the nodes with loads in the cluster state."""
    return {str(name) for name in watched.cache.state.snapshot().loads}


async def test_all_objects_of_a_kind_are_watched_while_they_are_required(watched: WatchedCluster) -> None:
    """Before, none is in the state. A broken object is reported. Afterwards, none stays."""
    await define_node_metrics(watched)
    informer = watched.cache.on_demand_informer(NODE_METRICS)
    watched.world.start(informer.run())
    assert await informer.wait(10)
    for name in ("n1", "n2"):
        await watched.world.post(METRICS, dict(node_metric(name, {"cpu": "1"}, at=1_800_000_000)))
    broken = {**node_metric("n3", {"cpu": "1"}, at=1_800_000_000), "status": {"podsMetric": "none"}}
    await watched.world.post(METRICS, broken)
    assert measured(watched) == set()

    informer.require(EVERY_OBJECT)
    assert await informer.wait(10)
    assert measured(watched) == {"n1", "n2"}
    assert [(fault.kind, fault.name, fault.path) for fault in watched.faults] == [
        ("NodeMetric", "n3", "status.podsMetric")
    ]
    informer.require(None)
    assert await informer.wait(10)
    await watched.world.soon(lambda: measured(watched) == set())


async def test_a_kind_that_the_server_does_not_know_counts_as_empty(watched: WatchedCluster) -> None:
    """The sync does not wait."""
    informer = watched.cache.on_demand_informer(NODE_METRICS)
    watched.world.start(informer.run())
    informer.require(EVERY_OBJECT)

    assert await informer.wait(10)
    assert measured(watched) == set()
