"""Measured load, node by node: what docs/plugins/usage.md says."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tests.differential.cluster import Node, Pod, amount
from tests.differential.policy import Policy

BOTH = ("cpu", "memory")
FRESH_SECONDS = 300
INTERVAL_SECONDS = 30
LIGHT = {"cpu": 250.0, "memory": 200.0 * 2**20}
PLACED_NOW = ("Allocated", "Pipelined", "Binding")


class Usage(Policy):
    """Nodes that are not in use."""

    name = "usage"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.measured = {each["metadata"]["name"]: each for each in self.cluster.of_kind("NodeUsage")}
        self.capacity = {
            node.name: {name: amount(name, str(node.object["status"]["capacity"][name])) for name in BOTH}
            for node in self.cluster.nodes
        }
        self.weights = {name: self.arguments.get(f"{name}.weight", 1) for name in BOTH}
        self.estimates: dict[str, tuple[str, dict[str, float]]] = {}
        """Node and estimate of each pod that no measurement shows yet, by its key."""
        for pod in sorted(self.cluster.placed, key=lambda pod: pod.key):
            if self.is_fresh(pod):
                self.estimates[pod.key] = pod.node, self.estimate(pod, pod.node)
        self.fresh = dict(self.estimates)
        """Those of pods that were there when the cycle began."""

    def permits(self, _pod: Pod, node: Node) -> bool:
        """Whether a node's measured load is at most its limits."""
        self.keep_up()
        usage = self.usable(node.name)
        if usage is None:
            return True
        limits = self.arguments.get("thresholds", {})
        return bool(usage["cpuPercent"] <= limits.get("cpu", 80) and usage["memoryPercent"] <= limits.get("mem", 80))

    def scores(self, _pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """What is not in use."""
        self.keep_up()
        weight = self.arguments.get("usage.weight", 5)
        return {
            node.name: self.weighted({name: 1 - self.used(node.name, name) for name in BOTH}) * 100 * weight
            for node in nodes
            if self.usable(node.name) is not None
        }

    def usable(self, node: str) -> Mapping[str, Any] | None:
        """What was measured of a node, not too long ago."""
        usage = self.measured.get(node)
        return usage if usage is not None and usage["measured"] >= self.now - FRESH_SECONDS else None

    def weighted(self, parts: Mapping[str, float]) -> float:
        """A mean by importance."""
        total = sum(self.weights.values())
        return sum(parts[name] * self.weights[name] for name in BOTH) / total if total else 0.0

    def used(self, node: str, name: str) -> float:
        """How much of a node is taken to be in use, 0 to 1."""
        usage, capacity = self.usable(node), self.capacity[node][name]
        assert usage is not None
        if not capacity:
            return 0.0
        estimated = sum(amounts[name] for on, amounts in self.estimates.values() if on == node)
        measured: float = usage[f"{name}Percent"]
        return min((measured / 100 * capacity + estimated) / capacity, 1.0)

    def estimate(self, pod: Pod, node: str) -> dict[str, float]:
        """What a pod is taken to use, more of it on a node that is loaded already."""
        terms = self.arguments.get("estimator", {})
        is_loaded = self.usable(node) is not None and (
            self.weighted({name: self.used(node, name) for name in BOTH}) >= terms.get("risk_threshold", 0.6)
        )
        risk = terms.get("risk_factor", 1.2) if is_loaded else 1
        if pod.best_effort:
            return {name: LIGHT[name] * risk for name in BOTH}
        estimate = {}
        for name in BOTH:
            request = pod.request.get(name, 0)
            limit = max(request, self.limit(pod, name))
            likely = request * terms.get("request_ratio", 0.7) + (limit - request) * terms.get("burst_ratio", 0.0)
            estimate[name] = min(likely * risk, limit)
        return estimate

    @staticmethod
    def limit(pod: Pod, name: str) -> int:
        """What a pod may use at most; 0 where nothing is said."""
        limits = [container["resources"].get("limits", {}).get(name, 0) for container in pod.spec["containers"]]
        return sum(amount(name, str(each)) for each in limits)

    def is_fresh(self, pod: Pod) -> bool:
        """Whether a pod is about to run, or began to a short while ago."""
        started = pod.object["status"].get("startTime")
        if pod.status == "Running":
            return not started or datetime.fromisoformat(started).timestamp() > self.now - INTERVAL_SECONDS
        return pod.status == "Bound"

    def keep_up(self) -> None:
        """Note who came and who left since."""
        there = {pod.key: pod for pod in self.cluster.placed if pod.status != "Releasing"}
        for key, (node, _) in list(self.estimates.items()):
            if key not in there or there[key].node != node:
                del self.estimates[key]
        for key, pod in there.items():
            if key in self.estimates:
                continue
            if key in self.fresh:
                self.estimates[key] = self.fresh[key]
            elif pod.status in PLACED_NOW:
                self.estimates[key] = pod.node, self.estimate(pod, pod.node)
