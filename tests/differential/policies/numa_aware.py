"""CPUs inside nodes in whole cycles: what tests/differential/numa.py makes of the pods of a cluster."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.differential import numa
from tests.differential.cluster import SUFFIXES, Node, Pod, amounts
from tests.differential.policy import Policy

POLICY = "volcano.sh/numa-topology-policy"
RUNNING = {"Running", "Releasing"}


@dataclass
class Machine:
    """The inside of one node."""

    policy: str
    is_static: bool
    detail: dict[int, tuple[int, int, int]]
    free: set[int] | None
    reserved: int
    listed: set[str]

    @property
    def aligns(self) -> bool:
        """Whether its policy has a say."""
        return self.is_static and self.policy not in ("", "none") and self.free is not None

    def take(self, free: set[int], wanted: Sequence[int]) -> None:
        """Take what containers get out of the free CPUs; where they would be turned away, as many of any."""
        cpus, refused = numa.aligned(self.detail, self.policy, self.reserved, free, wanted)
        if refused is not None:
            left = free - (numa.taken(self.detail, self.detail, self.reserved) or set())
            cpus = numa.taken(self.detail, left, min(sum(wanted), len(left))) or cpus
        free -= cpus


def machine(spec: Mapping[str, Any]) -> Machine:
    """Read a Numatopology."""
    cpu, reserved = spec["numares"].get("cpu"), str(spec["resReserved"]["cpu"])
    suffix = next((each for each in SUFFIXES if reserved.endswith(each)), "")
    parts = [part.partition("-") for part in cpu["allocatable"].split(",") if part] if cpu else []
    return Machine(
        policy=spec["policies"]["TopologyManagerPolicy"],
        is_static=spec["policies"]["CPUManagerPolicy"] == "static",
        detail={int(key): (place["numa"], place["socket"], place["core"]) for key, place in spec["cpuDetail"].items()},
        free=None
        if cpu is None
        else {each for first, _, last in parts for each in range(int(first), int(last or first) + 1)},
        reserved=math.ceil(Fraction(reserved.removesuffix(suffix)) * SUFFIXES.get(suffix, 1)),
        listed={f"{each['namespace']}/{each['name']}" for each in spec["podAllocations"]},
    )


def wanted(pod: Pod) -> list[int] | None:
    """Whole CPUs of each container; None where the pod is not Guaranteed."""
    found = []
    for container in pod.spec["containers"]:
        requests, limits = amounts(container["resources"]["requests"]), amounts(container["resources"].get("limits"))
        if any(not limits.get(name) or requests.get(name) != limits[name] for name in ("cpu", "memory")):
            return None
        found.append(0 if requests["cpu"] % 1000 else requests["cpu"] // 1000)
    return found


def policy_of(pod: Pod) -> str:
    """The policy that a pod requests; empty for any."""
    named = str(pod.object["metadata"]["annotations"].get(POLICY, ""))
    return "" if named == "none" else named


def age(pod: Pod) -> tuple[str, bool, int, str]:
    """The oldest first; of one age by the number at the end of a name, then by UID."""
    last = pod.name.rsplit("-", 1)[-1]
    is_numbered = pod.name.count("-") > 1 and last.isdecimal()
    return pod.created, not is_numbered, int(last) if is_numbered else 0, f"{pod.namespace}-{pod.name}"


class NumaAware(Policy):
    """Nodes whose kubelet would take the pod."""

    name = "numa-aware"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.machines = {
            each["metadata"]["name"]: machine(each["spec"]) for each in self.cluster.of_kind("Numatopology")
        }
        self.there = {pod.key for pod in self.cluster.pods if pod.node}
        self.placed: list[tuple[str, str]] = []
        """Pods placed in this cycle and their nodes, in the order in which that was seen."""
        self.at_first = {name: self.beside_pods(name, each) for name, each in self.machines.items()}

    def beside_pods(self, name: str, each: Machine) -> set[int]:
        """What is free beside the pods that were there, listed or not."""
        free = set(each.free or ())
        lists_pods = bool(each.listed) or len(set(each.detail) - free) <= each.reserved or each.free is None
        pods = [pod for pod in self.cluster.placed if pod.node == name and wanted(pod) is not None]
        for pod in sorted(pods, key=age):
            if pod.key not in each.listed if lists_pods else pod.status not in RUNNING:
                each.take(free, wanted(pod) or ())
        return free

    def free(self, name: str) -> set[int]:
        """What is free on a node now."""
        now = {pod.key: pod.node for pod in self.cluster.pods if pod.node and pod.key not in self.there}
        kept = [(key, node) for key, node in self.placed if now.get(key) == node]
        self.placed = kept + [place for place in now.items() if place not in kept]
        each, free = self.machines[name], set(self.at_first[name])
        pods = {pod.key: pod for pod in self.cluster.pods}
        for key, node in self.placed:
            containers = wanted(pods[key])
            if node == name and containers is not None and each.aligns:
                free -= numa.aligned(each.detail, each.policy, each.reserved, free, containers)[0]
        return free

    def could_permit(self, pod: Pod, node: Node) -> bool:
        """A pod with a policy needs a node with the same policy."""
        named, each = policy_of(pod), self.machines.get(node.name)
        if wanted(pod) is None or not named:
            return True
        return each is not None and each.is_static and each.policy == named

    def permits(self, pod: Pod, node: Node) -> bool:
        """And the node must be able to align it."""
        containers, each = wanted(pod), self.machines.get(node.name)
        if not self.could_permit(pod, node):
            return False
        if containers is None or each is None:
            return True
        free = self.free(node.name)
        if policy_of(pod) and not free:
            return False
        return not each.aligns or numa.aligned(each.detail, each.policy, each.reserved, free, containers)[1] is None

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """The fewer NUMA nodes, the more."""
        containers = wanted(pod)
        if containers is None or not policy_of(pod) or not self.machines:
            return {}
        counts = {node.name: self.count(node.name, containers) for node in nodes}
        return numa.scored(counts, self.arguments.get("weight", 1))

    def count(self, name: str, containers: Sequence[int]) -> int:
        """NUMA nodes that the pod's CPUs would come from."""
        each = self.machines.get(name)
        if each is None or not each.aligns:
            return 0
        cpus, _ = numa.aligned(each.detail, each.policy, each.reserved, self.free(name), containers)
        return len({each.detail[cpu][0] for cpu in cpus})
