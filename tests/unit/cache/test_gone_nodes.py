"""The Numatopology of a deleted node is deleted, unless it has changed since."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.execution.gone_nodes import delete_topology
from pyroclast.cache.options import StateOptions
from pyroclast.kube.api.errors import ApiError
from pyroclast.model import wire
from tests.numatopologies import numatopology
from tests.unit.cache.conftest import WatchedCluster

PATH = "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies"


@pytest.fixture
async def described(watched: WatchedCluster) -> WatchedCluster:
    """Two nodes with a Numatopology each."""
    await watched.world.define("numatopologies", "Numatopology", group="nodeinfo.volcano.sh", version="v1alpha1")
    for name in ("n1", "n2"):
        await watched.node(name)
        await watched.world.post(PATH, dict(numatopology(name)))
    return watched


async def topologies(watched: WatchedCluster) -> list[str]:
    """Return the names of the Numatopologies of the server."""
    listed = await watched.world.client.request_json("GET", PATH)
    return [item["metadata"]["name"] for item in listed["items"]]


async def delete_node(watched: WatchedCluster, name: str) -> None:
    """Delete a node."""
    await watched.world.client.request_json("DELETE", f"/api/v1/nodes/{name}")


async def test_a_numatopology_is_deleted_after_its_node(described: WatchedCluster) -> None:
    """The Numatopology of the other node stays."""
    assert await described.cache.start(patience_seconds=10)
    await delete_node(described, "n1")
    await described.seen("Numatopology", 1)

    assert await topologies(described) == ["n2"]


async def test_a_follower_deletes_no_numatopology(described: WatchedCluster) -> None:
    """Only the leader deletes it."""
    cache = SchedulerCache(
        described.world.client, described.writers, StateOptions(), audit_seconds=0, may_write=lambda: False
    )
    assert await cache.start(patience_seconds=10)
    await delete_node(described, "n1")
    await described.world.soon(lambda: len(cache.state.stored("Node")) == 1)
    await described.node("n3")
    await described.world.soon(lambda: len(cache.state.stored("Node")) == 2)
    await cache.stop()

    assert await topologies(described) == ["n1", "n2"]


async def test_a_numatopology_that_has_changed_is_not_deleted(described: WatchedCluster) -> None:
    """A node with the same name exists again, and its exporter has written the object."""
    found: dict[str, Any] = await described.world.client.request_json("GET", f"{PATH}/n1")
    old = wire.ObjectMeta(name="n1", uid=found["metadata"]["uid"], resource_version="1")

    await delete_topology(described.world.client, old)

    assert await topologies(described) == ["n1", "n2"]


async def test_a_numatopology_that_is_gone_is_no_error(described: WatchedCluster) -> None:
    """Another scheduler deleted it."""
    with capture_logs() as logs:
        await delete_topology(described.world.client, wire.ObjectMeta(name="n9", uid="u", resource_version="1"))

    assert await topologies(described) == ["n1", "n2"]
    assert logs == []


class Refusing:
    """A client whose server refuses all requests."""

    async def request_json(self, *_: object, **__: object) -> None:
        """Refuse the request."""
        raise ApiError(403, "Forbidden", "not yours")


async def test_a_refused_deletion_is_logged() -> None:
    """The work continues."""
    client: Any = Refusing()
    with capture_logs() as logs:
        await delete_topology(client, wire.ObjectMeta(name="n1", uid="u", resource_version="1"))

    assert [(each["event"], each["node"], each["error"]) for each in logs] == [
        ("numatopology_not_deleted", "n1", "403 Forbidden: not yours")
    ]
