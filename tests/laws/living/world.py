"""The world of a scheduler: everything that may happen to a cluster beside scheduling, one event a method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from pyroclast.model.quantity import units
from pyroclast.model.usage import NodeUsage
from pyroclast.testing import Scenario
from pyroclast.testing.objects import GPU
from tests.elastic_quotas import elastic_quota
from tests.hypernodes import hyper_node
from tests.laws.living.cluster import LivingCluster
from tests.laws.living.configurations import FLAT, TREE, Setting
from tests.laws.living.jobs import GIB, PRIORITIES, QUEUES, Wish, objects_of
from tests.nodemetrics import node_metric

__all__ = ["DOMAINS", "GIB_A_CPU", "PARENTS", "PODS", "QUOTAS", "Terms", "World"]

START: Final = 1_800_000_000.0
GROUP_LABEL: Final = "volcano.sh/nodegroup-name"
ZONE_LABEL: Final = "volcano.sh/revocable-zone"
PODS: Final = 7
"""How many pods a node takes."""
PARENTS: Final = {"red": "left", "green": "left", "blue": "right", "left": "root", "right": "root"}
LEFT_LIMITS: Final = {"cpu": 14, GPU: 3, "memory": 24 * GIB}
"""What the queues of one branch may have together."""
GIB_A_CPU: Final = 2
"""Memory of a node for each of its CPUs."""
QUOTAS: Final[Mapping[str, tuple[int, int]]] = {"ants": (6, 14), "ant": (4, 10), "bee": (3, 9)}
"""Elastic quotas: guaranteed CPUs and most CPUs; `ants` stands above `ant`. They speak of CPUs alone."""
GROUPS: Final = ("fast", "slow", "")
"""Groups of nodes, dealt out in turn; the last have none."""
ZONES: Final = {"n1": "night", "n4": "day"}
"""Nodes that can be taken back, in configurations that look at that."""
QUOTA: Final = "default/quota"
RACKS: Final[Mapping[str, Sequence[str]]] = {"rack-0": ("n0", "n1"), "rack-1": ("n2", "n3"), "rack-2": ("n4", "n5")}
ROWS: Final[Mapping[str, Sequence[str]]] = {"row-0": ("rack-0", "rack-1"), "row-1": ("rack-2",)}
DOMAINS: Final = {
    **{name: (1, set(nodes)) for name, nodes in RACKS.items()},
    **{name: (2, {node for rack in racks for node in RACKS[rack]}) for name, racks in ROWS.items()},
}
"""Tier and nodes by domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a queue is set to get."""

    weight: int = 1
    deserved: int = 0
    """CPUs, and half as many GPUs."""
    capability: int | None = None
    """CPUs; no limit where None."""
    most_gpus: int | None = None
    """Limit of GPUs, where not None."""
    most_gib: int | None = None
    """Limit of memory, where not None."""
    guarantee: int = 0
    """CPUs."""
    reclaimable: bool = True
    state: str = "Open"
    affinity: Mapping[str, Any] | None = None
    """Groups of nodes that it may use, where a configuration looks at them."""

    @property
    def limits(self) -> Mapping[str, int]:
        """How much of what it may have, by resource; what is not named is not limited."""
        limits = {"cpu": self.capability, GPU: self.most_gpus}
        limits |= {"memory": None if self.most_gib is None else self.most_gib * GIB}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def object(self, name: str, parent: str) -> Mapping[str, Any]:
        """Return the queue."""
        deserved = min(self.deserved, self.capability) if self.capability is not None else self.deserved
        scenario = Scenario().queue(
            name,
            weight=self.weight,
            deserved={"cpu": deserved, GPU: deserved // 2} if deserved else None,
            capability=self.limits or None,
            guarantee={"cpu": min(self.guarantee, deserved)} if self.guarantee and deserved else None,
            parent=parent,
            reclaimable=self.reclaimable,
            state=self.state,
        )
        queue = scenario.objects[0]
        return {**queue, "spec": {**queue["spec"], "affinity": self.affinity}}


class World:
    """A cluster, those who use it, and what its scheduler remembers."""

    def __init__(self, *, is_tree: bool, nodes: Mapping[str, tuple[int, int]], terms: Mapping[str, Terms]) -> None:
        """Make nodes (CPUs and GPUs by name) and queues, without jobs."""
        self.now = START
        self.is_tree = is_tree
        self.nodes = dict(nodes)
        self.lost: dict[str, tuple[int, int]] = {}
        self.terms = dict(terms)
        self.jobs: dict[str, Wish] = {}
        self.settings = (*TREE, *FLAT) if is_tree else FLAT
        self.setting: Setting = self.settings[0]
        self.generation = 1
        self.memory: Memory | None = None
        self.settled = Settled()
        self.restarts = 0
        self._numbers = 0
        self.cluster = LivingCluster(self._beginning())
        self.log: list[str] = []
        """Events in order, for the reader of a failure."""

    def _beginning(self) -> list[Mapping[str, Any]]:
        scenario = Scenario()
        for name, value in PRIORITIES.items():
            scenario = scenario.priority_class(name, value, policy="Never" if name == "meek" else "")
        for name, members in RACKS.items():
            scenario = scenario.add(hyper_node(name, 1, "Node", list(members)))
        for name, members in ROWS.items():
            scenario = scenario.add(hyper_node(name, 2, "HyperNode", list(members)))
        if self.is_tree:
            scenario = scenario.queue("root").queue("right", parent="root")
            scenario = scenario.queue("left", parent="root", capability=LEFT_LIMITS)
        scenario = scenario.add(*(self._queue(name) for name in QUEUES))
        for name, (least, most) in QUOTAS.items():
            above = "ants" if name == "ant" else ""
            quota = elastic_quota(
                name, least={"cpu": least}, most={"cpu": most}, parent=above, is_parent=name == "ants"
            )
            scenario = scenario.add(quota)
        return [*scenario.objects, *(self._node(name) for name in self.nodes)]

    def _queue(self, name: str) -> Mapping[str, Any]:
        return self.terms[name].object(name, PARENTS[name] if self.is_tree else "")

    def _node(self, name: str) -> Mapping[str, Any]:
        cpu, gpu = self.nodes[name]
        group = GROUPS[int(name[1:]) % len(GROUPS)]
        labels = {GROUP_LABEL: group} if group else {}
        labels |= {ZONE_LABEL: ZONES[name]} if name in ZONES else {}
        scenario = Scenario().node(
            name, cpu=cpu, memory=f"{cpu * GIB_A_CPU}Gi", gpu=gpu or None, pods=PODS, labels=labels
        )
        return scenario.objects[0]

    def limits_of(self, queue: str) -> Mapping[str, int]:
        """Return how much a queue may have, by resource."""
        return LEFT_LIMITS if queue == "left" else self.terms[queue].limits if queue in self.terms else {}

    # Jobs -------------------------------------------------------------------------------------------------------------

    def come(self, wish: Wish) -> str:
        """Let a job come."""
        name = f"j{self._numbers}"
        self._numbers += 1
        self.jobs[name] = wish
        self.cluster.put(objects_of(name, wish, wire.time_text(self.now + self._numbers / 100)))
        self.log.append(f"{name} comes: {wish}")
        return name

    def leave(self, pick: int) -> None:
        """Let a job be deleted with all its pods."""
        name = _picked(sorted(self.jobs), pick)
        if name is None:
            return
        for pod in self._pods_of(name):
            self.cluster.delete_pod(pod, self.now, made_anew=False)
        self.cluster.drop("PodGroup", f"default/{name}")
        if self._has_budget(name):
            self.cluster.drop("PodDisruptionBudget", f"default/{name}")
        del self.jobs[name]
        self.log.append(f"{name} is deleted")

    def end_pod(self, pick: int, phase: str) -> None:
        """Let a pod that runs succeed or fail."""
        running = [pod for pod in self.cluster.pods() if _runs(pod)]
        pod = _picked(running, pick)
        if pod is not None:
            self.cluster.end(pod, phase)
            self.log.append(f"{pod.metadata.name} has {phase}")

    def end_job(self, pick: int) -> None:
        """Let all pods of a job succeed that run."""
        name = _picked(sorted(self.jobs), pick)
        for pod in self._pods_of(name) if name is not None else ():
            if _runs(pod):
                self.cluster.end(pod, "Succeeded")
        self.log.append(f"what runs of {name} succeeds")

    def end_oldest(self) -> None:
        """Let the job end that came first of those that run; its owner takes it away."""
        order = sorted(self.jobs, key=lambda name: int(name[1:]))
        name = next((each for each in order if any(map(_runs, self._pods_of(each)))), None)
        if name is not None:
            self.leave(sorted(self.jobs).index(name))

    def remake_failed(self) -> None:
        """Let controllers make failed pods anew."""
        for pod in self.cluster.pods():
            if pod.status.phase == "Failed":
                self.cluster.delete_pod(pod, self.now, made_anew=True)

    def budget(self, pick: int, allowed: int) -> None:
        """Set how many pods of a job may be disrupted, or take its budget away."""
        name = _picked(sorted(self.jobs), pick)
        if name is None:
            return
        if allowed < 0:
            if self._has_budget(name):
                self.cluster.drop("PodDisruptionBudget", f"default/{name}")
            return
        self.cluster.put(
            [
                {
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": name, "namespace": "default"},
                    "spec": {"selector": {"matchLabels": {"job": name}}},
                    "status": {"disruptionsAllowed": allowed},
                }
            ]
        )
        self.log.append(f"{name} may lose {allowed}")

    def _has_budget(self, name: str) -> bool:
        return f"default/{name}" in self.cluster._of("PodDisruptionBudget")

    def _pods_of(self, name: str) -> list[wire.Pod]:
        return [pod for pod in self.cluster.pods() if pod.metadata.labels.get("job") == name]

    def untold_pods(self) -> list[str]:
        """Return the pods that wait without a condition."""
        return [
            pod.metadata.name
            for pod in self.cluster.pods()
            if not pod.spec.node_name
            and not any(each.type == "PodScheduled" and each.message for each in pod.status.conditions)
        ]

    # Nodes ------------------------------------------------------------------------------------------------------------

    def lose_node(self, pick: int) -> None:
        """Let a node be gone; its pods are made anew."""
        name = _picked(sorted(self.nodes), pick)
        if name is None or len(self.nodes) == 1:
            return
        for pod in self.cluster.pods():
            if pod.spec.node_name == name:
                self.cluster.delete_pod(pod, self.now, made_anew=pod.status.phase != "Succeeded")
        self.lost[name] = self.nodes.pop(name)
        self.cluster.drop("Node", name)
        self.log.append(f"{name} is lost")

    def return_node(self, pick: int) -> None:
        """Let a node come back."""
        name = _picked(sorted(self.lost), pick)
        if name is not None:
            self.nodes[name] = self.lost.pop(name)
            self.cluster.put([self._node(name)])
            self.log.append(f"{name} is back")

    def cordon(self, pick: int) -> None:
        """Close a node, or open it again."""
        name = _picked(sorted(self.nodes), pick)
        if name is not None:
            node = self.cluster.one("Node", name)
            spec = replace(node.spec, unschedulable=not node.spec.unschedulable)
            self.cluster.change("Node", replace(node, spec=spec))
            self.log.append(f"{name} is {'closed' if spec.unschedulable else 'open'}")

    def measure(self, percents: Sequence[int]) -> None:
        """Measure how busy nodes are, CPU and memory alike, by a monitoring system and by agents on the nodes.

        No measurements leave all of them unknown.
        """
        for name in list(self.cluster._of("NodeMetric")):
            self.cluster.drop("NodeMetric", name)
        for name, percent in zip(sorted(self.nodes), percents, strict=False):
            offers = self.cluster.one("Node", name).status.allocatable
            used = {what: f"{units(offers[what]) * percent * 10}m" for what in ("cpu", "memory")}
            self.cluster.put([node_metric(name, used, at=self.now)])
        usage = {
            NodeName(name): NodeUsage(cpu_percent=percent, memory_percent=percent, measured=self.now)
            for name, percent in zip(sorted(self.nodes), percents, strict=False)
        }
        self.cluster.state.measure(usage)
        self.log.append(f"measured: {dict(zip(sorted(self.nodes), percents, strict=False))}")

    # Namespaces -------------------------------------------------------------------------------------------------------

    def set_quota(self, cpu: int | None, pods: int) -> None:
        """Set how much the namespace may use, or nothing of that kind."""
        if cpu is None:
            if QUOTA in self.cluster._of("ResourceQuota"):
                self.cluster.drop("ResourceQuota", QUOTA)
            return
        hard = {"cpu": str(cpu), "pods": str(pods)}
        quota = {"kind": "ResourceQuota", "metadata": {"name": "quota", "namespace": "default"}, "spec": {"hard": hard}}
        self.cluster.put([{**quota, "status": {"hard": hard, "used": {}}}])
        self.log.append(f"quota {hard}")

    def count_quota(self) -> None:
        """Count what pods on nodes use, as the controller of quotas would if pods came with their places."""
        quota = self.cluster._of("ResourceQuota").get(QUOTA)
        if quota is None:
            return
        here = [pod for pod in self.cluster.pods() if pod.spec.node_name and pod.status.phase == "Running"]
        names = [pod.metadata.name.rpartition("-") for pod in here]
        cpu = sum(self.jobs[name].request_of(int(number)).get("cpu", 0) for name, _, number in names)
        used = {"cpu": str(cpu), "pods": str(len(here))}
        if quota.status.used != used:
            self.cluster.change("ResourceQuota", replace(quota, status=replace(quota.status, used=used)))

    # Queues, configurations, processes --------------------------------------------------------------------------------

    def set_queue(self, name: str, terms: Terms) -> None:
        """Set a queue to other terms."""
        self.terms[name] = terms
        self.cluster.put([self._queue(name)])
        self.log.append(f"queue {name}: {terms}")

    def reload(self, pick: int) -> None:
        """Take another configuration."""
        self.setting = self.settings[pick % len(self.settings)]
        self.generation += 1
        self.log.append(f"configuration {self.setting.name}")

    def restart(self) -> None:
        """Let the scheduler begin anew: what it remembers is gone."""
        self.memory, self.settled = None, Settled()
        self.cluster.restart()
        self.restarts += 1
        self.log.append("restart")


def _runs(pod: wire.Pod) -> bool:
    return pod.status.phase == "Running" and not pod.metadata.deletion_timestamp


def _picked(among: list[Any], pick: int) -> Any:
    return among[pick % len(among)] if among else None
