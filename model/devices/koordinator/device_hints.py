"""Device hints: which devices a pod prefers beyond amounts, how close together, and whether alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple, get_args

import msgspec

from pyroclast.model import wire
from pyroclast.model.devices.koordinator.annotations import read_annotation
from pyroclast.model.devices.koordinator.names import HINT, JOINT, PARTITION_SPEC, TYPES
from pyroclast.model.matching.selectors import EVERYTHING, Selector, unreadable
from pyroclast.model.nodenuma.names import NUMA_SPEC
from pyroclast.model.quantity import QuantityError, parse

__all__ = [
    "APPLY_FOR_ALL",
    "DEVICE_LEVEL",
    "NO_HINT",
    "PCIE_LEVEL",
    "REQUESTS_AS_COUNT",
    "SCOPES",
    "DeviceHints",
    "Hint",
    "Joint",
    "PartitionWish",
    "hints_of",
    "wishes_of",
]

APPLY_FOR_ALL: Final = "ApplyForAll"
REQUESTS_AS_COUNT: Final = "RequestsAsCount"
DEVICE_LEVEL: Final = "DeviceLevel"
PCIE_LEVEL: Final = "PCIeLevel"
_Scope = Literal["", "Node", "NUMANode", "PCIe", "Device"]
SCOPES: Final = get_args(_Scope)
"""Topology scopes that must contain all GPUs of a pod, wider ones first; empty if absent."""
_NumaPolicy = Literal["", "None", "BestEffort", "Restricted", "SingleNUMANode"]


class Hint(NamedTuple):
    """Hint of a pod for devices of one type."""

    selector: Selector = EVERYTHING
    functions: Selector | None = None
    """Each device must give a virtual function of a group that this selects; None if it need not."""
    strategy: str = ""
    scope: str = ""
    exclusive: str = ""


NO_HINT: Final = Hint()


class Joint(NamedTuple):
    """Types of devices that are to be near each other."""

    types: tuple[str, ...]
    """Types that the pod requests; devices of the first type are chosen first."""
    same_pcie: bool


class PartitionWish(NamedTuple):
    """Requirements for a partition."""

    is_restricted: bool = False
    """Whether only partitions of the best score will do."""
    bandwidth: Fraction | None = None


@dataclass(frozen=True, slots=True)
class DeviceHints:
    """Device hints of a pod, from its annotations."""

    hints: tuple[tuple[str, Hint], ...] = ()
    """Hints by type, in the order of `TYPES`."""
    joint: tuple[str, ...] = ()
    """Types as the pod lists them."""
    same_pcie: bool = False
    partition: PartitionWish | None = None
    """None if no partition is required."""
    numa_policy: str = ""
    """Policy of the pod; empty if that of the node applies."""
    needs_whole_numa: bool = False
    """Whether the pod must not share NUMA nodes with pods that span others (`singleNUMANodeExclusive`)."""

    def hint(self, kind: str) -> Hint:
        """Return the hint for devices of a type."""
        return next((hint for of, hint in self.hints if of == kind), NO_HINT)

    def joint_of(self, types: tuple[str, ...]) -> Joint | None:
        """Return the requested types that are to be allocated near each other; None if there are none."""
        listed = dict.fromkeys(self.joint)
        found = tuple(each for each in listed if each in types and self.hint(each).strategy != APPLY_FOR_ALL)
        return Joint(found, self.same_pcie) if len(found) > 1 else None


class _HintText(msgspec.Struct, frozen=True, rename="camel"):
    selector: wire.LabelSelector | None = None
    vf_selector: wire.LabelSelector | None = None
    allocate_strategy: Literal["", "ApplyForAll", "RequestsAsCount"] = ""
    required_topology_scope: _Scope = ""
    exclusive_policy: Literal["", "DeviceLevel", "PCIeLevel"] = ""


class _JointText(msgspec.Struct, frozen=True, rename="camel"):
    device_types: tuple[str, ...] = ()
    required_scope: Literal["", "SamePCIe"] = ""


class _PartitionText(msgspec.Struct, frozen=True, rename="camel"):
    allocate_policy: Literal["", "BestEffort", "Restricted"] = ""
    ring_bus_bandwidth: str | int | float | None = None


class _NumaText(msgspec.Struct, frozen=True):
    numa_topology_policy: _NumaPolicy = msgspec.field(name="numaTopologyPolicy", default="")
    exclusive: Literal["", "Preferred", "Required"] = msgspec.field(name="singleNUMANodeExclusive", default="")


def wishes_of(pod: wire.Pod) -> DeviceHints:
    """Parse the device hints of a pod.

    Raises:
        ValueError: An annotation cannot be parsed or is not supported. The message names the annotation and the path.
    """
    annotations = pod.metadata.annotations
    joint = read_annotation(annotations, JOINT, _JointText) or _JointText()
    partition = read_annotation(annotations, PARTITION_SPEC, _PartitionText)
    numa = read_annotation(annotations, NUMA_SPEC, _NumaText) or _NumaText()
    _check_types(JOINT, joint.device_types)
    return DeviceHints(
        hints=hints_of(annotations),
        joint=joint.device_types,
        same_pcie=joint.required_scope == "SamePCIe",
        partition=None if partition is None else _partition_wish(partition),
        numa_policy=numa.numa_topology_policy,
        needs_whole_numa=numa.exclusive == "Required",
    )


def hints_of(annotations: Mapping[str, str]) -> tuple[tuple[str, Hint], ...]:
    """Parse the hints of a pod by device type, in the order of `TYPES`.

    Raises:
        ValueError: As for `wishes_of`.
    """
    hints = read_annotation(annotations, HINT, dict[str, _HintText]) or {}
    _check_types(HINT, hints)
    return tuple((kind, _hint(kind, hints[kind])) for kind in TYPES if kind in hints)


def _check_types(annotation: str, kinds: Iterable[str]) -> None:
    for kind in kinds:
        if kind not in TYPES:
            raise ValueError(f"{annotation}: {kind!r} is none of {', '.join(TYPES)}")


def _hint(kind: str, text: _HintText) -> Hint:
    return Hint(
        _selector(f"{kind}.selector", text.selector) or EVERYTHING,
        _selector(f"{kind}.vfSelector", text.vf_selector),
        text.allocate_strategy,
        text.required_topology_scope,
        text.exclusive_policy,
    )


def _selector(path: str, selector: wire.LabelSelector | None) -> Selector | None:
    if selector is None:
        return None
    for where, fault in unreadable(selector):
        raise ValueError(f"{HINT}: {path}.{where}: {fault}")
    return Selector.of(selector)


def _partition_wish(text: _PartitionText) -> PartitionWish:
    bandwidth = text.ring_bus_bandwidth
    try:
        return PartitionWish(text.allocate_policy == "Restricted", None if bandwidth is None else parse(bandwidth))
    except QuantityError as error:
        raise ValueError(f"{PARTITION_SPEC}: ringBusBandwidth: {error}") from None
