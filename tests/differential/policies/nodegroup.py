"""Groups of nodes and what queues may have of them, node by node: what docs/plugins/nodegroup.md says."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.cluster import ALLOCATED, Group, Node, Pod, Queue, amounts
from tests.differential.policy import Policy

LABEL = "volcano.sh/nodegroup-name"
LIMITS = "volcano.sh/nodegroup-resource-limits"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
Terms = Mapping[str, Mapping[str, list[str]]]


class NodeGroup(Policy):
    """Groups that a queue may use, and would rather use."""

    name = "nodegroup"

    def permits(self, pod: Pod, node: Node) -> bool:
        """Whether a queue may use the group of a node, and this much of it."""
        queue, name = self.queue_of(pod), node.labels.get(LABEL, "")
        limit = amounts((self.limits(queue) or {}).get(name))
        return self.could_permit(pod, node) and self.stays_within(limit, queue, pod, name)

    def could_permit(self, pod: Pod, node: Node) -> bool:
        """Whether a queue may use the group of a node."""
        queue, name = self.queue_of(pod), node.labels.get(LABEL, "")
        if self.limits(queue) is None:
            return False
        terms = self.terms(queue)
        wanted, shunned = terms.get("nodeGroupAffinity", {}), terms.get("nodeGroupAntiAffinity", {})
        is_unset = not any(names for side in (wanted, shunned) for names in side.values())
        if not name:
            return is_unset and not self.arguments.get("strict", True)
        permitted = name in wanted.get(REQUIRED, []) or name in wanted.get(PREFERRED, [])
        if name in shunned.get(REQUIRED, []):
            permitted = False
        if name in shunned.get(PREFERRED, []):
            permitted = True
        return permitted

    @staticmethod
    def limits(queue: Queue) -> Mapping[str, Mapping[str, str]] | None:
        """What a queue may use of groups; None if the annotation cannot be parsed."""
        try:
            limits: Mapping[str, Mapping[str, str]] = json.loads(
                queue.object["metadata"]["annotations"].get(LIMITS, "{}")
            )
        except ValueError:
            return None
        return limits

    def stays_within(self, limits: Mapping[str, int], queue: Queue, pod: Pod, name: str) -> bool:
        """Whether a queue's pods in a group, and one more, stay within its limits there."""
        inside = {node.name for node in self.cluster.nodes if node.labels.get(LABEL) == name}
        mine = [
            other
            for group in self.cluster.groups.values()
            if group.queue == queue.name
            for other in group.pods
            if other.node in inside and (other.status in ALLOCATED or other.status == "Pipelined")
        ]
        return all(sum(each.counted.get(what, 0) for each in [*mine, pod]) <= limit for what, limit in limits.items())

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """What a queue thinks of the groups of nodes."""
        terms = self.terms(self.queue_of(pod))
        return {node.name: self.score(terms, node.labels.get(LABEL, "")) for node in nodes}

    def score(self, terms: Terms, name: str) -> float:
        """What it thinks of one."""
        wanted, shunned = terms.get("nodeGroupAffinity", {}), terms.get("nodeGroupAntiAffinity", {})
        if not name:
            return 0.0
        if name in shunned.get(PREFERRED, []):
            return -1.0
        score = 100.0 if name in wanted.get(REQUIRED, []) else 0.0
        preferred = wanted.get(PREFERRED, [])
        if name in preferred:
            place = max(number for number, each in enumerate(preferred) if each == name)
            count = len(set(preferred))
            score += 50 * (count - place) / count if self.arguments.get("enablePreferredOrder") else 50
        return score

    def terms(self, queue: Queue) -> Terms:
        """What holds for a queue: its own, or of the nearest above it that has some."""
        spec: Mapping[str, Any] = queue.object["spec"]
        if spec.get("affinity") is not None:
            return dict(spec["affinity"])
        parent = self.cluster.queues.get(spec.get("parent") or "root")
        if not self.arguments.get("enableHierarchy") or parent is None or queue.name == "root":
            return {}
        return self.terms(parent)

    def queue_of(self, pod: Pod) -> Queue:
        """The queue of a pod."""
        group: Group = self.cluster.groups[pod.group]
        return self.cluster.queues[group.queue]
