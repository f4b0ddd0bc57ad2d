"""Shared cards on a server: allocations, reasons of pods without a card, and what outlives the process."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

IDS = "volcano.sh/vgpu-ids-new"
COUNT, SIZE, CORES = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"
FULL = "0/1 nodes are unavailable: 1 not enough gpu fitted on this node."


@pytest.fixture
def ground(cluster_with_crds: Cluster, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ground]:
    """One node of eight CPUs, for one test."""
    name = "cards-" + request.node.name.partition("_")[2].partition("_")[0]
    with standing_on(cluster_with_crds, name, folder=tmp_path, nodes=1) as ground:
        yield ground


def configuration(ground: Ground, folder: Path, **arguments: Any) -> str:
    """Write tiers with deviceshare; return the flag that names the file."""
    file = folder / "scheduler.yaml"
    told = {f"deviceshare.{key}": value for key, value in arguments.items()}
    told |= {"deviceshare.KnownGeometriesCMNamespace": ground.name}
    plugins = [{"name": "gang"}, {"name": "predicates"}, {"name": "deviceshare", "arguments": told}]
    file.write_text(json.dumps({"actions": "enqueue, allocate", "tiers": [{"plugins": plugins}]}))
    return f"--scheduler-conf={file}"


def register(ground: Ground, cards: str) -> None:
    """Do as the device plugin of the node does."""
    (node,) = ground.nodes()
    name = node["metadata"]["name"]
    offered = {COUNT: "10", SIZE: "10000", CORES: "1000"}
    annotations = {"metadata": {"annotations": {"volcano.sh/node-vgpu-register": cards}}}
    ground.kubectl("patch", "node", name, "--type=merge", "-p", json.dumps(annotations))
    status = json.dumps({"status": {"capacity": offered, "allocatable": offered}})
    ground.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", status)


def wanting(ground: Ground, name: str, memory: int, **annotations: str) -> None:
    """Create a pod that asks for memory of one card."""
    limits = {COUNT: "1", SIZE: str(memory)}
    resources = {"limits": limits, "requests": {**limits, "cpu": "1"}}
    ground.group(name, 1)
    containers = [{"name": "c", "image": "none", "resources": resources}]
    ground.pod(name, group=name, containers=containers, annotations=annotations)


def cards_of(ground: Ground, name: str) -> str:
    """Return the message of a pod about its cards; empty before."""
    (pod,) = ground.pods(name)
    told: str = pod["metadata"].get("annotations", {}).get(IDS, "")
    return told


def waits(ground: Ground, name: str) -> bool:
    """Return whether a pod has the reason that no card is free."""
    return bool(ground.condition_of(name).get("message") == FULL)


def test_sharing_a_card(ground: Ground, tmp_path: Path) -> None:
    """Two pods have it, a third waits with a reason; another process reads the same, and allocates what is freed."""
    register(ground, "GPU-0,2,3000,NVIDIA-A100,true,hami-core:")
    flag = configuration(ground, tmp_path, VGPUEnable=True)
    with ground.daemon(tmp_path, flag) as daemon:
        for name in ("first", "second"):
            wanting(ground, name, 1000)
            daemon.wait_for(partial(ground.is_placed, name))
        wanting(ground, "third", 1000)
        daemon.wait_for(lambda: waits(ground, "third"))

        assert [cards_of(ground, name) for name in ("first", "second")] == ["GPU-0,NVIDIA,1000,0:"] * 2
        (pod,) = ground.pods("first")
        (node,) = ground.nodes()
        annotations = pod["metadata"]["annotations"]
        assert annotations["volcano.sh/vgpu-node"] == node["metadata"]["name"]
        assert annotations["volcano.sh/bind-phase"] == "allocating"
        daemon.wait_for(lambda: shared(daemon, node) == 2)

    with ground.daemon(tmp_path, flag) as daemon:
        daemon.wait_for(lambda: shared(daemon, node) == 2)
        daemon.wait_cycles(2)
        assert ground.nodes_of("third") == [""]
        ground.remove("first")
        daemon.wait_for(lambda: ground.is_placed("third"))
        assert cards_of(ground, "third") == "GPU-0,NVIDIA,1000,0:"


def shared(daemon: Daemon, node: Any) -> float | None:
    """Return how many pods share the card, by the metrics."""
    labels = f'NodeName="{node["metadata"]["name"]}",devID="GPU-0"'
    return daemon.metric(f"volcano_vgpu_device_shared_number{{{labels}}}")


def tell_cuts(ground: Ground, name: str, group: str) -> None:
    """Create a device ConfigMap that knows one way to cut the cards."""
    geometries = [{"group": group, "geometries": [{"name": "1g", "memory": 1500, "count": 2}]}]
    known = [{"models": ["A100"], "allowedGeometries": geometries}]
    names = {"resourceCountName": COUNT, "resourceMemoryName": SIZE, "resourceCoreName": CORES}
    ground.create(
        f"/api/v1/namespaces/{ground.name}/configmaps",
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"device-config.yaml": json.dumps({"nvidia": {**names, "knownMigGeometries": known}})},
        },
    )


def test_cutting_a_card(ground: Ground, tmp_path: Path) -> None:
    """The family is switched on, and the way to partition cards configured, while the daemon runs."""
    register(ground, "GPU-0,7,3000,NVIDIA-A100,true,mig:")
    flag = configuration(ground, tmp_path, VGPUEnable=False)
    with ground.daemon(tmp_path, flag) as daemon:
        wanting(ground, "before", 1000)
        daemon.wait_for(lambda: ground.is_placed("before"))
        assert cards_of(ground, "before") == ""

        tell_cuts(ground, "volcano-vgpu-device-config", "g")
        configuration(ground, tmp_path, VGPUEnable=True)
        daemon.wait_for(lambda: "volcano-vgpu-device-config" in daemon.get("/debug/snapshot"))
        wanting(ground, "after", 1000)
        daemon.wait_for(lambda: ground.is_placed("after"))

        # the first part is counted to the pod that asks for one and names none
        assert cards_of(ground, "after") == "GPU-0[g-1],NVIDIA,1000,0:"


def test_naming_another_map(ground: Ground, tmp_path: Path) -> None:
    """No cycle decides before it has come: a pod for an unpartitioned card waits, whatever the map says."""
    register(ground, "GPU-0,7,3000,NVIDIA-A100,true,mig:")
    tell_cuts(ground, "cuts-one", "first")
    tell_cuts(ground, "cuts-two", "second")
    flag = configuration(ground, tmp_path, VGPUEnable=True, KnownGeometriesCMName="cuts-one")
    with ground.daemon(tmp_path, flag) as daemon:
        wanting(ground, "whole", 1000, **{"volcano.sh/vgpu-mode": "hami-core"})
        daemon.wait_for(lambda: "sharing mode" in ground.condition_of("whole").get("message", ""))

        configuration(ground, tmp_path, VGPUEnable=True, KnownGeometriesCMName="cuts-two")
        daemon.wait_for(lambda: "cuts-two" in daemon.get("/debug/snapshot"))
        wanting(ground, "part", 1000)
        daemon.wait_for(lambda: ground.is_placed("part"))
        assert cards_of(ground, "part") == "GPU-0[second-0],NVIDIA,1000,0:"
        assert ground.nodes_of("whole") == [""]


def test_locking_a_node(ground: Ground, tmp_path: Path) -> None:
    """One pod with a card at a time: the next one comes when the device plugin has taken the lock off."""
    register(ground, "GPU-0,7,3000,NVIDIA-A100,true,hami-core:")
    (node,) = ground.nodes()
    name = node["metadata"]["name"]
    with ground.daemon(tmp_path, configuration(ground, tmp_path, VGPUEnable=True, NodeLockEnable=True)) as daemon:
        wanting(ground, "first", 1000)
        daemon.wait_for(lambda: ground.is_placed("first"))
        (node,) = ground.nodes()
        assert node["metadata"]["annotations"]["hamivgpu"].endswith("Z")
        wanting(ground, "second", 1000)
        daemon.wait_for(lambda: "locked within 5 minutes" in ground.condition_of("second").get("message", ""))

        ground.kubectl("annotate", "node", name, "hamivgpu-")
        daemon.wait_for(lambda: ground.is_placed("second"))
