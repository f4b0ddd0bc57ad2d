"""CPUs and NUMA nodes of a node, from its NodeResourceTopology.

Each version of an object is parsed once. A part that cannot be parsed is reported and left out, and the object stays in
use. Without a reliable list of its CPUs a node gives none: if one of the annotations that keep CPUs from pods cannot be
parsed, the node has no CPU topology.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from pyroclast.model import wire
from pyroclast.model.cpusets import LARGEST_CPU, CpuSet, read_cpu_set
from pyroclast.model.devices.koordinator.annotations import read_annotation
from pyroclast.model.errors import ObjectError
from pyroclast.model.nodenuma.amplified import Ratios, read_ratios
from pyroclast.model.nodenuma.names import (
    AMPLIFICATION,
    BEST_EFFORT,
    CPU_MANAGER_POLICY,
    CPU_TOPOLOGY,
    NODE_RESERVATION,
    POD_CPU_ALLOCS,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    SYSTEM_QOS,
)
from pyroclast.model.numa import CpuLayout, CpuPlace, layout_of
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.requests import LARGEST_REQUEST
from pyroclast.model.resources import CPU, MILLI, Amounts
from pyroclast.model.sealed import SealedDict

__all__ = ["MOST_NUMA_NODES", "NO_TOPOLOGY", "NodeTopology", "NumaZone", "read_topology"]

MOST_NUMA_NODES: Final = 8
"""Maximum number of NUMA nodes with amounts: all sets of them are compared, 255 sets for 8."""
_LARGEST_NUMA_NODE: Final = 63
_NUMBERS: Final = {str(number): number for number in range(_LARGEST_NUMA_NODE + 1)}
_FIELDS: Final = ("id", "node", "socket", "core")
_LARGEST: Final = (LARGEST_CPU, _LARGEST_NUMA_NODE, 0xFFFF, 0xFFFF)
"""Fields of a CPU, and their largest values."""
_TEXTS_KEPT: Final = 256
"""Maximum number of annotations with CPUs that are remembered. Others are parsed for each version of their object."""
_KIND: Final = "NodeResourceTopology"
_ZONE_TYPE: Final = "Node"
_ZONE_PREFIX: Final = "node-"
_POLICIES: Final = {
    "BestEffort": BEST_EFFORT,
    "Restricted": RESTRICTED,
    "SingleNUMANodePodLevel": SINGLE_NUMA_NODE,
}
"""Policies of the object that count. The first known one decides."""

Parsed = TypeVar("Parsed")


class NumaZone(NamedTuple):
    """One NUMA node with its amounts."""

    id: int
    allocatable: Amounts
    """Thousandths by resource; at least 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeTopology:
    """CPUs and NUMA nodes of one node."""

    layout: CpuLayout | None = None
    """Positions of its CPUs; None if they are unknown, so that no pod gets CPUs of its own."""
    reserved: CpuSet = 0
    """CPUs that no pod gets."""
    full_pcpus_only: bool = False
    """Whether its kubelet gives whole cores only."""
    numa_policy: str = ""
    """NUMA policy of its kubelet, in Koordinator's words; empty for none."""
    zones: tuple[NumaZone, ...] = ()
    """NUMA nodes by ascending id. Their CPU is without the reserved CPUs."""
    ratios: Ratios | None = None
    """Ratios by which the amounts of the NUMA nodes are amplified already; None if they are not."""


NO_TOPOLOGY: Final = NodeTopology()


def read_topology(topology: wire.NodeResourceTopology, report: Callable[[ObjectError], None]) -> NodeTopology:
    """Parse a NodeResourceTopology.

    Args:
        topology: The object.
        report: Receives each part that cannot be parsed; that part is left out.
    """
    return _Reader(topology.metadata, report).read(topology)


class _CpuInfo(msgspec.Struct, frozen=True):
    id: int = 0
    core: int = 0
    socket: int = 0
    node: int = 0


class _CpuTopology(msgspec.Struct, frozen=True):
    detail: tuple[_CpuInfo, ...] = ()


