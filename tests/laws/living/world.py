"""The world of a scheduler: everything that may happen to a cluster beside scheduling, one event a method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from framework.memory import Memory, Settled
from model import wire
from pyroclast.testing import Scenario
from pyroclast.testing.objects import GPU
from tests.laws.living.cluster import LivingCluster
from tests.laws.living.configurations import FLAT, TREE, Setting
from tests.laws.living.jobs import PRIORITIES, QUEUES, Wish, objects_of
from tests.laws.test_topology import hyper_node

__all__ = ["DOMAINS", "PARENTS", "PODS", "Terms", "World"]

START: Final = 1_800_000_000.0
PODS: Final = 7
"""How many pods a node takes."""
PARENTS: Final = {"red": "left", "green": "left", "blue": "right", "left": "root", "right": "root"}
LEFT_LIMIT: Final = 14
"""CPUs that the queues of one branch may have together."""
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
    guarantee: int = 0
    """CPUs."""
    reclaimable: bool = True
    state: str = "Open"

    def object(self, name: str, parent: str) -> Mapping[str, Any]:
        """Return the queue."""
        deserved = min(self.deserved, self.capability) if self.capability is not None else self.deserved
        scenario = Scenario().queue(
            name,
            weight=self.weight,
            deserved={"cpu": deserved, GPU: deserved // 2} if deserved else None,
            capability=None if self.capability is None else {"cpu": self.capability},
            guarantee={"cpu": min(self.guarantee, deserved)} if self.guarantee and deserved else None,
            parent=parent,
            reclaimable=self.reclaimable,
            state=self.state,
        )
        return scenario.objects[0]


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
        """What happened, for whoever reads a failure."""

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
            scenario = scenario.queue("left", parent="root", capability={"cpu": LEFT_LIMIT})
        scenario = scenario.add(*(self._queue(name) for name in QUEUES))
        return [*scenario.objects, *(self._node(name) for name in self.nodes)]

    def _queue(self, name: str) -> Mapping[str, Any]:
        return self.terms[name].object(name, PARENTS[name] if self.is_tree else "")

    def _node(self, name: str) -> Mapping[str, Any]:
        cpu, gpu = self.nodes[name]
        return Scenario().node(name, cpu=cpu, gpu=gpu or None, pods=PODS).objects[0]

    def limit_of(self, queue: str) -> int | None:
        """Return how many CPUs a queue may have; None for no limit."""
        return LEFT_LIMIT if queue == "left" else self.terms[queue].capability if queue in self.terms else None

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
        """Return the pods that wait and were not told why."""
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
