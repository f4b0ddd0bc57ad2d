"""Koordinator's devices on a server: a Device tells of them, annotations of who has which; both outlive the process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.devices import CORE, MEMORY, RATIO, RDMA, device, gpu, rdma
from tests.e2e.cluster import Cluster
from tests.e2e.ground import Ground, standing_on

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
FULL = "0/1 nodes are unavailable: 1 Insufficient gpu devices."


@pytest.fixture
def ground(cluster_with_crds: Cluster, tmp_path: Path) -> Iterator[Ground]:
    """One node of eight CPUs, which tells of two GPUs; its Device goes with it."""
    with standing_on(cluster_with_crds, "koordinator-devices", folder=tmp_path, nodes=1) as ground:
        tell(ground, gpu(0, at=(0, "a")), gpu(1, at=(1, "b")), rdma(0, at=(1, "b"), functions=["0000:5d:00.2"]))
        yield ground
        ground.kubectl("delete", "device", node_of(ground))


def node_of(ground: Ground) -> str:
    """Return the name of the node."""
    (node,) = ground.nodes()
    name: str = node["metadata"]["name"]
    return name


def tell(ground: Ground, *devices: Any) -> None:
    """Do as the agent of the node does, and as the manager; amounts are plenty, so that devices alone decide."""
    ground.kubectl("apply", "-f", "-", input=json.dumps(device(node_of(ground), *devices)))
    offered = dict.fromkeys((CORE, RATIO, RDMA), "1000")
    status = json.dumps({"status": {"capacity": offered, "allocatable": offered}})
    ground.kubectl("patch", "node", node_of(ground), "--subresource=status", "--type=merge", "-p", status)


def configuration(folder: Path) -> str:
    """Write tiers with deviceshare; return the flag that names the file."""
    file = folder / "scheduler.yaml"
    devices = {"name": "deviceshare", "arguments": {"deviceshare.KoordinatorEnable": True}}
    plugins = [{"name": "gang"}, {"name": "predicates"}, devices]
    file.write_text(json.dumps({"actions": "enqueue, allocate", "tiers": [{"plugins": plugins}]}))
    return f"--scheduler-conf={file}"


def wanting(ground: Ground, name: str, annotations: Any = None, **amounts: str) -> None:
    """Create a pod that asks for devices."""
    ground.group(name, 1)
    asked = {f"koordinator.sh/{key.replace('_', '-')}": value for key, value in amounts.items()}
    containers = [{"name": "c", "image": "none", "resources": {"limits": asked, "requests": {**asked, "cpu": "1"}}}]
    ground.pod(name, group=name, containers=containers, annotations=annotations or {})


def devices_of(ground: Ground, name: str) -> Any:
    """Return the message of a pod about devices; empty before."""
    (pod,) = ground.pods(name)
    return json.loads(pod["metadata"].get("annotations", {}).get(ALLOCATED, "{}"))


def waits(ground: Ground, name: str) -> bool:
    """Return whether a pod has the reason that no GPU is free."""
    return bool(ground.condition_of(name).get("message") == FULL)


def test_sharing_gpus(ground: Ground, tmp_path: Path) -> None:
    """Half of the second GPU beside its card, all of the first; who waits has what is freed, after a restart too."""
    near = {
        "scheduling.koordinator.sh/device-joint-allocate": '{"deviceTypes":["rdma","gpu"],"requiredScope":"SamePCIe"}',
        "scheduling.koordinator.sh/device-allocate-hint": '{"rdma":{"vfSelector":{}}}',
    }
    flag = configuration(tmp_path)
    with ground.daemon(tmp_path, flag) as daemon:
        wanting(ground, "near", rdma="1", gpu_core="50", gpu_memory_ratio="50", annotations=near)
        daemon.wait_for(lambda: ground.is_placed("near"))
        wanting(ground, "whole", gpu_core="100", gpu_memory_ratio="100")
        daemon.wait_for(lambda: ground.is_placed("whole"))
        wanting(ground, "large", gpu_core="60", gpu_memory_ratio="60")
        daemon.wait_for(lambda: waits(ground, "large"))

        share = {CORE: "50", MEMORY: "40Gi", RATIO: "50"}
        assert devices_of(ground, "near") == {
            "gpu": [{"minor": 1, "id": "GPU-1", "resources": share}],
            "rdma": [
                {
                    "minor": 0,
                    "resources": {RDMA: "1"},
                    "extension": {"vfs": [{"busID": "0000:5d:00.2"}]},
                }
            ],
        }
        assert [each["minor"] for each in devices_of(ground, "whole")["gpu"]] == [0]

    with ground.daemon(tmp_path, flag) as daemon:
        daemon.wait_cycles(2)
        assert ground.nodes_of("large") == [""]
        ground.remove("near")
        daemon.wait_for(lambda: ground.is_placed("large"))
        assert [each["minor"] for each in devices_of(ground, "large")["gpu"]] == [1]

        ground.remove("whole")
        tell(ground, gpu(0, at=(0, "a"), health=False), gpu(1, at=(1, "b")))
        wanting(ground, "late", gpu_core="60", gpu_memory_ratio="60")
        daemon.wait_for(lambda: waits(ground, "late"))
        tell(ground, gpu(0, at=(0, "a")), gpu(1, at=(1, "b")))
        daemon.wait_for(lambda: ground.is_placed("late"))
        assert [each["minor"] for each in devices_of(ground, "late")["gpu"]] == [0]
