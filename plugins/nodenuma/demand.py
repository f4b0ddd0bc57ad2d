"""Demand: what a pod requires of CPUs and NUMA nodes.

A pod has CPUs of its own if its QoS class is LSE or LSR, its priority class is koord-prod, and its policy is FullPCPUs
or SpreadByPCPUs. Then its CPU request must be a whole number. A node may require the same of all its pods.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pyroclast.model.colocation import PROD, QOS_CLASS, priority_class_of
from pyroclast.model.nodenuma.names import DEFAULT_POLICY, FULL_PCPUS, NUMA_NODE_LEVEL, PCPU_LEVEL, SPREAD_BY_PCPUS
from pyroclast.model.nodenuma.specs import NO_NUMA_SPEC, NO_SPEC, NumaSpec, ResourceSpec, numa_spec, resource_spec
from pyroclast.model.nodenuma.status import NOTHING, ResourceStatus, read_status
from pyroclast.model.resources import CPU, MILLI, PODS, Amounts
from pyroclast.model.scheduling_hints import read_hint
from pyroclast.model.tasks import Task

__all__ = ["NOT_INTEGER", "CpuDemand", "demand_of"]

NOT_INTEGER: Final = "the requested CPUs must be integer"
_HINTED: Final = "NodeNUMAResource"
"""Koordinator's name of this plugin in scheduling hints."""
_OWN_CPUS: Final = frozenset({"LSE", "LSR"})
_BINDING: Final = frozenset({FULL_PCPUS, SPREAD_BY_PCPUS})
_EXCLUSIVE: Final = frozenset({PCPU_LEVEL, NUMA_NODE_LEVEL})


class Designated(NamedTuple):
    """CPUs and amounts that another component has decided for a waiting pod."""

    status: ResourceStatus
    nodes: frozenset[str]
    """Names of the only nodes; empty for any."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CpuDemand:
    """Demand of the pods of one template."""

    request: Amounts
    """Thousandths by resource, without pods and zeros; at least one."""
    binds: bool = False
    """Whether the pod requires CPUs of its own on every node."""
    required: str = ""
    """Required policy; empty if any will do."""
    preferred: str = ""
    """Policy by which CPUs are chosen: the required one, the preferred one, or the default."""
    exclusive: str = ""
    """Exclusive policy; empty for none."""
    numa: NumaSpec = NO_NUMA_SPEC
    spec: ResourceSpec = NO_SPEC
    """As the pod states it."""
    designated: Designated | None = None
    """What is decided already; None to choose."""

    @property
    def cpu_millis(self) -> int:
        """Requested CPU."""
        return self.request.get(CPU, 0)

    @property
    def cpus(self) -> int:
        """Requested whole CPUs."""
        return self.cpu_millis // MILLI

    @property
    def is_whole(self) -> bool:
        """Whether the request is a whole number of CPUs."""
        return self.cpu_millis % MILLI == 0

    @property
    def is_numa_exclusive(self) -> bool:
        """Whether the pod requires exclusive NUMA nodes; by default if it states a NUMA policy."""
        return self.numa.exclusive == "Required" or (not self.numa.exclusive and bool(self.numa.policy))


def demand_of(task: Task, default_policy: str) -> CpuDemand | None:
    """Return the demand of a template's pods; None if they request nothing.

    Args:
        task: One of them.
        default_policy: Policy of pods that state none; empty for no CPUs of their own.

    Raises:
        ValueError: An annotation cannot be parsed, or CPUs of its own are not a whole number.
    """
    request = {name: amount for name, amount in task.template.request.items() if amount and name != PODS}
    if not request:
        return None
    metadata = task.pod.metadata
    spec, numa = resource_spec(metadata.annotations), numa_spec(metadata.annotations)
    demand = CpuDemand(request=request, numa=numa, spec=spec, designated=_designated(metadata.annotations))
    if metadata.labels.get(QOS_CLASS) not in _OWN_CPUS or priority_class_of(task.pod) != PROD:
        return demand
    required = default_policy if spec.required == DEFAULT_POLICY else spec.required
    preferred = required or (default_policy if spec.preferred in {"", DEFAULT_POLICY} else spec.preferred)
    if preferred not in _BINDING:
        return demand
    if not demand.is_whole:
        raise ValueError(NOT_INTEGER)
    if not demand.cpus:
        return demand
    return replace(
        demand,
        binds=True,
        required=required,
        preferred=preferred,
        exclusive=spec.exclusive if spec.exclusive in _EXCLUSIVE else "",
    )


def _designated(annotations: Mapping[str, str]) -> Designated | None:
    """Return the CPUs and amounts of a pod that a scheduling hint declares as decided.

    Raises:
        ValueError: The hint or the annotation with the decision cannot be parsed.
    """
    hint = read_hint(annotations)
    status = read_status(annotations) if _HINTED in hint.extensions else NOTHING
    return None if status == NOTHING else Designated(status, hint.nodes)
