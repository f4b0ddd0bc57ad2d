"""Hollow nodes live the lives of pods through the API alone."""

import asyncio
from typing import Any

from pyroclast.emulator.hollow.kubelets import DURATION, RESULT, TERMINATION, KubeletOptions, Kubelets
from pyroclast.emulator.hollow.run import register_nodes, run_hollow_nodes
from pyroclast.emulator.hollow.template import NodeTemplate
from pyroclast.kube.api.client import MediaType
from pyroclast.kube.api.configuration import ClusterOptions
from tests.unit.kube.world import World

FAST = KubeletOptions(start_seconds=0.0, termination_seconds=0.0)
POD = "/api/v1/namespaces/default/pods"


async def hollow(world: World, count: int = 1, **template: Any) -> Kubelets:
    """Hollow nodes at work."""
    await register_nodes(world.client, NodeTemplate(**template), count)
    kubelets = Kubelets(world.client, FAST)
    world.start(kubelets.run())
    await asyncio.wait_for(kubelets.ready.wait(), 30)
    return kubelets


async def place(world: World, name: str, *, cpu: str = "1", **annotations: str) -> str:
    """Create a pod that is bound from the start."""
    made = await world.post(
        POD,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {
                "nodeName": "hollow-0",
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
            },
        },
    )
    uid: str = made["metadata"]["uid"]
    return uid


async def until_phase(world: World, name: str, phase: str) -> Any:
    """Wait for a phase; return the pod."""
    async with asyncio.timeout(30):
        while (pod := await world.get_pod(name))["status"].get("phase") != phase:  # noqa: ASYNC110  the server has no event for this
            await asyncio.sleep(0.01)
        return pod


async def names(world: World) -> list[str]:
    """Pods on the server."""
    return [pod["metadata"]["name"] for pod in (await world.client.request_json("GET", POD))["items"]]


async def until_gone(world: World, name: str) -> None:
    """Wait until a pod's object is gone."""
    async with asyncio.timeout(30):
        while name in await names(world):  # noqa: ASYNC110  see above
            await asyncio.sleep(0.01)


