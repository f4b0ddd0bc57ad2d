"""HyperNodes on a server: counts follow nodes, and discovered HyperNodes follow labels."""

from typing import Any

import pytest

from pyroclast.controllers.hypernodes.reconciler import TopologyDiscovery, build
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import HYPER_NODES
from tests.unit.controllers.ground import Ground
from tests.unit.controllers.killing import KilledError, MortalClient, life, rest

KEY = ("", "label")
SETTINGS = """
networkTopologyDiscovery:
  - {source: label, enabled: true, config: {networkTopologyTypes: {rows: [
      {nodeLabel: row}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}}}
  - {source: ufm, enabled: true}
"""


def discovery(operator: Operator) -> TopologyDiscovery:
    """Plug discovery in alone."""
    return TopologyDiscovery(operator, ControllerOptions())


async def configure(ground: Ground, settings: str = SETTINGS) -> None:
    """Write the settings."""
    await ground.post("/api/v1/namespaces", {"metadata": {"name": "volcano-system"}})
    await ground.post(
        "/api/v1/namespaces/volcano-system/configmaps",
        {"metadata": {"name": "volcano-controller-configmap"}, "data": {"volcano-controller.conf": settings}},
    )


async def make_node(ground: Ground, name: str, **labels: str) -> None:
    """Create a node."""
    await ground.post("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})


async def domains(ground: Ground) -> dict[str, int]:
    """Return the discovered domains, by the values of their labels, and how many members each has."""
    listed = await ground.get(HYPER_NODES.collection())
    return {
        value: len(item["spec"]["members"])
        for item in listed["items"]
        for key, value in item["metadata"]["labels"].items()
        if key in {"rack", "row"}
    }


async def test_counts_follow_the_nodes(ground: Ground) -> None:
    """Members by pattern and by label; a node without the label counts no longer."""
    await make_node(ground, "n1", rack="a")
    members: list[dict[str, Any]] = [
        {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"rack": "a"}}}},
        {"type": "Node", "selector": {"regexMatch": {"pattern": "^x"}}},
    ]
    await ground.post(
        HYPER_NODES.collection(),
        {
            "apiVersion": HYPER_NODES.api_version,
            "kind": "HyperNode",
            "metadata": {"name": "h"},
            "spec": {"tier": 1, "members": members},
        },
    )
    operator = ground.operator()
    build(operator, ControllerOptions())

    async def counted(number: int) -> bool:
        status = (await ground.get(HYPER_NODES.path("", "h"))).get("status", {})
        return bool(status.get("nodeCount", 0) == number)

    async with ground.working(operator):
        await ground.soon(lambda: counted(1))
        await make_node(ground, "n2", rack="a")
        await make_node(ground, "x1")
        await ground.soon(lambda: counted(3))
        await ground.patch("/api/v1/nodes/n1", {"metadata": {"labels": {"rack": "b"}}})
        await ground.soon(lambda: counted(2))


async def test_an_invalid_pattern_is_reported_once(ground: Ground) -> None:
    """On the HyperNode, for its readers; it selects nothing."""
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}]
    await ground.writer.create(HYPER_NODES, {"metadata": {"name": "h"}, "spec": {"tier": 1, "members": members}})
    operator = ground.operator()
    build(operator, ControllerOptions())

    async def told() -> list[tuple[str, int]]:
        events = (await ground.get("/api/v1/namespaces/default/events"))["items"]
        return [(event["reason"], event["count"]) for event in events]

    async with ground.working(operator):
        await ground.soon(told)
        await make_node(ground, "n1")
        await operator.queues["hypernode"].idle()
        await operator.events.drain()

    assert await told() == [("Invalid", 1)]


