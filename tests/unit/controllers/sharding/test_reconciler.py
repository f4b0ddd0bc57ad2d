"""NodeShards on a server follow the settings, the nodes and their pods."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest

from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.sharding.metrics import SHARD_NODES
from pyroclast.controllers.sharding.reconciler import MANAGED_BY, Sharding
from pyroclast.kube.api.resources import NODE_SHARDS
from tests.unit.controllers.ground import Ground
from tests.unit.controllers.killing import KilledError, MortalClient, life, rest

KEY = ("", "sharding")
MAPS = "/api/v1/namespaces/volcano-system/configmaps"
TWO = """
schedulerConfigs:
- name: idle
  policies: [{name: allocation-rate, arguments: {maxCPUUtil: 0.5}}]
- name: busy
  policies: [{name: allocation-rate, arguments: {minCPUUtil: 0.51}}]
"""
SWAPPED = TWO.replace("idle", "x").replace("busy", "idle").replace("name: x", "name: busy")


def sharding(operator: Operator) -> Sharding:
    """Plug the controller in."""
    return Sharding(operator, ControllerOptions())


async def configure(ground: Ground, text: str = TWO) -> None:
    """Write the settings."""
    await ground.post("/api/v1/namespaces", {"metadata": {"name": "volcano-system"}})
    metadata = {"name": "volcano-sharding-configmap"}
    await ground.post(MAPS, {"metadata": metadata, "data": {"sharding.yaml": text}})


async def make_node(ground: Ground, name: str, used: str = "0", **more: Any) -> None:
    """Create a node of four CPUs with a pod that requests some."""
    await ground.post("/api/v1/nodes", {"metadata": {"name": name}, "status": {"capacity": {"cpu": "4"}}})
    await make_pod(ground, f"on-{name}", name, used, **more)


async def make_pod(ground: Ground, name: str, node: str, cpu: str, **metadata: Any) -> None:
    """Create a pod on a node."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    body = {"metadata": {"name": name, **metadata}, "spec": {"nodeName": node, "containers": [container]}}
    await ground.post("/api/v1/namespaces/default/pods", body)


@asynccontextmanager
async def alive(ground: Ground, *, dies_at: int = -1, is_carried_out: bool = False) -> AsyncIterator[Any]:
    """One process, which dies at a write, from 0; yields its reconcile function."""
    async with MortalClient(ground.client.cluster, component="tests") as client:
        client.dies_at, client.is_carried_out = dies_at, is_carried_out
        async with life(client, sharding, now=0) as reconcile:
            yield partial(rest, client, reconcile, KEY)


async def shards(ground: Ground) -> dict[str, list[str]]:
    """Return the nodes of each NodeShard."""
    listed = await ground.get(NODE_SHARDS.collection())
    return {item["metadata"]["name"]: item["spec"]["nodesDesired"] for item in listed["items"]}


async def test_shards_follow_nodes_and_their_pods(ground: Ground) -> None:
    """Static pods do not count. A new node is in a shard at once."""
    await configure(ground)
    await make_node(ground, "a", "1")
    await make_node(ground, "b", "3")
    await make_node(ground, "c", "3", annotations={"kubernetes.io/config.mirror": "x"})
    operator = ground.operator()
    sharding(operator)

    async def are(expected: dict[str, list[str]]) -> bool:
        return await shards(ground) == expected

    async with ground.working(operator):
        await ground.soon(lambda: are({"idle": ["a", "c"], "busy": ["b"]}))
        await make_node(ground, "d", "4")
        await ground.soon(lambda: are({"idle": ["a", "c"], "busy": ["b", "d"]}))
        await ground.delete("/api/v1/nodes/a")
        await ground.soon(lambda: are({"idle": ["c"], "busy": ["b", "d"]}))
    assert SHARD_NODES.labels("busy")._value.get() == 2


async def test_flags_count_without_a_config_map(ground: Ground) -> None:
    """Volcano's defaults: lightly used nodes are of volcano, the fullest ones of agent-scheduler."""
    await make_node(ground, "a", "1")
    await make_node(ground, "b", "4")
    async with alive(ground) as reconcile:
        await reconcile()

        assert await shards(ground) == {"volcano": ["a"], "agent-scheduler": ["b"]}


async def test_faulty_settings_change_nothing_and_are_reported_once(ground: Ground) -> None:
    """An event on the ConfigMap names the fault. Without earlier settings nothing is written."""
    await configure(ground, "schedulerConfigs: [{name: a, policies: [{name: load}]}]")
    await make_node(ground, "n")
    operator = ground.operator()
    controller = sharding(operator)
    async with ground.working(operator):
        for _ in range(2):
            await controller.reconcile(KEY)
        await operator.events.drain()
        events = (await ground.get("/api/v1/events"))["items"]

    assert await shards(ground) == {}
    assert [event["reason"] for event in events] == ["InvalidSharding"]
    assert "policies[0].name: got 'load'" in (events[0].get("message") or events[0].get("note"))


async def test_own_shards_are_deleted_with_their_settings_and_others_stay(ground: Ground) -> None:
    """A NodeShard of a user is kept unless the settings name it; then it is taken over."""
    await configure(ground)
    for name in ("mine", "idle"):
        body = {"metadata": {"name": name}, "spec": {"nodesDesired": ["x"]}}
        await ground.post(
            NODE_SHARDS.collection(), {"apiVersion": NODE_SHARDS.api_version, "kind": "NodeShard", **body}
        )
    await make_node(ground, "a", "1")
    async with alive(ground) as reconcile:
        await reconcile()
        assert await shards(ground) == {"mine": ["x"], "idle": ["a"], "busy": []}
        idle = await ground.get(NODE_SHARDS.path("", "idle"))
        assert MANAGED_BY in idle["metadata"]["labels"].items()

    await ground.patch(
        f"{MAPS}/volcano-sharding-configmap", {"data": {"sharding.yaml": "schedulerConfigs: [{name: idle}]"}}
    )
    async with alive(ground) as reconcile:
        await reconcile()

    assert await shards(ground) == {"mine": ["x"], "idle": ["a"]}


@pytest.mark.parametrize("is_carried_out", [False, True])
async def test_a_kill_at_any_write_leaves_each_node_in_one_shard_at_most(ground: Ground, is_carried_out: bool) -> None:
    """All nodes change their shard. The next process finishes the work."""
    await configure(ground)
    for number in range(3):
        await make_node(ground, f"i{number}", "1")
        await make_node(ground, f"b{number}", "4")
    async with alive(ground) as reconcile:
        await reconcile()
    before = await shards(ground)
    for turn in range(2):
        text = (SWAPPED, TWO)[turn]
        await ground.patch(f"{MAPS}/volcano-sharding-configmap", {"data": {"sharding.yaml": text}})
        for dies_at in range(6):
            async with alive(ground, dies_at=dies_at, is_carried_out=is_carried_out) as reconcile:
                with suppress(KilledError):
                    await reconcile()
            found = await shards(ground)
            everywhere = [node for nodes in found.values() for node in nodes]
            assert len(everywhere) == len(set(everywhere)), (turn, dies_at)
        expected = {"busy": before["idle"], "idle": before["busy"]} if turn == 0 else before
        async with alive(ground) as reconcile:
            await reconcile()
        assert await shards(ground) == expected
