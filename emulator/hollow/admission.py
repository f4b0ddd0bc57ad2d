"""Admission: what a node refuses although it was chosen, as the kubelet does.

A pod is refused when its node selector or required node affinity does not match, when a `NoExecute` taint is not
tolerated, when a host port is taken, or when the sum of requests would exceed what the node offers. Extended resources
that the node does not publish are not looked at: agents beside the kubelet serve them. The reasons are the kubelet's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from pyroclast.emulator.kinds.quantities import amount
from pyroclast.model import wire

__all__ = ["Refusal", "Room", "pod_requests"]

Amount = int | Fraction
"""Exact; whole ones are integers, which add up many times faster than fractions do."""
Amounts = dict[str, Amount]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a pod fails on arrival: its status' reason and message."""

    reason: str
    message: str


@dataclass(slots=True, kw_only=True)
class Room:
    """A node as its kubelet sees it.

    Invariant: `used` is the sum of the requests of `pods`.
    """

    node: wire.Node
    """The node object."""
    pods: dict[str, Amounts] = field(default_factory=dict)
    """Requests by UID of the pods that were admitted and have not ended."""
    used: Amounts = field(default_factory=dict)
    ports: dict[str, frozenset[tuple[str, int, str]]] = field(default_factory=dict)
    """Host ports by UID of the pods that hold any."""

    def refuse(self, pod: wire.Pod) -> Refusal | None:
        """Say why a pod cannot stay; None when it can."""
        if not _matches_node(pod, self.node):
            return Refusal(reason="NodeAffinity", message="Predicate NodeAffinity failed: node(s) didn't match")
        if not _tolerates(pod, self.node):
            return Refusal(reason="TaintToleration", message="Predicate TaintToleration failed: NoExecute taint")
        requested = _host_ports(pod)
        if any(_collide(one, other) for held in self.ports.values() for one in requested for other in held):
            return Refusal(reason="NodePorts", message="Predicate NodePorts failed: a host port is taken")
        return self._refuse_amounts(pod_requests(pod))

    def take(self, pod: wire.Pod) -> None:
        """Give a pod its room; harmless when it has it already."""
        uid = pod.metadata.uid
        if uid in self.pods:
            return
        requests = pod_requests(pod)
        self.pods[uid] = requests
        for name, value in requests.items():
            self.used[name] = self.used.get(name, 0) + value
        if ports := _host_ports(pod):
            self.ports[uid] = ports

    def release(self, uid: str) -> None:
        """Take a pod's room back; harmless when it has none."""
        self.ports.pop(uid, None)
        for name, value in self.pods.pop(uid, {}).items():
            self.used[name] -= value

    def _refuse_amounts(self, requests: Amounts) -> Refusal | None:
        for name, value in requests.items():
            if _is_extended(name) and name not in self.node.status.allocatable:
                continue  # as kubelets do: others than the node serve it, Koordinator's agents its devices
            offered = _value(self.node.status.allocatable.get(name, 0))
            used = self.used.get(name, 0)
            if value and used + value > offered:
                return Refusal(
                    reason=f"OutOf{name}",
                    message=f"Node didn't have enough resource: {name}, requested: {_text(value)}, "
                    f"used: {_text(used)}, capacity: {_text(offered)}",
                )
        return None


def pod_requests(pod: wire.Pod) -> Amounts:
    """Return the requests of a pod on its node: containers, or the largest step of its initialisation, and overhead."""
    total: Amounts = {"pods": 1}
    for container in pod.spec.containers:
        _add(total, _requests(container.resources.requests))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        own = _requests(container.resources.requests)
        if container.restart_policy == "Always":
            # A sidecar stays: it counts with the containers, and beside each later step.
            _add(total, own)
            _add(sidecars, own)
            own = dict(sidecars)
        else:
            _add(own, sidecars)
        for name, value in own.items():
            peak[name] = max(peak.get(name, 0), value)
    for name, value in peak.items():
        total[name] = max(total.get(name, 0), value)
    if pod.spec.resources is not None:
        total.update(_requests(pod.spec.resources.requests))
    _add(total, _requests(pod.spec.overhead))
    return total


def _is_extended(resource: str) -> bool:
    """Return whether a resource is none of Kubernetes' own."""
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def _requests(resources: wire.ResourceList) -> Amounts:
    return {name: _value(quantity) for name, quantity in resources.items()}


def _value(quantity: wire.Quantity) -> Amount:
    value = amount(str(quantity)) or Fraction(0)
    return value.numerator if value.denominator == 1 else value


def _text(value: Amount) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value)}"


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _host_ports(pod: wire.Pod) -> frozenset[tuple[str, int, str]]:
    return frozenset(
        (port.protocol, port.host_port, port.host_ip or "0.0.0.0")  # noqa: S104  the API's word for every address
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port
    )


def _collide(one: tuple[str, int, str], other: tuple[str, int, str]) -> bool:
    everywhere = "0.0.0.0"  # noqa: S104  the API's word for every address
    return one[:2] == other[:2] and (everywhere in {one[2], other[2]} or one[2] == other[2])


def _tolerates(pod: wire.Pod, node: wire.Node) -> bool:
    return all(
        any(_bears(toleration, taint) for toleration in pod.spec.tolerations)
        for taint in node.spec.taints
        if taint.effect == "NoExecute"
    )


def _bears(toleration: wire.Toleration, taint: wire.Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return bool(toleration.operator == "Exists" or (toleration.key and toleration.value == taint.value))


def _matches_node(pod: wire.Pod, node: wire.Node) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    if not affinity or affinity.required is None:
        return True
    fields = {"metadata.name": node.metadata.name}
    return any(
        bool(term.match_expressions or term.match_fields)
        and _all_hold(term.match_expressions, labels)
        and _all_hold(term.match_fields, fields)
        for term in affinity.required.node_selector_terms
    )


def _all_hold(requirements: Iterable[wire.SelectorRequirement], values: Mapping[str, str]) -> bool:
    return all(_holds(requirement, values.get(requirement.key)) for requirement in requirements)


def _holds(requirement: wire.SelectorRequirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            try:
                have, bound = int(value or ""), int(requirement.values[0])
            except (ValueError, IndexError):
                return False
            return have > bound if requirement.operator == "Gt" else have < bound
    return False
