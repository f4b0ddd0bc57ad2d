"""CPUs of pods in whole cycles, where all of them need whole cores: then only the number of free cores counts."""

import json
from typing import Any

from tests.differential.cluster import Node, Pod
from tests.differential.policy import Policy
from tests.nodenuma import QOS

MILLI = 1000
ENDED = {"Succeeded", "Failed"}


class NodeNuma(Policy):
    """Nodes with as many free cores as a pod needs."""

    name = "nodenuma"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.cores = {each["metadata"]["name"]: cores_of(each) for each in self.cluster.of_kind("NodeResourceTopology")}

    def needs(self, pod: Pod) -> int:
        """CPUs of its own that a pod needs, in thousandths; 0 for none."""
        return int(pod.request.get("cpu", 0)) if pod.labels.get(QOS) == "LSR" else 0

    def permits(self, pod: Pod, node: Node) -> bool:
        """Its CPUs are whole ones, and so are their cores, and as many cores are free."""
        return self.fits(pod, node, self.taken(node))

    def could_permit(self, pod: Pod, node: Node) -> bool:
        """The node has as many cores."""
        return self.fits(pod, node, 0)

    def gives(self, pod: Pod) -> bool:
        """Cores."""
        return bool(self.needs(pod))

    def fits(self, pod: Pod, node: Node, taken: int) -> bool:
        """Whether the CPUs of a pod fit a node on which so many cores are taken."""
        needs, cores = self.needs(pod), self.cores.get(node.name)
        if not needs:
            return True
        if needs % MILLI or cores is None:
            return False
        threads = len(cores) // len(set(cores.values()))
        return needs // MILLI % threads == 0 and needs // MILLI // threads <= len(set(cores.values())) - taken

    def taken(self, node: Node) -> int:
        """Cores that pods on a node have."""
        cores = self.cores.get(node.name)
        if cores is None:
            return 0
        threads = len(cores) // len(set(cores.values()))
        there = (pod for pod in self.cluster.pods if pod.node == node.name and pod.status not in ENDED)
        return sum(self.needs(pod) // MILLI // threads for pod in there)


def cores_of(topology: Any) -> dict[int, int]:
    """The core of each CPU."""
    text = topology["metadata"]["annotations"]["node.koordinator.sh/cpu-topology"]
    return {each["id"]: each["core"] for each in json.loads(text)["detail"]}
