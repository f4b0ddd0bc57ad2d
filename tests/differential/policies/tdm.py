"""Revocable nodes, pod by pod: what docs/plugins/tdm.md says."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from tests.differential.cluster import Group, Node, Pod
from tests.differential.policy import Key, Policy, Rule

ZONE = "volcano.sh/revocable-zone"
PREEMPTABLE = "volcano.sh/preemptable"
WINDOW = "tdm.revocable-zone."
LEAST = "volcano.sh/jdb-min-available"
MOST = "volcano.sh/jdb-max-unavailable"
ACTIVE = ("Running", "Bound", "Binding", "Allocated")


class Tdm(Policy):
    """Revocable nodes in their windows, for those who asked for them."""

    name = "tdm"
    together: ClassVar[bool] = True

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.taken_whole: set[str] = set()
        """Gangs that are evicted whole if they cannot spare a named pod."""

    # Places

    def permits(self, pod: Pod, node: Node) -> bool:
        """Revocable nodes while their window is open, for pods that may use them."""
        zone = node.labels.get(ZONE, "")
        return not zone or (self.is_open(zone) and uses_revocable(pod))

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """Prefer them where they may be used."""
        return {node.name: 100.0 for node in nodes if node.labels.get(ZONE) and self.permits(pod, node)}

    def is_open(self, zone: str) -> bool:
        """Whether the window of a zone is open, both ends included: today's, or one that began yesterday."""
        window = self.arguments.get(WINDOW + zone)
        if window is None:
            return False
        now = datetime.fromtimestamp(int(self.now), UTC)
        for day in (now.date(), now.date() - timedelta(days=1)):
            midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
            start, end = (midnight + timedelta(minutes=minutes(each)) for each in window.split("-"))
            if start <= now <= (end if start < end else end + timedelta(days=1)):
                return True
        return False

    # Jobs

    def job_key(self, group: Group) -> Key:
        """Those that may not be preempted first."""
        return (may_be_preempted(group),)

    def holds(self, group: Group) -> int:
        """Places of those that have their minimum with what waits."""
        return 1 if group.ready + group.light + group.count("Pipelined") >= group.minimum else -1

    def starves(self, group: Group) -> bool | None:
        """Those that may not be preempted and wait for something."""
        return not may_be_preempted(group) and group.count("Pending") > 0

    # Victims

    def rules(self, point: str) -> Rule | None:
        """Preempting alone is ruled."""
        return self.preemptable if point == "preemptable" else None

    def preemptable(self, pod: Pod, candidates: list[Pod]) -> list[Pod]:
        """For those who can go nowhere else: pods on nodes that stay, as many of a group as its budget allows."""
        if pod.preemptable or uses_revocable(pod):
            return []
        return self.cut(
            each for each in candidates if each.preemptable and each.status == "Running" and self.stays(each)
        )

    def names(self, pods: Sequence[Pod]) -> list[Pod]:
        """Pods on nodes that must be given back; last ones first."""
        period = {"s": 1, "m": 60}
        text = self.arguments.get("tdm.evict.period", "1m")
        if self.last is not None and self.last + int(text[:-1]) * period[text[-1]] > self.now:
            return []
        named = self.cut(pod for pod in pods if pod.preemptable and self.is_late(pod))
        self.taken_whole = {pod.group for pod in named if self.may_take_whole(self.cluster.groups[pod.group])}
        return named

    def may_take_whole(self, group: Group) -> bool:
        """Whether a gang has no budget, or one that permits all of it."""
        annotations = group.object["metadata"]["annotations"]
        has_budget = LEAST in annotations or MOST in annotations
        is_free = not has_budget or budget(group) >= group.count(*ACTIVE)
        return bool(self.arguments.get("tdm.evict.wholeGangs", True)) and is_free

    def takes_gang(self, pod: Pod) -> bool:
        """As its budget was when it was named."""
        return pod.group in self.taken_whole

    def breaks_gang(self, pod: Pod) -> bool:
        """Any other gang: the node must be returned."""
        return not self.takes_gang(pod)

    def bound_of(self, pod: Pod) -> str:
        """The window of its zone."""
        return self.zone_of(pod)

    def is_late(self, pod: Pod) -> bool:
        """Whether the window of a pod's zone is closed; one without a window is never emptied."""
        zone = self.zone_of(pod)
        return bool(zone) and WINDOW + zone in self.arguments and not self.is_open(zone)

    def stays(self, pod: Pod) -> bool:
        """Whether a pod's node cannot be taken back."""
        return any(node.name == pod.node for node in self.cluster.nodes) and not self.zone_of(pod)

    def zone_of(self, pod: Pod) -> str:
        """The zone of a pod's node; empty for none."""
        return next((node.labels.get(ZONE, "") for node in self.cluster.nodes if node.name == pod.node), "")

    def cut(self, pods: Iterable[Pod]) -> list[Pod]:
        """The first of each group, as many as may go at once."""
        taken: Counter[str] = Counter()
        kept = []
        for pod in pods:
            taken[pod.group] += 1
            if taken[pod.group] <= budget(self.cluster.groups[pod.group]):
                kept.append(pod)
        return kept


def minutes(clock: str) -> int:
    """Read a time of day."""
    hour, minute = clock.split(":")
    return 60 * int(hour) + int(minute)


def uses_revocable(pod: Pod) -> bool:
    """Whether a pod may use revocable nodes."""
    annotations = pod.object["metadata"]["annotations"]
    if ZONE in annotations:
        return bool(annotations[ZONE] == "*")
    return bool(annotations.get(PREEMPTABLE) == "true")


def may_be_preempted(group: Group) -> bool:
    """Whether a group's owner said so."""
    return bool(group.object["metadata"]["annotations"].get(PREEMPTABLE) == "true")


def budget(group: Group) -> int:
    """How many pods of a group may go now."""
    annotations, running = group.object["metadata"]["annotations"], group.count("Running")
    if LEAST in annotations:
        least = read(annotations[LEAST], group)
        return running - least if running >= least else 1
    if MOST in annotations:
        missing = len(group.pods) - group.count("Succeeded", "Failed") - running
        return max(0, read(annotations[MOST], group) - missing)
    return 1


def read(text: str, group: Group) -> int:
    """Read a number of pods, or a percentage of all, rounded up."""
    return math.ceil(int(text[:-1]) * len(group.pods) / 100) if text.endswith("%") else int(text)
