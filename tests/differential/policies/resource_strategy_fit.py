"""Fullness, scarce resources and room beside devices, node by node: what docs/plugins/resource-strategy-fit.md says."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tests.differential.cluster import Node, Pod
from tests.differential.filters import Filters
from tests.differential.policy import Policy
from tests.differential.scores import used

TYPE = "volcano.sh/resource-strategy-scoring-type"
WEIGHT = "volcano.sh/resource-strategy-weight"
DEFAULT = {name: {"type": "LeastAllocated", "weight": 1} for name in ("cpu", "memory")}
UNIT = 1000
"""What one device or CPU counts."""


class ResourceStrategyFit(Policy):
    """Nodes that fit."""

    name = "resource-strategy-fit"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.filters = Filters(self.cluster)

    def permits(self, pod: Pod, node: Node) -> bool:
        """Whether enough is left beside idle devices, for a pod that asks for none."""
        terms = self.arguments.get("proportional", {})
        devices = [each.strip() for each in terms.get("resources", "").split(",") if each.strip()]
        if not terms.get("enable") or any(pod.request.get(device) for device in devices):
            return True
        for device in devices:
            if device not in node.offers:
                continue
            units = Fraction(self.idle(node, device), UNIT)
            for name, unit in (("cpu", 1000), ("memory", 10**9)):
                rate = Fraction(str(terms.get("resourceProportion", {}).get(f"{device}.{name}", 1)))
                if self.idle(node, name) - pod.request.get(name, 0) < units * rate * unit:
                    return False
        return True

    def idle(self, node: Node, name: str) -> int:
        """What is free."""
        return node.offers.get(name, 0) - used(self.filters, node, name, viewed=False)

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """Fullness, and how little that is scarce a node has."""
        weight = self.arguments.get("resourceStrategyFitWeight", 10)
        return {node.name: 100 * weight * self.fit(pod, node) + self.scarce(pod, node) for node in nodes}

    def fit(self, pod: Pod, node: Node) -> float:
        """How well a pod fits, from 0 to 1."""
        total, weights = 0.0, 0
        for name, request in pod.request.items():
            strategy = self.strategy(pod, name)
            if strategy is None or not request:
                continue
            weights += strategy["weight"]
            offered = node.offers.get(name, 0)
            if not offered:
                continue
            after = offered - self.idle(node, name) + request
            if after > offered:
                return 0.0
            if strategy["type"] == "MostAllocated":
                total += strategy["weight"] * after / offered
            elif strategy["type"] == "LeastAllocated":
                total += strategy["weight"] * (offered - after) / offered
        return total / weights if weights else 0.0

    def strategy(self, pod: Pod, name: str) -> Mapping[str, Any] | None:
        """What is to be done with a resource: by the pod's annotations, else by name, else by the longest prefix."""
        annotations = pod.object["metadata"]["annotations"]
        if annotations.get(TYPE):
            try:
                weights = json.loads(annotations[WEIGHT])
                return {"type": annotations[TYPE], "weight": weights[name]}
            except (KeyError, ValueError):
                return None
        strategies = self.arguments.get("resources") or DEFAULT
        found = [each for each in strategies if each == name]
        found += sorted(
            (each for each in strategies if each.endswith("*") and name.startswith(each[:-1])), key=len, reverse=True
        )
        return strategies[found[0]] if found else None

    def scarce(self, pod: Pod, node: Node) -> float:
        """Leave nodes that have what is scarce to others."""
        terms = self.arguments.get("sra", {})
        names = [each.strip() for each in terms.get("resources", "").split(",") if each.strip()]
        if not terms.get("enable") or not names:
            return 0.0
        if any(request and not node.offers.get(name) for name, request in pod.request.items()):
            return 0.0
        weights = {name: terms.get("resourceWeight", {}).get(name, 1) for name in names}
        present = sum(weight for name, weight in weights.items() if node.offers.get(name))
        return float((1 - present / sum(weights.values())) * 100 * terms.get("weight", 0))
