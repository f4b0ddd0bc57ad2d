"""The Numatopology of a node that is deleted goes with it, unless it was written anew."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.execution.gone_nodes import delete_topology
from pyroclast.cache.options import StateOptions
from pyroclast.kube.errors import ApiError
from pyroclast.model import wire
from tests.numatopologies import numatopology
from tests.unit.cache.conftest import Following

PATH = "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies"


@pytest.fixture
async def described(following: Following) -> Following:
    """Two nodes with what describes them, followed by a cache."""
    await following.world.define("numatopologies", "Numatopology", group="nodeinfo.volcano.sh", version="v1alpha1")
    for name in ("n1", "n2"):
        await following.node(name)
        await following.world.post(PATH, dict(numatopology(name)))
    return following


async def topologies(following: Following) -> list[str]:
    """Names of what is left on the server."""
    listed = await following.world.client.request_json("GET", PATH)
    return [item["metadata"]["name"] for item in listed["items"]]


async def delete_node(following: Following, name: str) -> None:
    """Delete a node."""
    await following.world.client.request_json("DELETE", f"/api/v1/nodes/{name}")


async def test_it_goes_with_its_node(described: Following) -> None:
    """The one of the node that stays, stays."""
    assert await described.cache.start(patience_seconds=10)
    await delete_node(described, "n1")
    await described.seen("Numatopology", 1)

    assert await topologies(described) == ["n2"]


async def test_who_does_not_lead_deletes_nothing(described: Following) -> None:
    """The leader does."""
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


async def test_one_that_was_written_since_stays(described: Following) -> None:
    """A node of the name is back, and its exporter was faster."""
    found: dict[str, Any] = await described.world.client.request_json("GET", f"{PATH}/n1")
    old = wire.ObjectMeta(name="n1", uid=found["metadata"]["uid"], resource_version="1")

    await delete_topology(described.world.client, old)

    assert await topologies(described) == ["n1", "n2"]


async def test_one_that_is_gone_already_is_no_trouble(described: Following) -> None:
    """Another scheduler deleted it."""
    with capture_logs() as logs:
        await delete_topology(described.world.client, wire.ObjectMeta(name="n9", uid="u", resource_version="1"))

    assert await topologies(described) == ["n1", "n2"]
    assert logs == []


class Refusing:
    """A client whose server refuses everything."""

    async def request_json(self, *_: object, **__: object) -> None:
        """Refuse."""
        raise ApiError(403, "Forbidden", "not yours")


async def test_a_refusal_is_logged() -> None:
    """And ends nothing."""
    client: Any = Refusing()
    with capture_logs() as logs:
        await delete_topology(client, wire.ObjectMeta(name="n1", uid="u", resource_version="1"))

    assert [(each["event"], each["node"], each["error"]) for each in logs] == [
        ("numatopology_stays", "n1", "403 Forbidden: not yours")
    ]
