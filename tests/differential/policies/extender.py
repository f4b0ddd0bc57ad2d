"""An extender that answers by marks: the same answers without any extender."""

from collections.abc import Mapping, Sequence

from tests.differential.cluster import Group, Node, Pod
from tests.differential.extended import DRAINED, KEPT, RANK, TOOLS, VOTE
from tests.differential.policy import Policy, Rule


class Extender(Policy):
    """What marks say, where a verb is set for it."""

    name = "extender"

    def asks(self, verb: str) -> bool:
        """Whether a verb is set."""
        return f"extender.{verb}Verb" in self.arguments

    def permits(self, pod: Pod, node: Node) -> bool:
        """Whether a node is not drained, or the pod has tools."""
        if not (self.asks("predicate") or self.asks("batchPredicate")):
            return True
        annotations = pod.object["metadata"]["annotations"]
        return bool(node.object["metadata"]["labels"].get(DRAINED) != "true" or annotations.get(TOOLS) == "true")

    def scores(self, _pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """Ranks."""
        if not self.asks("prioritize"):
            return {}
        return {node.name: 10.0 * int(node.object["metadata"]["labels"].get(RANK, "0")) for node in nodes}

    def opens_gate(self, group: Group) -> int:
        """The vote that is written on it."""
        if not self.asks("jobEnqueueable"):
            return 0
        return int(group.object["metadata"].get("annotations", {}).get(VOTE, "0"))

    def rules(self, point: str) -> Rule | None:
        """Candidates that are not protected, if one pod makes room for another."""
        if not self.asks(point):
            return None
        return lambda _, candidates: [
            pod for pod in candidates if pod.object["metadata"]["annotations"].get(KEPT) != "true"
        ]
