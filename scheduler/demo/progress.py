"""Progress of the demonstration, counted from the pods and groups of the API server."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyroclast.model import wire
from pyroclast.model.quantity import millis
from pyroclast.scheduler.demo.workload import IMPOSSIBLE, QUEUES, DemoGang

__all__ = ["Progress", "QueueProgress", "cpu_fractions", "measure", "reason_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProgress:
    """Progress of one queue."""

    name: str
    weight: int
    pods: int
    bound: int
    running: int
    gangs: int
    whole: int
    """Number of gangs whose pods all have a node."""
    broken: int
    """Number of gangs of which only some pods have a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of all queues."""

    queues: tuple[QueueProgress, ...]

    @property
    def pods(self) -> int:
        """Total number of pods."""
        return sum(queue.pods for queue in self.queues)

    @property
    def bound(self) -> int:
        """Number of pods that have a node."""
        return sum(queue.bound for queue in self.queues)

    @property
    def running(self) -> int:
        """Number of running pods."""
        return sum(queue.running for queue in self.queues)

    @property
    def is_done(self) -> bool:
        """Whether all pods that can run are running."""
        return self.pods > 0 and self.running == self.pods


def measure(gangs: Iterable[DemoGang], pods: Mapping[str, wire.Pod]) -> Progress:
    """Count the pods of gangs by queue.

    Args:
        gangs: The submitted gangs, without the one that cannot run.
        pods: The pods of the API server, by `namespace/name`.
    """
    bound_by_gang: dict[str, int] = {}
    running_by_gang: dict[str, int] = {}
    for pod in pods.values():
        gang = pod.metadata.name.rpartition("-worker-")[0]
        bound_by_gang[gang] = bound_by_gang.get(gang, 0) + bool(pod.spec.node_name)
        running_by_gang[gang] = running_by_gang.get(gang, 0) + (pod.status.phase == "Running")
    by_queue: dict[str, list[DemoGang]] = {queue.name: [] for queue in QUEUES}
    for each in gangs:
        by_queue[each.queue].append(each)
    return Progress(
        queues=tuple(
            QueueProgress(
                name=queue.name,
                weight=queue.weight,
                pods=sum(gang.size for gang in own),
                bound=sum(bound_by_gang.get(gang.name, 0) for gang in own),
                running=sum(running_by_gang.get(gang.name, 0) for gang in own),
                gangs=len(own),
                whole=sum(bound_by_gang.get(gang.name, 0) >= gang.size for gang in own),
                broken=sum(0 < bound_by_gang.get(gang.name, 0) < gang.size for gang in own),
            )
            for queue in QUEUES
            for own in (by_queue[queue.name],)
        )
    )


def cpu_fractions(nodes: Mapping[str, wire.Node], pods: Mapping[str, wire.Pod]) -> list[float]:
    """Return the fraction of each node's CPU that its pods request, from 0 to 1."""
    asked = dict.fromkeys((node.metadata.name for node in nodes.values()), 0)
    for pod in pods.values():
        if pod.spec.node_name in asked:
            asked[pod.spec.node_name] += sum(
                millis(container.resources.requests.get("cpu", "0")) for container in pod.spec.containers
            )
    offered = {node.metadata.name: millis(node.status.allocatable.get("cpu", "0")) for node in nodes.values()}
    return [asked[name] / offered[name] if offered[name] else 0.0 for name in sorted(asked)]


def reason_of(groups: Iterable[wire.PodGroup]) -> str | None:
    """Return why the impossible gang waits, from its PodGroup; None if there is no condition yet."""
    for group in groups:
        if group.metadata.name == IMPOSSIBLE:
            for condition in group.status.conditions:
                if condition.type == "Unschedulable" and condition.status == "True" and condition.message:
                    return f"{condition.reason}: {condition.message}"
    return None
