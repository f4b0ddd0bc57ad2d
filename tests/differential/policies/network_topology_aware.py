"""Nodes near to each other in whole cycles: what tests/differential/racks.py makes of a cluster's HyperNodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.cluster import ALLOCATED, Amounts, Cluster, Node, Pod
from tests.differential.parts import Part, parts_of
from tests.differential.policy import Policy
from tests.differential.racks import PlainSite

HELD = (*ALLOCATED, "Pipelined")
GPU = "nvidia.com/gpu"


class NetworkTopologyAware(Policy):
    """Domains and nodes that are close to what is placed, or would be full."""

    name = "network-topology-aware"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.site = site_of(self.cluster)
        self.weight = self.arguments.get("weight", 1)
        key = "hypernode.binpack"
        self.importance = {name: self.arguments.get(f"{key}.{name}", 1) for name in ("cpu", "memory")}
        if GPU in self.arguments.get(f"{key}.resources", ""):
            self.importance[GPU] = self.arguments.get(f"{key}.resources.{GPU}", 1)

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """Closeness for pods with a topology, fullness of domains for others."""
        part = next(part for part in parts_of(self.cluster.groups[pod.group]) if pod in part.members)
        names = [node.name for node in nodes]
        if part.topology is not None:
            scores = self.site.closeness(names, self.placed(part), len(part.members))
        elif self.arguments.get("hypernode.binpack.normal-pod.enable", True):
            fading = self.arguments.get("hypernode.binpack.normal-pod.fading", 0.8)
            scores = self.site.packing(names, request=pod.request, fading=fading, **self.amounts())
        else:
            return {}
        return {name: score * (100 * self.weight) for name, score in scores.items()}

    def score_domains(self, part: Part, domains: Sequence[str]) -> dict[str, float]:
        """Fullness of domains with all of a part; of several that are fullest, how much of the part is there."""
        request: Amounts = {}
        for pod in part.members:
            for name, number in pod.request.items():
                request[name] = request.get(name, 0) + number
        scores = {each: self.site.fullness(each, request=request, **self.amounts()) for each in domains}
        fullest = [each for each in domains if scores[each] == max(scores.values())]
        for each in fullest if len(fullest) > 1 else ():
            inside = self.site.inside(each)
            scores[each] += sum(node in inside for node in self.placed(part)) / len(part.members)
        return {each: score * (100 * self.weight) for each, score in scores.items()}

    def placed(self, part: Part) -> list[str]:
        """Nodes of what is placed of a part, one for each pod."""
        return [pod.node for pod in part.members if pod.status in HELD and pod.node in self.site.nodes]

    def amounts(self) -> dict[str, Any]:
        """What nodes carry and offer, and what counts."""
        used = {node: dict.fromkeys(self.importance, 0) for node in self.site.nodes}
        for pod in self.cluster.placed:
            for name in self.importance:
                used[pod.node][name] += pod.request.get(name, 0)
        offered = {node.name: node.offers for node in self.cluster.nodes}
        return {"used": used, "offered": offered, "weights": self.importance}


def site_of(cluster: Cluster) -> PlainSite:
    """Read the HyperNodes of a cluster."""
    site = PlainSite([node.name for node in cluster.nodes])
    for each in cluster.of_kind("HyperNode"):
        name = each["metadata"]["name"]
        site.tier[name], site.members[name] = each["spec"]["tier"], []
        for member in each["spec"]["members"]:
            inner = member["selector"]["exactMatch"]["name"]
            if member["type"] == "HyperNode":
                site.parent[inner] = name
            elif inner in site.nodes:
                site.members[name].append(inner)
    return site
