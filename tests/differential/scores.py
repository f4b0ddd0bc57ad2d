"""How good nodes are for a pod: the formulas of nodeorder and binpack, node by node."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.cluster import Node, Pod
from tests.differential.filters import Filters, matches, meets, terms, tolerates

HOSTNAME = "kubernetes.io/hostname"


def used(filters: Filters, node: Node, name: str, *, viewed: bool) -> int:
    """What pods take of a node: with those that wait there as filters see it, without as the room is counted."""
    there = filters.on(node)
    if not viewed:
        there = [pod for pod in there if pod.status != "Pipelined"] + filters.evicted_from(node)
    return sum(pod.request.get(name, 0) for pod in there)


def nodeorder(filters: Filters, pod: Pod, nodes: Sequence[Node]) -> dict[str, float]:
    """Add up all scores with their default weights; images are not looked at."""
    total = {node.name: float(least(filters, pod, node) + balanced(filters, pod, node)) for node in nodes}
    for weight, scores in (
        (2, preferred_nodes(pod, nodes)),
        (2, preferred_pods(filters, pod, nodes)),
        (3, avoided(pod, nodes)),
        (2, evenly(filters, pod, nodes)),
    ):
        for name, score in scores.items():
            total[name] += weight * score
    return total


def least(filters: Filters, pod: Pod, node: Node) -> int:
    """LeastAllocated."""
    found = []
    for index, name in enumerate(("cpu", "memory")):
        offered = node.offers.get(name, 0)
        if offered:
            asked = pod.scored[index] + sum(other.scored[index] for other in filters.on(node))
            found.append(0 if asked > offered else (offered - asked) * 100 // offered)
    return sum(found) // len(found) if found else 0


def balanced(filters: Filters, pod: Pod, node: Node) -> int:
    """BalancedAllocation of Kubernetes 1.36."""
    names = [name for name in ("cpu", "memory", "nvidia.com/gpu") if pod.request.get(name)]
    if not names:
        return 0
    names = ["cpu", "memory", *(["nvidia.com/gpu"] if "nvidia.com/gpu" in names else [])]
    before = {name: used(filters, node, name, viewed=True) for name in names}
    after = {name: before[name] + pod.request.get(name, 0) for name in names}
    return 50 + (50 + evenness(after, node) - evenness(before, node)) // 2


def evenness(amounts: Mapping[str, int], node: Node) -> int:
    """How evenly amounts would fill a node."""
    parts = [min(1.0, number / node.offers[name]) for name, number in amounts.items() if node.offers.get(name)]
    if len(parts) == 2:
        deviation = abs(parts[0] - parts[1]) / 2
    else:
        mean = sum(parts) / len(parts) if parts else 0.0
        deviation = math.sqrt(sum((part - mean) ** 2 for part in parts) / len(parts)) if parts else 0.0
    return int((1 - deviation) * 100)


def preferred_nodes(pod: Pod, nodes: Sequence[Node]) -> dict[str, float]:
    """Preferred node affinity, scaled to the best candidate."""
    affinity = pod.spec.get("affinity", {}).get("nodeAffinity", {})
    wishes = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    raw = {node.name: sum(each["weight"] for each in wishes if meets(each["preference"], node)) for node in nodes}
    most = max(raw.values(), default=0)
    return {name: 100 * number // most if most else 0 for name, number in raw.items()}


def avoided(pod: Pod, nodes: Sequence[Node]) -> dict[str, float]:
    """Taints to be avoided, scaled to the worst candidate and turned round."""
    kind = "PreferNoSchedule"
    raw = {
        node.name: sum(each["effect"] == kind and not tolerates(pod, each, ("", kind)) for each in node.taints)
        for node in nodes
    }
    most = max(raw.values(), default=0)
    return {name: 100 - 100 * number // most if most else 100 for name, number in raw.items()}


def preferred_pods(filters: Filters, pod: Pod, nodes: Sequence[Node]) -> dict[str, float]:
    """Preferred pod affinity of the pod, and of pods on nodes towards it."""
    raw = dict.fromkeys((node.name for node in nodes), 0)
    for other in filters.cluster.placed:
        at = filters.by_name[other.node]
        for side, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
            mine = ((each, pod, other) for each in terms(pod, side, required=False))
            theirs = ((each, other, pod) for each in terms(other, side, required=False))
            for wish, holder, meant in (*mine, *theirs):
                term = wish["podAffinityTerm"]
                domain = at.labels.get(term["topologyKey"])
                if domain is not None and matches(term, holder, meant):
                    for node in nodes:
                        if node.labels.get(term["topologyKey"]) == domain:
                            raw[node.name] += sign * wish["weight"]
    low, high = min(raw.values(), default=0), max(raw.values(), default=0)
    if low == high:
        return dict.fromkeys(raw, 0)
    return {name: math.floor(100 * ((number - low) / (high - low))) for name, number in raw.items()}


def evenly(filters: Filters, pod: Pod, nodes: Sequence[Node]) -> dict[str, float]:
    """Topology spread that says ScheduleAnyway."""
    constraints = pod.spec.get("topologySpreadConstraints", [])
    soft = [each for each in constraints if each["whenUnsatisfiable"] == "ScheduleAnyway"]
    if not soft:
        return {}
    keys = [each["topologyKey"] for each in soft]
    keyed = [node for node in nodes if all(key in node.labels for key in keys)]
    raw = dict.fromkeys((node.name for node in keyed), 0.0)
    for each in soft:
        key = each["topologyKey"]
        size = len(keyed) if key == HOSTNAME else len({node.labels[key] for node in keyed})
        for node in keyed:
            raw[node.name] += domain_count(filters, pod, each, node, keys) * math.log(size + 2) + (each["maxSkew"] - 1)
    rounded = {name: round(number) for name, number in raw.items()}
    low, high = min(rounded.values(), default=0), max(rounded.values(), default=0)
    return {name: 100 * (high + low - number) // high if high else 100 for name, number in rounded.items()}


def domain_count(filters: Filters, pod: Pod, constraint: Mapping[str, Any], node: Node, keys: Sequence[str]) -> int:
    """Count matching pods in a node's domain; by hostname on the node itself."""
    key = constraint["topologyKey"]
    if key == HOSTNAME:
        return sum(filters.spreads(pod, constraint, other) for other in filters.on(node))
    return sum(
        filters.spreads(pod, constraint, other)
        for each in filters.cluster.nodes
        if each.labels.get(key) == node.labels[key]
        and all(name in each.labels for name in keys)
        and filters.counts_for(pod, each, constraint)
        for other in filters.on(each)
    )


def binpack(filters: Filters, pod: Pod, nodes: Sequence[Node]) -> dict[str, float]:
    """Fullness after the pod, by cpu and memory of equal weight."""
    scores = {}
    for node in nodes:
        total, weights = 0.0, 0
        for name in ("cpu", "memory"):
            asked, offered = pod.request.get(name, 0), node.offers.get(name, 0)
            if not asked:
                continue
            weights += 1
            taken = used(filters, node, name, viewed=False) + asked
            if offered and taken > offered:
                total, weights = 0.0, 1
                break
            total += taken / offered if offered else 0.0
        scores[node.name] = total / weights * 100 if weights else 0.0
    return scores


SCORES = {"nodeorder": nodeorder, "binpack": binpack}
