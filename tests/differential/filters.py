"""Which nodes may take a pod, filter by filter and node by node, as kube-scheduler's documentation has it."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.differential.cluster import Cluster, Node, Pod

CORDONED = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Match a label selector; None matches nothing."""
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return equal and all(holds(each, labels) for each in selector.get("matchExpressions", []))


def holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Match one expression of a label or node selector."""
    value, values = labels.get(expression["key"]), expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdecimal() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdecimal() and int(value) < int(values[0])
    return False


def tolerates(pod: Pod, taint: Mapping[str, str], effects: Iterable[str] = ()) -> bool:
    """Whether some toleration (of these effects, or of any) matches a taint."""
    for each in pod.spec.get("tolerations", []):
        effect, operator = each.get("effect", ""), each.get("operator", "Equal")
        if effects and effect not in effects:
            continue
        same = (not each.get("key") and operator == "Exists") or each.get("key") == taint["key"]
        value = operator == "Exists" or each.get("value", "") == taint.get("value", "")
        if same and value and effect in ("", taint["effect"]):
            return True
    return False


def tolerated(pod: Pod, node: Node) -> bool:
    """Whether no taint keeps a pod off a node."""
    return all(tolerates(pod, taint) for taint in node.taints if taint["effect"] in ("NoSchedule", "NoExecute"))


def wants(pod: Pod, node: Node) -> bool:
    """Node selector and required node affinity."""
    if any(node.labels.get(key) != value for key, value in pod.spec.get("nodeSelector", {}).items()):
        return False
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    required = pod.spec.get("affinity", {}).get("nodeAffinity", {}).get(key)
    return required is None or any(meets(term, node) for term in required["nodeSelectorTerms"])


def meets(term: Mapping[str, Any], node: Node) -> bool:
    """Match one term of node affinity."""
    expressions = term.get("matchExpressions", [])
    return bool(expressions) and all(holds(each, node.labels) for each in expressions)


def ports(pod: Pod) -> set[tuple[str, int, str]]:
    """The host ports that a pod takes."""
    return {
        (port.get("protocol", "TCP"), port["hostPort"], port.get("hostIP", "0.0.0.0"))
        for container in pod.spec["containers"]
        for port in container.get("ports", [])
    }


def collide(left: tuple[str, int, str], right: tuple[str, int, str]) -> bool:
    """Whether two host ports cannot stand side by side."""
    return left[:2] == right[:2] and (left[2] == right[2] or "0.0.0.0" in (left[2], right[2]))


def terms(pod: Pod, side: str, *, required: bool = True) -> list[Any]:
    """The terms of `podAffinity` or `podAntiAffinity`."""
    kind = "required" if required else "preferred"
    found: list[Any] = (
        pod.spec.get("affinity", {}).get(side, {}).get(f"{kind}DuringSchedulingIgnoredDuringExecution", [])
    )
    return found


def matches(term: Mapping[str, Any], holder: Pod, other: Pod) -> bool:
    """Whether a term of one pod means another."""
    namespaces = term.get("namespaces") or [holder.namespace]
    return other.namespace in namespaces and selects(term.get("labelSelector"), other.labels)


class Filters:
    """All filters over a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.by_name = {node.name: node for node in cluster.nodes}

    def on(self, node: Node) -> list[Pod]:
        """The pods on a node."""
        return [pod for pod in self.cluster.placed if pod.node == node.name]

    def evicted_from(self, node: Node) -> list[Pod]:
        """The pods on a node that have been evicted."""
        return [pod for pod in self.cluster.evicted if pod.node == node.name]

    def beside(self, node: Node, key: str) -> list[Pod]:
        """The pods in the domain of a node."""
        if key not in node.labels:
            return []
        same = {each.name for each in self.cluster.nodes if each.labels.get(key) == node.labels[key]}
        return [pod for pod in self.cluster.placed if pod.node in same]

    def permit(self, pod: Pod, node: Node) -> bool:
        """Ask every filter."""
        if node.offers["pods"] <= len(self.on(node)):
            return False
        if not self.permit_by_facts(pod, node):
            return False
        if any(collide(mine, theirs) for mine in ports(pod) for other in self.on(node) for theirs in ports(other)):
            return False
        return self.affine(pod, node) and self.spread(pod, node)

    def permit_by_facts(self, pod: Pod, node: Node) -> bool:
        """Ask the filters that look at the node alone."""
        if node.unschedulable and not tolerates(pod, CORDONED):
            return False
        return wants(pod, node) and tolerated(pod, node)

    def affine(self, pod: Pod, node: Node) -> bool:
        """Required affinity and anti-affinity, of the pod and against it."""
        wanted = terms(pod, "podAffinity")
        if wanted and not self.near(pod, node, wanted):
            return False
        for term in terms(pod, "podAntiAffinity"):
            if any(matches(term, pod, other) for other in self.beside(node, term["topologyKey"])):
                return False
        for other in self.cluster.placed:
            for term in terms(other, "podAntiAffinity"):
                key = term["topologyKey"]
                domain = self.by_name[other.node].labels.get(key)
                if matches(term, other, pod) and domain is not None and node.labels.get(key) == domain:
                    return False
        return True

    def near(self, pod: Pod, node: Node, wanted: list[Any]) -> bool:
        """Required affinity: pods that match all terms in each term's domain, or the first of a self-loving group."""
        if any(term["topologyKey"] not in node.labels for term in wanted):
            return False

        def liked(other: Pod) -> bool:
            return all(matches(term, pod, other) for term in wanted)

        if all(any(liked(other) for other in self.beside(node, term["topologyKey"])) for term in wanted):
            return True
        somewhere = any(
            liked(other) and any(term["topologyKey"] in self.by_name[other.node].labels for term in wanted)
            for other in self.cluster.placed
        )
        return not somewhere and liked(pod)

    def spread(self, pod: Pod, node: Node) -> bool:
        """Topology spread that says DoNotSchedule."""
        constraints = pod.spec.get("topologySpreadConstraints", [])
        hard = [each for each in constraints if each["whenUnsatisfiable"] == "DoNotSchedule"]
        keys = [each["topologyKey"] for each in hard]
        for each in hard:
            key = each["topologyKey"]
            if key not in node.labels:
                return False
            counts: dict[str, int] = {}
            for other in self.cluster.nodes:
                if all(name in other.labels for name in keys) and self.counts_for(pod, other, each):
                    found = sum(self.spreads(pod, each, placed) for placed in self.on(other))
                    counts[other.labels[key]] = counts.get(other.labels[key], 0) + found
            least = min(counts.values()) if len(counts) >= each.get("minDomains", 1) and counts else 0
            itself = selects(each.get("labelSelector"), pod.labels)
            if counts.get(node.labels[key], 0) + itself - least > each["maxSkew"]:
                return False
        return True

    def counts_for(self, pod: Pod, node: Node, constraint: Mapping[str, Any]) -> bool:
        """The inclusion policies of a constraint."""
        if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not wants(pod, node):
            return False
        return constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or tolerated(pod, node)

    @staticmethod
    def spreads(pod: Pod, constraint: Mapping[str, Any], other: Pod) -> bool:
        """Whether a pod counts for a constraint."""
        same = other.namespace == pod.namespace and not other.terminating
        return same and selects(constraint.get("labelSelector"), other.labels)
