"""Load of nodes by the measurements of Koordinator's agent, pod by pod: what docs/plugins/load-aware.md says."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from tests.differential.cluster import Node, Pod, amount
from tests.differential.policy import Policy

BOTH = ("cpu", "memory")
LIGHT = {"cpu": 250, "memory": 200 * 2**20}
FACTORS = {"cpu": 85, "memory": 70}
THRESHOLDS = {"cpu": 65, "memory": 95}
DOMAIN = "scheduling.koordinator.sh/"

Amounts = dict[str, int]


class LoadAware(Policy):
    """Nodes that use little."""

    name = "load-aware"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.metrics = {each["metadata"]["name"]: each for each in self.cluster.of_kind("NodeMetric")}

    def permits(self, pod: Pod, node: Node) -> bool:
        """Whether a node uses little enough, with the pod on it."""
        if any(owner["kind"] == "DaemonSet" for owner in pod.object["metadata"].get("ownerReferences", [])):
            return True
        metric = self.metrics.get(node.name)
        thresholds, way = self.thresholds(pod, node)
        if metric is None or not any(thresholds.values()):
            return True
        if self.arguments.get("filterExpiredNodeMetrics", True) and self.is_old(metric):
            return bool(self.arguments.get("enableScheduleWhenNodeMetricsExpired", False))
        if "nodeMetric" not in metric["status"]:
            return True
        return not any(thresholds.get(name, 0) and self.part(pod, node, name, way) > thresholds[name] for name in BOTH)

    def part(self, pod: Pod, node: Node, name: str, way: tuple[str, str]) -> int:
        """How much of a resource is in use with the pod, whole percent, halves up."""
        used = self.load(node, name, way) + self.estimate(pod)[name]
        return math.floor(Fraction(used * 100, node.offers[name]) + Fraction(1, 2)) if node.offers[name] else 0

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """What is left."""
        weights = self.arguments.get("resourceWeights", {})
        dominant = self.arguments.get("dominantResourceWeight", 0)
        if not weights and not dominant:
            weights = {"cpu": 1, "memory": 1}
        statistics = self.arguments.get("aggregated", {})
        way = statistics.get("scoreAggregationType", ""), statistics.get("scoreAggregatedDuration", "")
        if self.arguments.get("scoreAccordingProdUsage", False) and self.is_prod(pod):
            way = "prod", ""
        scores = {}
        for node in nodes:
            metric = self.metrics.get(node.name)
            if metric is None or self.is_old(metric) or "nodeMetric" not in metric["status"]:
                continue
            left = {name: self.left(pod, node, name, way) for name in BOTH}
            total = sum(left[name] * weights.get(name, 0) for name in BOTH) + min(left.values()) * dominant
            scores[node.name] = float(total // (sum(weights.values()) + dominant) * self.arguments.get("weight", 1))
        return scores

    def left(self, pod: Pod, node: Node, name: str, way: tuple[str, str]) -> int:
        """How much of a resource is left with the pod, whole percent."""
        offers, used = node.offers[name], self.load(node, name, way) + self.estimate(pod)[name]
        return (offers - used) * 100 // offers if used <= offers and offers else 0

    def thresholds(self, pod: Pod, node: Node) -> tuple[Amounts, tuple[str, str]]:
        """What holds for a pod on a node, and which way of measuring."""
        own = json.loads(node.object["metadata"].get("annotations", {}).get(DOMAIN + "usage-thresholds", "{}"))
        prod = own.get("prodUsageThresholds") or self.arguments.get("prodUsageThresholds", {})
        if any(prod.values()) and self.is_prod(pod):
            return prod, ("prod", "")
        for statistics in (own.get("aggregatedUsage", {}), self.arguments.get("aggregated", {})):
            if statistics.get("usageThresholds") and statistics.get("usageAggregationType"):
                kind = statistics["usageAggregationType"], statistics.get("usageAggregatedDuration", "")
                return statistics["usageThresholds"], kind
        return own.get("usageThresholds") or self.arguments.get("usageThresholds") or THRESHOLDS, ("", "")

    def load(self, node: Node, name: str, way: tuple[str, str]) -> int:
        """What a node is taken to use without the pod to come."""
        metric = self.metrics[node.name]
        pods = [pod for pod in (*self.cluster.placed, *self.cluster.evicted) if pod.node == node.name]
        if way[0] == "prod":
            system = self.arguments.get("prodUsageIncludeSys", False)
            base = self.read(metric["status"].get("nodeMetric", {}).get("systemUsage", {}), name) if system else 0
            return base + sum(self.of_prod(pod, metric, name) for pod in pods if self.is_prod(pod))
        reported = self.reported(metric, way)
        if reported is None:
            return sum(self.estimate(pod)[name] for pod in pods)
        return self.read(reported, name) + sum(self.unseen(pod, metric, name) for pod in pods)

    def reported(self, metric: Mapping[str, Any], way: tuple[str, str]) -> Mapping[str, Any] | None:
        """What a metric says of all of a node; None where it lacks the period that was asked for."""
        info, (kind, period) = metric["status"]["nodeMetric"], way
        usage: Mapping[str, Any] = info["nodeUsage"]
        if not kind:
            return usage
        there = {
            each["duration"]: each["usage"][kind]
            for each in info["aggregatedNodeUsages"]
            if each["usage"].get(kind, {}).get("resources")
        }
        if period:
            return there.get(period)
        return there[max(there, key=lambda each: int(each.removesuffix("m")))] if there else usage

    def unseen(self, pod: Pod, metric: Mapping[str, Any], name: str) -> int:
        """What a pod is taken to use beyond what is measured."""
        measured = self.measured(pod, metric)
        if measured is None:
            return self.estimate(pod)[name]
        above = max(self.estimate(pod)[name] - self.read(measured["podUsage"], name), 0)
        return above if self.is_recent(pod, metric) else 0

    def of_prod(self, pod: Pod, metric: Mapping[str, Any], name: str) -> int:
        """What a pod of koord-prod adds to what such pods use."""
        measured = self.measured(pod, metric)
        if measured is None or measured["priority"] != "koord-prod":
            return self.estimate(pod)[name]
        return self.read(measured["podUsage"], name) + self.unseen(pod, metric, name)

    @staticmethod
    def measured(pod: Pod, metric: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What was measured of a pod."""
        found: Iterator[Mapping[str, Any]] = (
            each
            for each in metric["status"]["podsMetric"]
            if f"{each['namespace']}/{each['name']}" == pod.key and each["podUsage"]["resources"]
        )
        return next(found, None)

    def is_recent(self, pod: Pod, metric: Mapping[str, Any]) -> bool:
        """Whether a pod came so late that what is measured of it is not all."""
        at, interval = moment(metric["status"].get("updateTime")), 60
        interval = metric["spec"]["metricCollectPolicy"].get("reportIntervalSeconds", interval)
        true = {
            each["type"]: moment(each["lastTransitionTime"])
            for each in pod.object["status"].get("conditions", [])
            if each["status"] == "True"
        }
        placed = true.get("PodScheduled") or moment(pod.object["status"].get("startTime")) or math.inf
        after_start, after_binding = self.seconds(pod, "initialized"), self.seconds(pod, "pod-scheduled")
        if after_start and "Initialized" in true:
            until = true["Initialized"] + after_start
        else:
            until = placed + after_binding if after_binding else 0.0
        return placed > at - interval or until > at

    def seconds(self, pod: Pod, after: str) -> int:
        """How long an estimate counts after something."""
        argument = {"initialized": "AfterInitialized", "pod-scheduled": "AfterPodScheduled"}[after]
        given: int = self.arguments.get(f"estimatedSeconds{argument}", 0)
        own = pod.object["metadata"]["annotations"].get(f"{DOMAIN}load-estimated-seconds-after-{after}")
        return int(own) if own and self.arguments.get("allowCustomizeEstimation", False) else given

    def estimate(self, pod: Pod) -> Amounts:
        """What a pod is taken to use."""
        factors = FACTORS | self.arguments.get("estimatedScalingFactors", {})
        own = pod.object["metadata"]["annotations"].get(f"{DOMAIN}load-estimated-scaling-factors")
        if own and self.arguments.get("allowCustomizeEstimation", False):
            factors |= json.loads(own)
        found = {}
        for name in BOTH:
            request, limit = self.asks(pod, name)
            most = max(request, limit)
            if self.kind(pod) == "koord-free":
                found[name] = 0
            elif not most:
                found[name] = 0 if self.kind(pod) == "koord-mid" else LIGHT[name]
            else:
                likely = math.floor(Fraction(most * factors[name], 100) + Fraction(1, 2))
                found[name] = min(likely, limit) if limit else likely
        return found

    def asks(self, pod: Pod, name: str) -> tuple[int, int]:
        """What a pod asks for, and may use at most: nothing, where it asks by a name that its class does not use."""
        if self.kind(pod) in ("koord-batch", "koord-mid"):
            return 0, 0
        limits = [container["resources"].get("limits", {}).get(name, 0) for container in pod.spec["containers"]]
        return pod.request.get(name, 0), sum(amount(name, str(each)) for each in limits)

    def kind(self, pod: Pod) -> str:
        """The class of a pod: no generated one has a priority that gives one."""
        label = str(pod.labels.get("koordinator.sh/priority-class", ""))
        is_light = all(
            not amount(name, str(value))
            for container in pod.spec["containers"]
            for side in ("requests", "limits")
            for name, value in container["resources"].get(side, {}).items()
            if name in BOTH
        )
        return label or ("koord-batch" if is_light else "koord-prod")

    def is_prod(self, pod: Pod) -> bool:
        """Whether a pod is of the highest class."""
        return self.kind(pod) == "koord-prod"

    def is_old(self, metric: Mapping[str, Any]) -> bool:
        """Whether the usage of a node is unknown."""
        lasts = self.arguments.get("nodeMetricExpirationSeconds", 180)
        at = moment(metric["status"].get("updateTime"))
        return not at or self.now - at >= lasts

    @staticmethod
    def read(use: Mapping[str, Any], name: str) -> int:
        """Read an amount."""
        return amount(name, str(use.get("resources", {}).get(name, 0)))


def moment(text: str | None) -> float:
    """Read a time; 0 for none."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0
