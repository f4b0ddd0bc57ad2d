"""Workload of the demonstration: gangs in four queues, and one gang that can never fit."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.model.api.names import GROUP_NAME

__all__ = ["IMPOSSIBLE", "NAMESPACE", "QUEUES", "DemoGang", "DemoQueue", "gangs", "impossible_gang", "nodes_needed"]

NAMESPACE: Final = "demo"

IMPOSSIBLE: Final = "moonshot"

NODE_CPU: Final = 32
"""Number of CPUs of a hollow node, as the emulator creates it."""

_MEMORY_PER_CPU_GIB: Final = 2
_IMPOSSIBLE_CPU: Final = 2 * NODE_CPU
_IMPOSSIBLE_PODS: Final = 4
_USABLE: Final = 0.9
"""Usable fraction of the cluster. The request of the impossible gang counts towards the share of its queue too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQueue:
    """One queue and its workload."""

    name: str
    weight: int
    gang_size: int
    cpu: int
    """CPU request of each pod."""
    fraction: float
    """Fraction of all pods that this queue receives."""

    def manifest(self) -> dict[str, Any]:
        """Return the Queue."""
        return {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": self.name},
            "spec": {"weight": self.weight, "reclaimable": True},
        }


QUEUES: Final = (
    DemoQueue(name="research", weight=4, gang_size=32, cpu=2, fraction=0.4),
    DemoQueue(name="training", weight=3, gang_size=16, cpu=4, fraction=0.3),
    DemoQueue(name="analytics", weight=2, gang_size=8, cpu=2, fraction=0.2),
    DemoQueue(name="batch", weight=1, gang_size=1, cpu=1, fraction=0.1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoGang:
    """Pods that run together or not at all."""

    name: str
    queue: str
    size: int
    cpu: int

    def group(self) -> dict[str, Any]:
        """Return the PodGroup."""
        return {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {"minMember": self.size, "queue": self.queue},
        }

    def pods(self) -> Iterator[dict[str, Any]]:
        """Yield the pods."""
        amounts = {"cpu": str(self.cpu), "memory": f"{self.cpu * _MEMORY_PER_CPU_GIB}Gi"}
        for number in range(self.size):
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{self.name}-worker-{number}",
                    "namespace": NAMESPACE,
                    "annotations": {GROUP_NAME: self.name},
                    "labels": {"queue": self.queue},
                },
                "spec": {
                    "schedulerName": "volcano",
                    "containers": [{"name": "main", "image": "demo", "resources": {"requests": amounts}}],
                },
            }


def gangs(pods: int) -> list[DemoGang]:
    """Return whole gangs with `pods` pods in total, distributed among the queues."""
    made: list[DemoGang] = []
    for queue in QUEUES:
        pod_count = round(pods * queue.fraction)
        whole, rest = divmod(pod_count, queue.gang_size)
        sizes = [queue.gang_size] * whole + ([rest] if rest else [])
        made += [
            DemoGang(name=f"{queue.name}-{number}", queue=queue.name, size=size, cpu=queue.cpu)
            for number, size in enumerate(sizes)
        ]
    return made


def impossible_gang() -> DemoGang:
    """Return the gang whose pods are larger than any node."""
    return DemoGang(name=IMPOSSIBLE, queue="research", size=_IMPOSSIBLE_PODS, cpu=_IMPOSSIBLE_CPU)


def nodes_needed(pods: int) -> int:
    """Return the number of nodes on which all gangs except the impossible one can run."""
    asked = sum(gang.size * gang.cpu for gang in [*gangs(pods), impossible_gang()])
    return math.ceil(asked / (NODE_CPU * _USABLE))
