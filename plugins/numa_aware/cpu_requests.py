"""CPU requests: the CPUs and NUMA policy that a pod template requests."""

from collections.abc import Iterator
from dataclasses import dataclass

from pyroclast.model import wire
from pyroclast.model.api.names import NUMA_TOPOLOGY_POLICY
from pyroclast.model.qos import GUARANTEED, quality_of
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.resources import CPU
from pyroclast.model.tasks import Task

__all__ = ["Wish", "Wishes", "whole_cpus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a Guaranteed pod wants."""

    policy: str
    """The topology policy that its node must have; empty where any will do."""
    cpus: tuple[int, ...]
    """Of each container in order the CPUs that it gets for itself; 0 where it asks for no whole number of them."""
    containers: tuple[str, ...]
    """Their names."""


class Wishes:
    """The wishes of the templates of one session; pods that are not Guaranteed have none."""

    def __init__(self) -> None:
        self._known: dict[int, Wish | None] = {}

    def of(self, task: Task) -> Wish | None:
        """Return what a task wants."""
        number = task.template.number
        if number not in self._known:
            self._known[number] = _wish(task)
        return self._known[number]


def _wish(task: Task) -> Wish | None:
    spec = task.template.spec
    if quality_of(spec) != GUARANTEED:
        return None
    policy = task.pod.metadata.annotations.get(NUMA_TOPOLOGY_POLICY, "")
    return Wish(
        policy="" if policy == "none" else policy,
        cpus=tuple(whole_cpus(spec)),
        containers=tuple(container.name for container in spec.containers),
    )


def whole_cpus(spec: wire.PodSpec) -> Iterator[int]:
    """Yield for each container the CPUs that a kubelet gives it for itself; a part of a CPU is shared with others.

    Where something is asked for the whole pod a kubelet gives none: its CPU manager passes such pods over.
    """
    for container in spec.containers:
        if spec.resources is not None:
            yield 0
            continue
        asked = container.resources
        try:
            amount = parse(asked.requests.get(CPU, asked.limits.get(CPU, 0)))
        except QuantityError:
            amount = parse(0)
        yield int(amount) if amount.denominator == 1 else 0
