"""Idle and busy nodes, pod by pod: what docs/plugins/rescheduling.md says of lowNodeUtilization."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tests.differential.cluster import Node, Pod
from tests.differential.policy import Policy

BOTH = ("cpu", "memory")
FRESH_SECONDS = 300


@dataclass
class Load:
    """How busy a node is, in percent by resource."""

    node: Node
    used: dict[str, Fraction]


class Rescheduling(Policy):
    """Pods that leave busy nodes as far as idle nodes have room."""

    name = "rescheduling"

    def names(self, pods: Sequence[Pod]) -> list[Pod]:
        """From the busiest node on."""
        interval = int(self.arguments["interval"].removesuffix("s"))
        if self.last is None or self.now <= self.last + interval:
            return []
        params = self.arguments["strategies"][0]["params"]
        low, high = (
            {name: params[each].get(name, 100) for name in BOTH} for each in ("thresholds", "targetThresholds")
        )
        loads = self.loads()
        quiet = [load for load in loads if all(load.used[name] < low[name] for name in BOTH)]
        idle = [load for load in quiet if not load.node.unschedulable]
        busy = [load for load in loads if load not in quiet and any(load.used[name] > high[name] for name in BOTH)]
        if not idle or not busy:
            return []
        room = {name: sum(self.left(load, name, high[name]) for load in idle) for name in BOTH}
        named = []
        for load in sorted(busy, key=lambda load: (-sum(load.used.values()), load.node.name)):
            there = [pod for pod in self.cluster.placed if pod.node == load.node.name]
            for pod in sorted(there, key=lambda pod: (pod.priority, quality(pod), pod.key)):
                if all(load.used[name] < high[name] for name in BOTH) or not all(room.values()):
                    break
                if pod in pods:
                    named.append(pod)
                    for name in BOTH:
                        room[name] -= pod.request.get(name, 0)
                        load.used[name] -= Fraction(100 * pod.request.get(name, 0), load.node.offers[name])
        return named

    def loads(self) -> list[Load]:
        """Nodes as they were measured; what was measured too long ago is no measurement to act on."""
        measured = {each["metadata"]["name"]: each for each in self.cluster.of_kind("NodeUsage")}
        if self.arguments.get("metricsPeriod") != "10m":
            measured = {}
        loads = []
        for node in self.cluster.nodes:
            usage = measured.get(node.name)
            if usage is None:
                loads.append(Load(node, dict.fromkeys(BOTH, Fraction(0))))
            elif usage["measured"] >= self.now - FRESH_SECONDS:
                percents = (usage["cpuPercent"], usage["memoryPercent"])
                loads.append(Load(node, dict(zip(BOTH, map(Fraction, percents), strict=True))))
        return loads

    @staticmethod
    def left(load: Load, name: str, target: int) -> int:
        """What an idle node may take of a resource."""
        offered = load.node.offers[name]
        return offered * target // 100 - int(load.used[name] * offered / 100)


def quality(pod: Pod) -> int:
    """0 for BestEffort, 1 for Burstable, 2 for Guaranteed."""
    resources = [container["resources"] for container in pod.spec["containers"]]
    if not any(each.get(side, {}).get(name) for each in resources for side in ("requests", "limits") for name in BOTH):
        return 0
    promised = all(
        name in each.get("limits", {}) and each["limits"][name] == each.get("requests", {}).get(name)
        for each in resources
        for name in BOTH
    )
    return 2 if promised else 1