class _PodCpuAlloc(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    cpuset: str = ""
    managed_by_kubelet: bool = False


class _CpuManagerPolicy(msgspec.Struct, frozen=True):
    policy: str = ""
    options: dict[str, str] = {}  # a field of a struct, copied for each
    reserved: str = msgspec.field(name="reservedCPUs", default="")


class _NodeReservation(msgspec.Struct, frozen=True):
    reserved: str = msgspec.field(name="reservedCPUs", default="")


class _SystemQos(msgspec.Struct, frozen=True):
    cpuset: str = ""
    is_exclusive: bool = msgspec.field(name="cpusetExclusive", default=True)


class _Reader:
    """Parses one object."""

    def __init__(self, metadata: wire.ObjectMeta, report: Callable[[ObjectError], None]) -> None:
        self._metadata, self._report = metadata, report

    def read(self, topology: wire.NodeResourceTopology) -> NodeTopology:
        """Parse all of it."""
        manager = self._part(CPU_MANAGER_POLICY, lambda: self._json(CPU_MANAGER_POLICY, _CpuManagerPolicy))
        places = self._part(CPU_TOPOLOGY, lambda: _places(self._metadata.annotations.get(CPU_TOPOLOGY, ""))) or ()
        kept = [self._part(key, read) for key, read in self._reserving(manager)]
        is_known = bool(places) and manager is not None and None not in kept
        layout = layout_of(places) if is_known else None
        reserved = 0
        for cpus in kept:
            reserved |= cpus or 0
        if layout is not None:
            reserved &= layout.cpus
        return NodeTopology(
            layout=layout,
            reserved=reserved,
            full_pcpus_only=manager is not None
            and manager.policy == "static"
            and manager.options.get("full-pcpus-only") == "true",
            numa_policy=next((_POLICIES[each] for each in topology.topology_policies if each in _POLICIES), ""),
            zones=tuple(_without_reserved(self._zones(topology.zones), layout, reserved)),
            ratios=self._part(AMPLIFICATION, lambda: read_ratios(self._metadata.annotations[AMPLIFICATION]))
            if AMPLIFICATION in self._metadata.annotations
            else None,
        )

    def _part(self, key: str, read: Callable[[], Parsed]) -> Parsed | None:
        """Return the content of an annotation; None if it cannot be parsed, which is reported."""
        try:
            return read()
        except ValueError as error:
            self._complain(f"metadata.annotations[{key}]", str(error).removeprefix(f"{key}: "))
            return None

    def _json(self, key: str, kind: type[Parsed]) -> Parsed:
        return read_annotation(self._metadata.annotations, key, kind) or kind()

    def _reserving(self, manager: _CpuManagerPolicy | None) -> Iterator[tuple[str, Callable[[], CpuSet]]]:
        """Yield the annotations that keep CPUs from pods."""
        yield POD_CPU_ALLOCS, self._of_kubelet
        yield CPU_MANAGER_POLICY, lambda: read_cpu_set("" if manager is None else manager.reserved)
        yield NODE_RESERVATION, lambda: read_cpu_set(self._json(NODE_RESERVATION, _NodeReservation).reserved)
        yield SYSTEM_QOS, self._of_system

    def _of_kubelet(self) -> CpuSet:
        """Return the CPUs of pods that the kubelet pins itself."""
        cpus = 0
        for each in read_annotation(self._metadata.annotations, POD_CPU_ALLOCS, tuple[_PodCpuAlloc, ...]) or ():
            if each.managed_by_kubelet and each.uid:
                cpus |= read_cpu_set(each.cpuset)
        return cpus

    def _of_system(self) -> CpuSet:
        system = self._json(SYSTEM_QOS, _SystemQos)
        return read_cpu_set(system.cpuset) if system.is_exclusive else 0

    def _zones(self, zones: Iterable[wire.TopologyZone]) -> list[NumaZone]:
        found: dict[int, NumaZone] = {}
        for at, zone in enumerate(zones):
            if zone.type != _ZONE_TYPE or not zone.name.startswith(_ZONE_PREFIX):
                continue
            path, number = f"zones[{at}]", _NUMBERS.get(zone.name.removeprefix(_ZONE_PREFIX))
            if number is None:
                self._complain(f"{path}.name", f"{zone.name[:40]!r}, expected node-0 to node-{_LARGEST_NUMA_NODE}")
            elif number in found:
                self._complain(f"{path}.name", f"{zone.name!r} is there twice")
            elif len(found) == MOST_NUMA_NODES:
                self._complain(path, f"more than {MOST_NUMA_NODES} NUMA nodes; this one is ignored")
            else:
                found[number] = NumaZone(number, SealedDict(self._amounts(path, zone.resources)))
        return [zone for _, zone in sorted(found.items())]

    def _amounts(self, path: str, resources: Iterable[wire.ZoneResource]) -> dict[str, int]:
        amounts: dict[str, int] = {}
        for at, each in enumerate(resources):
            try:
                amount = millis(each.allocatable)
            except QuantityError as error:
                self._complain(f"{path}.resources[{at}].allocatable", str(error))
                continue
            amounts[each.name] = min(max(amount, 0), LARGEST_REQUEST * MILLI)
        return amounts

    def _complain(self, path: str, message: str) -> None:
        self._report(ObjectError(_KIND, self._metadata.name, path, message))


def _places(text: str) -> tuple[CpuPlace, ...]:
    found = _parsed_places(text) if text else ()
    if isinstance(found, str):
        raise ValueError(found)  # noqa: TRY004  # a text of the cluster, no type error
    return found


@lru_cache(_TEXTS_KEPT)
def _parsed_places(text: str) -> tuple[CpuPlace, ...] | str:
    """Return the CPUs in an annotation, or its fault. Machines of one type have one text, and agents write it often."""
    try:
        detail = (read_annotation({CPU_TOPOLOGY: text}, CPU_TOPOLOGY, _CpuTopology) or _CpuTopology()).detail
    except ValueError as error:
        return str(error)
    places: dict[int, CpuPlace] = {}
    for at, info in enumerate(detail):
        numbers = (info.id, info.node, info.socket, info.core)
        if any(not 0 <= each <= most for each, most in zip(numbers, _LARGEST, strict=True)):
            expected = ", ".join(f"{name} up to {most}" for name, most in zip(_FIELDS, _LARGEST, strict=True))
            return f"detail[{at}]: expected numbers of at least 0: {expected}"
        if info.id in places:
            return f"detail[{at}]: CPU {info.id} is described twice"
        places[info.id] = CpuPlace(info.id, info.node, info.socket, info.core)
    return tuple(place for _, place in sorted(places.items()))


def _without_reserved(zones: Iterable[NumaZone], layout: CpuLayout | None, reserved: CpuSet) -> Iterator[NumaZone]:
    """Take reserved CPUs from the CPU of their NUMA nodes."""
    cpus: Mapping[int, CpuSet] = {} if layout is None else dict(layout.numa)
    for zone in zones:
        taken = (cpus.get(zone.id, 0) & reserved).bit_count() * MILLI
        if taken and CPU in zone.allocatable:
            left: dict[str, Any] = {**zone.allocatable, CPU: max(zone.allocatable[CPU] - taken, 0)}
            yield NumaZone(zone.id, SealedDict(left))
        else:
            yield zone
