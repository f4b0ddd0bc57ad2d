"""Numatopology: the NUMA nodes of a node."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pyroclast.model.api import names
from pyroclast.model.api.definitions import Definition, KubernetesObject
from pyroclast.model.api.meta import EMPTY, Wire
from pyroclast.model.api.rules import FieldRules

__all__ = [
    "CpuInfo",
    "NumaContainerAllocation",
    "NumaPodAllocation",
    "NumaResource",
    "Numatopology",
    "NumatopologySpec",
]

_Number = Annotated[int, FieldRules(minimum=0)]


class CpuInfo(Wire, frozen=True, kw_only=True):
    """Position of one CPU."""

    numa: _Number = 0
    """NUMA node of the CPU."""
    socket: _Number = 0
    """Socket of the CPU."""
    core: _Number = 0
    """Physical core of the CPU."""


class NumaResource(Wire, frozen=True, kw_only=True):
    """One resource."""

    allocatable: str = ""
    """Units that can be allocated to pods, as a list such as 0-3,8."""
    capacity: int = 0
    """Number of units."""


class NumaContainerAllocation(Wire, frozen=True, kw_only=True):
    """Units allocated to one container."""

    name: str = ""
    """Name of the container."""
    allocations: Mapping[str, str] = EMPTY
    """Units, by resource name, each a list such as 0-3,8."""


class NumaPodAllocation(Wire, frozen=True, kw_only=True):
    """Units allocated to one pod."""

    uid: str = ""
    """UID of the pod."""
    name: str = ""
    """Name of the pod."""
    namespace: str = ""
    """Namespace of the pod."""
    container_allocations: tuple[NumaContainerAllocation, ...] = ()
    """Units allocated to the pod's containers."""


class NumatopologySpec(Wire, frozen=True, kw_only=True):
    """CPUs, amounts and policies of the node."""

    policies: Mapping[str, str] = EMPTY
    """Policies of the kubelet, by policy name: CPUManagerPolicy and TopologyManagerPolicy."""
    res_reserved: Mapping[str, str] = EMPTY
    """Amounts reserved for the system, by resource name."""
    numares: Mapping[str, NumaResource] = EMPTY
    """Resources of the NUMA nodes, by resource name."""
    cpu_detail: Mapping[str, CpuInfo] = EMPTY
    """Position of each CPU, by its number."""
    pod_allocations: tuple[NumaPodAllocation, ...] = ()
    """Units allocated to pods."""


class Numatopology(KubernetesObject, frozen=True, kw_only=True):
    """Numatopology describes the NUMA nodes of one node. It has the name of the node."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.NODE_INFO,
        kind="Numatopology",
        plural="numatopologies",
        short_names=("numatopo",),
        is_namespaced=False,
        has_status_subresource=False,
    )
    spec: NumatopologySpec = NumatopologySpec()
    """CPUs, amounts and policies of the node."""