async def test_domains_follow_the_labels(ground: Ground) -> None:
    """They come and go with their nodes; deleted ones are created again; those of others stay; faults are reported."""
    await configure(ground)
    await make_node(ground, "n1", rack="r1", row="a")
    await make_node(ground, "n2", rack="r2", row="a")
    operator = ground.operator()
    build(operator, ControllerOptions())

    async def are(**expected: int) -> bool:
        return await domains(ground) == expected

    async with ground.working(operator):
        await ground.soon(lambda: are(r1=1, r2=1, a=2))
        await ground.patch("/api/v1/nodes/n2", {"metadata": {"labels": {"rack": "r1"}}})
        await ground.soon(lambda: are(r1=2, a=1))
        name = (await ground.names(HYPER_NODES.collection()))[0]
        await ground.delete(HYPER_NODES.path("", name))
        await ground.soon(lambda: are(r1=2, a=1))
        await ground.delete("/api/v1/nodes/n1")
        await ground.delete("/api/v1/nodes/n2")
        await ground.soon(are)
        await operator.events.drain()

    events = await ground.get("/api/v1/namespaces/volcano-system/events")
    assert [(event["reason"], event["count"]) for event in events["items"]] == [("InvalidTopologyDiscovery", 1)]
    assert "ufm asks a vendor's service" in events["items"][0]["message"]


async def test_faulty_settings_take_nothing_away(ground: Ground) -> None:
    """What was discovered stays until they are mended."""
    await configure(ground, SETTINGS.replace("nodeLabel: rack", "label: rack"))
    labels = {"volcano.sh/network-topology-source": "label", "rack": "r1"}
    members = [{"type": "Node", "selector": {"exactMatch": {"name": "n"}}}]
    await ground.post(
        HYPER_NODES.collection(),
        {
            "apiVersion": HYPER_NODES.api_version,
            "kind": "HyperNode",
            "metadata": {"name": "hypernode-rows-tier1-abcde", "labels": labels},
            "spec": {"tier": 1, "members": members},
        },
    )
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, discovery, now=0.0) as reconcile:
        await reconcile(KEY)

    assert await domains(ground) == {"r1": 1}


async def test_a_domain_that_is_refused_keeps_no_other_back(ground: Ground) -> None:
    """It is tried again."""
    await configure(ground)
    await make_node(ground, "n1", rack="r1", row="a")
    await make_node(ground, "n2", rack="r2", row="a")
    ground.emulator.faults.add(effect="error", resource="hypernodes", verb="create", code=403, count=1)
    client = MortalClient(ground.client.cluster, component="t")
    async with client, life(client, discovery, now=0.0) as reconcile:
        with pytest.raises(ApiError):
            await reconcile(KEY)
        assert len(await domains(ground)) == 2
        await rest(client, reconcile, KEY)

    assert await domains(ground) == {"r1": 1, "r2": 1, "a": 2}


async def test_a_refused_domain_is_reported(ground: Ground) -> None:
    """Reported by an event on the settings, with the server's words."""
    await configure(ground, SETTINGS.replace("  - {source: ufm, enabled: true}\n", ""))
    await make_node(ground, "n1", rack="r1")
    ground.emulator.faults.add(effect="error", resource="hypernodes", verb="create", code=403, count=1)
    operator = ground.operator()
    discovery(operator)

    async def told() -> list[tuple[str, bool]]:
        events = (await ground.get("/api/v1/namespaces/volcano-system/events"))["items"]
        return [(event["reason"], event["message"].endswith("injected by the test")) for event in events]

    async with ground.working(operator):
        await ground.soon(told)

    assert await told() == [("InvalidTopologyDiscovery", True)]


@pytest.mark.parametrize("is_carried_out", [False, True])
@pytest.mark.parametrize("dies_at", [0, 1, 2])
async def test_killed_at_any_write_it_ends_the_same(ground: Ground, dies_at: int, is_carried_out: bool) -> None:
    """Discovering again makes what is missing under the same names."""
    await configure(ground)
    await make_node(ground, "n1", rack="r1", row="a")
    await make_node(ground, "n2", rack="r2", row="a")
    async with MortalClient(ground.client.cluster, component="t") as client:
        client.dies_at, client.is_carried_out = dies_at, is_carried_out
        with pytest.raises(KilledError):
            async with life(client, discovery, now=0.0) as reconcile:
                await reconcile(KEY)
        async with life(client, discovery, now=0.0) as reconcile:
            await reconcile(KEY)

    assert await domains(ground) == {"r1": 1, "r2": 1, "a": 2}
