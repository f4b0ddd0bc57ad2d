"""Numatopologies and Guaranteed pods in a few words, for tests of any kind."""

from collections.abc import Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]


def numatopology(
    name: str,
    *,
    policy: str = "single-numa-node",
    manager: str = "static",
    free: str | None = "0-7",
    detail: Mapping[int, tuple[int, int, int]] | None = None,
    reserved: str = "0",
    listed: Sequence[str] = (),
) -> Object:
    """A Numatopology of a machine with two sockets of four CPUs, each one NUMA node of two cores, where not `detail`.

    Args:
        name: Name of the node.
        policy: Policy of its kubelet's topology manager.
        manager: Policy of its CPU manager.
        free: Free CPUs; None without information about CPUs.
        detail: NUMA node, socket and core by CPU.
        reserved: CPUs kept for the system.
        listed: UIDs of pods that have their CPUs.
    """
    places = detail or {cpu: (cpu // 4, cpu // 4, cpu // 2 % 2) for cpu in range(8)}
    return {
        "apiVersion": "nodeinfo.volcano.sh/v1alpha1",
        "kind": "Numatopology",
        "metadata": {"name": name},
        "spec": {
            "policies": {"CPUManagerPolicy": manager, "TopologyManagerPolicy": policy},
            "numares": {} if free is None else {"cpu": {"allocatable": free, "capacity": len(places)}},
            "cpuDetail": {
                str(cpu): {"numa": numa, "socket": socket, "core": core} for cpu, (numa, socket, core) in places.items()
            },
            "resReserved": {"cpu": reserved},
            "podAllocations": [{"uid": uid} for uid in listed],
        },
    }


def guaranteed(*cpus: int | str, policy: str = "") -> dict[str, Any]:
    """Arguments of `Scenario.job` for pods with a container for each number of CPUs, named c0 and on."""
    containers = []
    for number, amount in enumerate(cpus):
        amounts = {"cpu": str(amount), "memory": "1Gi"}
        containers.append({"name": f"c{number}", "image": "i", "resources": {"requests": amounts, "limits": amounts}})
    named = {"volcano.sh/numa-topology-policy": policy} if policy else {}
    return {"pod": {"containers": containers}, "annotations": named}