async def test_nodes_register_with_their_zone_and_resources(world: World) -> None:
    """Zones are dealt out in turn; a second run changes nothing."""
    template = NodeTemplate(
        resources={"nvidia.com/gpu": "8"},
        zones=2,
        nodes_per_rack=2,
        taints=({"key": "gpu", "value": "yes", "effect": "NoSchedule"},),
    )
    for _ in range(2):
        await register_nodes(world.client, template, 3)

    nodes = (await world.client.request_json("GET", "/api/v1/nodes"))["items"]

    assert [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes] == [
        "zone-0",
        "zone-1",
        "zone-0",
    ]
    assert [node["metadata"]["labels"]["topology.kubernetes.io/rack"] for node in nodes] == [
        "rack-0",
        "rack-0",
        "rack-1",
    ]
    assert nodes[0]["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert nodes[0]["spec"]["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    assert nodes[0]["status"]["conditions"][0]["status"] == "True"


async def test_a_bound_pod_runs(world: World) -> None:
    """It has a start time, addresses, and ready containers."""
    await hollow(world)
    await place(world, "a")

    pod = await until_phase(world, "a", "Running")

    assert pod["status"]["startTime"]
    assert pod["status"]["podIP"].startswith("10.")
    assert pod["status"]["hostIP"] == "172.16.0.0"
    assert pod["status"]["containerStatuses"][0]["ready"] is True
    assert {"Ready", "ContainersReady"} <= {
        condition["type"] for condition in pod["status"]["conditions"] if condition["status"] == "True"
    }


async def test_pods_end_after_their_duration(world: World) -> None:
    """Well by default, badly where the annotation says so; their room is free again."""
    kubelets = await hollow(world)
    await place(world, "good", **{DURATION: "50ms"})
    await place(world, "bad", **{DURATION: "0.05", RESULT: "Failed"})

    good = await until_phase(world, "good", "Succeeded")
    bad = await until_phase(world, "bad", "Failed")

    assert good["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert bad["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    await world.soon(lambda: kubelets.rooms["hollow-0"].used["cpu"] == 0)


async def test_what_does_not_fit_fails_on_arrival(world: World) -> None:
    """`OutOfcpu`, and the pod that was there first runs on."""
    await hollow(world, cpu="2")
    await place(world, "first", cpu="1500m")
    await until_phase(world, "first", "Running")
    await place(world, "second", cpu="1")

    second = await until_phase(world, "second", "Failed")

    assert second["status"]["reason"] == "OutOfcpu"
    assert (await world.get_pod("first"))["status"]["phase"] == "Running"


async def test_the_room_of_a_deleted_pod_is_free_when_it_has_ended(world: World) -> None:
    """Its object can stay longer, here because of a finalizer; the next pod is not refused for it."""
    await hollow(world, cpu="2")
    await place(world, "first", cpu="2")
    await until_phase(world, "first", "Running")
    kept = b'{"metadata": {"finalizers": ["example.com/kept"]}}'
    await world.client.request("PATCH", f"{POD}/first", body=kept, media_type=MediaType.MERGE_PATCH)
    await world.client.request("DELETE", f"{POD}/first")
    await until_phase(world, "first", "Failed")

    await place(world, "second", cpu="2")

    await until_phase(world, "second", "Running")
    assert "first" in await names(world)


async def test_a_deleted_pod_leaves_within_its_grace(world: World) -> None:
    """Its object goes when it has ended; its room is free again."""
    kubelets = await hollow(world)
    await place(world, "a")
    await until_phase(world, "a", "Running")

    await world.client.request("DELETE", f"{POD}/a")
    await until_gone(world, "a")

    await world.soon(lambda: kubelets.rooms["hollow-0"].used["cpu"] == 0)


async def test_a_slow_pod_is_leaving_for_a_while(world: World) -> None:
    """It holds its room until it has ended."""
    kubelets = await hollow(world)
    await place(world, "a", **{TERMINATION: "300ms"})
    await until_phase(world, "a", "Running")

    await world.client.request("DELETE", f"{POD}/a")
    await asyncio.sleep(0.1)
    assert (await world.get_pod("a"))["metadata"]["deletionTimestamp"]
    assert kubelets.rooms["hollow-0"].used["cpu"] == 1

    await until_gone(world, "a")


async def test_a_deleted_pod_ends_before_it_goes(world: World) -> None:
    """As with kubelets since Kubernetes 1.27: what watches it sees how it ended, SIGTERM's exit code here."""
    await hollow(world)
    await place(world, "a")
    await until_phase(world, "a", "Running")
    keep = {"metadata": {"finalizers": ["example.com/keep"]}}
    await world.patch(f"{POD}/a", keep)

    await world.client.request("DELETE", f"{POD}/a")
    pod = await until_phase(world, "a", "Failed")

    assert pod["metadata"]["deletionTimestamp"]
    assert [each["state"]["terminated"]["exitCode"] for each in pod["status"]["containerStatuses"]] == [143]


async def test_a_new_process_goes_on_where_the_old_one_was(world: World) -> None:
    """Running pods take their room before others are admitted; what was to end ends."""
    await register_nodes(world.client, NodeTemplate(cpu="2"), 1)
    first = Kubelets(world.client, FAST)
    task = world.start(first.run())
    await asyncio.wait_for(first.ready.wait(), 30)
    await place(world, "z-runs", cpu="2")
    await until_phase(world, "z-runs", "Running")
    task.cancel()
    await asyncio.wait((task,))
    await place(world, "a-late", cpu="1")

    kubelets = Kubelets(world.client, FAST)
    world.start(kubelets.run())

    assert (await until_phase(world, "a-late", "Failed"))["status"]["reason"] == "OutOfcpu"
    assert kubelets.rooms["hollow-0"].used["cpu"] == 2


async def test_busy_servers_are_asked_again(world: World) -> None:
    """No pod is forgotten because a write failed once."""
    await hollow(world)
    world.faults.add(effect="error", subresource="status", code=503, count=2)
    await place(world, "a")

    await until_phase(world, "a", "Running")


async def test_pods_on_other_nodes_are_left_alone(world: World) -> None:
    """Real nodes may stand beside hollow ones."""
    await hollow(world)
    await world.pod("elsewhere", nodeName="real-1")
    await place(world, "here")
    await until_phase(world, "here", "Running")

    assert (await world.get_pod("elsewhere"))["status"]["phase"] == "Pending"


async def test_nodes_send_heartbeats(world: World, tmp_path: Any) -> None:
    """Each has a Lease that belongs to it and is renewed."""
    ready = asyncio.Event()
    world.start(
        run_hollow_nodes(
            cluster=ClusterOptions(kubeconfig=str(world.emulator.kubeconfig(tmp_path / "config"))),
            count=2,
            options=FAST,
            heartbeat_seconds=0.05,
            ready=ready,
        )
    )
    await asyncio.wait_for(ready.wait(), 30)
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

    async def versions() -> dict[str, str]:
        items = (await world.client.request_json("GET", path))["items"]
        return {item["spec"]["holderIdentity"]: item["metadata"]["resourceVersion"] for item in items}

    async with asyncio.timeout(30):
        while len(first := await versions()) < 2:  # noqa: ASYNC110  see above
            await asyncio.sleep(0.01)
        while (await versions())["hollow-0"] == first["hollow-0"]:  # noqa: ASYNC110  see above
            await asyncio.sleep(0.01)

    assert set(first) == {"hollow-0", "hollow-1"}
