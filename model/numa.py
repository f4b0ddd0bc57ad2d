"""NUMA: CPU positions, free CPUs and kubelet policies of nodes, parsed from Numatopologies.

Each version of an object is parsed once. Machines of one type share one layout, so that derived values are computed
once for all of them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar, cast

from pyroclast.model import wire
from pyroclast.model.cpusets import CpuSet, as_text, cpu_set, read_cpu, read_cpu_set
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import TaskId
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.resources import CPU, MILLI
from pyroclast.model.tasks import Task

__all__ = ["CpuLayout", "CpuPlace", "NumaNode", "layout_of", "read_numa"]

CPU_MANAGER_POLICY: Final = "CPUManagerPolicy"
TOPOLOGY_MANAGER_POLICY: Final = "TopologyManagerPolicy"
STATIC: Final = "static"
_KIND: Final = "Numatopology"
_LAYOUTS: Final = 1024
"""Number of cached machine types. More types only cost time."""

Derived = TypeVar("Derived")


class CpuPlace(NamedTuple):
    """Position of one CPU."""

    cpu: int
    numa: int
    socket: int
    core: int
    """Number of the physical core, unique within its socket at least."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CpuLayout:
    """Positions of the CPUs of one machine type."""

    cpus: CpuSet
    """All of them."""
    numa: tuple[tuple[int, CpuSet], ...]
    """NUMA nodes that have CPUs: id and CPUs, ascending."""
    sockets: tuple[CpuSet, ...]
    """CPUs of each socket, by its id."""
    cores: tuple[tuple[CpuSet, ...], ...]
    """CPUs of each physical core, by core id, in each socket."""


@lru_cache(_LAYOUTS)
def layout_of(places: tuple[CpuPlace, ...]) -> CpuLayout:
    """Return the layout of a machine; equal places give the same object."""
    by_numa: dict[int, int] = {}
    by_core: dict[int, dict[int, int]] = {}
    for cpu, numa, socket, core in places:
        cores = by_core.setdefault(socket, {})
        by_numa[numa] = by_numa.get(numa, 0) | 1 << cpu
        cores[core] = cores.get(core, 0) | 1 << cpu
    cores_of = tuple(tuple(cpus for _, cpus in sorted(cores.items())) for _, cores in sorted(by_core.items()))
    return CpuLayout(
        cpus=cpu_set(place.cpu for place in places),
        numa=tuple(sorted(by_numa.items())),
        sockets=tuple(sum(cores) for cores in cores_of),  # cores share no CPU
        cores=cores_of,
    )


@dataclass(slots=True, kw_only=True, eq=False)
class NumaNode:
    """A parsed Numatopology of a node. Immutable except for one memo of derived values."""

    policy: str
    """Policy of the kubelet's topology manager; empty if unknown."""
    is_static: bool
    """Whether the kubelet gives CPUs to containers for themselves (its CPU manager's policy is `static`)."""
    layout: CpuLayout
    free: CpuSet | None
    """CPUs that no container has exclusively; None if unknown."""
    reserved: int
    """Number of CPUs reserved for the system, rounded up."""
    seen: frozenset[str]
    """Pods whose CPUs `free` already excludes: UIDs, and `namespace/name`."""
    _memo: tuple[object, object] = (None, None)

    @property
    def aligns(self) -> bool:
        """Whether the kubelet gives containers CPUs by a topology policy, and it is known which are free."""
        return self.is_static and self.policy not in {"", "none"} and self.free is not None

    @property
    def tells_pods(self) -> bool:
        """Whether it lists the pods that have CPUs. False if more CPUs are taken than reserved and no pod is listed."""
        return bool(self.seen) or self.free is None or (self.layout.cpus & ~self.free).bit_count() <= self.reserved

    def has_seen(self, task: Task) -> bool:
        """Return whether `free` already excludes the CPUs of a task."""
        return task.id in self.seen or task.key in self.seen

    def derive(self, tasks: Mapping[TaskId, Task], compute: Callable[[], Derived]) -> Derived:
        """Return the result of `compute`, computed once for the same mapping of tasks on the node."""
        about, known = self._memo
        if about is tasks:
            return cast("Derived", known)
        derived = compute()
        self._memo = (tasks, derived)
        return derived


def read_numa(topology: wire.Numatopology) -> NumaNode:
    """Read a Numatopology.

    Raises:
        ObjectError: A field is malformed or inconsistent. Then no part of the object is used.
    """
    spec, name = topology.spec, topology.metadata.name
    layout = layout_of(tuple(sorted(_places(name, spec.cpu_detail))))
    return NumaNode(
        policy=spec.policies.get(TOPOLOGY_MANAGER_POLICY, ""),
        is_static=spec.policies.get(CPU_MANAGER_POLICY) == STATIC,
        layout=layout,
        free=_free(name, spec.numares.get(CPU), layout),
        reserved=_reserved(name, spec.res_reserved),
        seen=frozenset(_pods(spec.pod_allocations)),
    )


def _places(name: str, detail: Mapping[str, wire.CpuInfo]) -> Iterator[CpuPlace]:
    known: set[int] = set()
    for text, place in detail.items():
        path = f"spec.cpuDetail.{text[:20]}"
        try:
            cpu = read_cpu(text)
        except ValueError as error:
            raise ObjectError(_KIND, name, path, str(error)) from None
        if cpu in known:
            raise ObjectError(_KIND, name, path, f"CPU {cpu} is described twice")
        if min(place.numa, place.socket, place.core) < 0:
            raise ObjectError(_KIND, name, path, "numa, socket and core are numbers of at least 0")
        known.add(cpu)
        yield CpuPlace(cpu, place.numa, place.socket, place.core)


def _free(name: str, cpu: wire.NumaResource | None, layout: CpuLayout) -> CpuSet | None:
    if cpu is None:
        return None
    path = "spec.numares.cpu.allocatable"
    try:
        free = read_cpu_set(cpu.allocatable)
    except ValueError as error:
        raise ObjectError(_KIND, name, path, str(error)) from None
    unknown = free & ~layout.cpus
    if unknown:
        raise ObjectError(_KIND, name, path, f"spec.cpuDetail does not list CPU {as_text(unknown)} sits")
    return free


def _reserved(name: str, amounts: wire.ResourceList) -> int:
    path = "spec.resReserved.cpu"
    try:
        reserved = millis(amounts.get(CPU, 0))
    except QuantityError as error:
        raise ObjectError(_KIND, name, path, str(error)) from None
    if reserved < 0:
        raise ObjectError(_KIND, name, path, "is negative")
    return -(-reserved // MILLI)


def _pods(allocations: tuple[wire.NumaPodAllocation, ...]) -> Iterator[str]:
    for each in allocations:
        if each.uid:
            yield each.uid
        if each.name:
            yield f"{each.namespace}/{each.name}"
