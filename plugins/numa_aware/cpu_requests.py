"""CPU requests: the CPUs and NUMA policy that a pod template requests."""

from collections.abc import Iterator
from dataclasses import dataclass

from pyroclast.model import wire
from pyroclast.model.api.names import NUMA_TOPOLOGY_POLICY
from pyroclast.model.qos import GUARANTEED, quality_of
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.resources import CPU
from pyroclast.model.tasks import Task

__all__ = ["CpuRequest", "CpuRequests", "whole_cpus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRequest:
    """CPU request of a Guaranteed pod."""

    policy: str
    """Topology policy that the node must have; empty for any policy."""
    cpus: tuple[int, ...]
    """Exclusive CPUs of each container, in order; 0 if it does not request a whole number of CPUs."""
    containers: tuple[str, ...]
    """Names of the containers."""


class CpuRequests:
    """CPU requests of one session's templates; only Guaranteed pods have one."""

    def __init__(self) -> None:
        self._known: dict[int, CpuRequest | None] = {}

    def of(self, task: Task) -> CpuRequest | None:
        """Return the CPU request of a task."""
        number = task.template.number
        if number not in self._known:
            self._known[number] = _cpu_request(task)
        return self._known[number]


def _cpu_request(task: Task) -> CpuRequest | None:
    spec = task.template.spec
    if quality_of(spec) != GUARANTEED:
        return None
    policy = task.pod.metadata.annotations.get(NUMA_TOPOLOGY_POLICY, "")
    return CpuRequest(
        policy="" if policy == "none" else policy,
        cpus=tuple(whole_cpus(spec)),
        containers=tuple(container.name for container in spec.containers),
    )


def whole_cpus(spec: wire.PodSpec) -> Iterator[int]:
    """Yield the exclusive CPUs that a kubelet gives each container; fractional requests share CPUs.

    A pod with pod-level resources gets none: the kubelet's CPU manager skips such pods.
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
