"""The devices of a node, read from its Device once for each version of it.

Machines of one build differ in the names of their devices alone, so all else is one object for all of them, and what
is worked out about it need not be worked out again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from pyroclast.model import wire
from pyroclast.model.devices.cards import Instance
from pyroclast.model.devices.koordinator.names import (
    GPU,
    ISOLATION_PROVIDER,
    MEMORY,
    MODEL,
    NUMA_POLICIES,
    OFFERED,
    PARTITION_POLICY,
    TYPES,
    VENDOR,
)
from pyroclast.model.devices.koordinator.partitions import PartitionTable, partition_table
from pyroclast.model.nodenuma.names import NUMA_POLICY
from pyroclast.model.nodes import Node
from pyroclast.model.quantity import QuantityError, units

__all__ = [
    "ANYWHERE",
    "DeviceAmounts",
    "DeviceLayout",
    "DevicePlace",
    "DeviceUnit",
    "GpuPlugin",
    "NodeDevices",
    "VfGroup",
    "node_devices",
]

_LABELS: Final = (VENDOR, MODEL, ISOLATION_PROVIDER, NUMA_POLICY, PARTITION_POLICY)
"""Labels of the node that bear on its devices."""
_MOST_DEVICES: Final = 1024
"""Devices of one node that are believed in."""
_LAYOUTS_KEPT: Final = 1 << 12
_DEVICES_KEPT: Final = 1 << 14
ANYWHERE: Final = -1
"""NUMA node of a device of which it is not known."""

DeviceAmounts = tuple[int | None, ...]
"""Amounts in the order of `OFFERED`, whole units; None is not spoken of: as a total it limits nothing."""
_Labels = tuple[tuple[str, str], ...]
"""Sorted."""


class DevicePlace(NamedTuple):
    """Position of a device."""

    numa: int
    pcie: str


class VfGroup(NamedTuple):
    """Virtual functions of a device."""

    labels: _Labels
    functions: tuple[Instance, ...]
    """Address and number of each, in the order of the addresses."""


class GpuPlugin(NamedTuple):
    """Device plugin of the GPUs, by the labels of the Device. `vendor` and `model` of the layout are of the node."""

    vendor: str = ""
    model: str = ""


class DeviceUnit(NamedTuple):
    """One device."""

    type: str
    minor: int
    total: DeviceAmounts | None
    """Amounts that it offers; None if it is unhealthy or offers nothing."""
    labels: _Labels = ()
    place: DevicePlace | None = None
    groups: tuple[VfGroup, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class DeviceLayout:
    """Devices of one build of machines; equal ones are one object as long as it is remembered."""

    devices: tuple[DeviceUnit, ...]
    """Devices by type in the order of `TYPES`, then by minor."""
    partitions: PartitionTable | None
    vendor: str
    model: str
    isolation: str
    """Isolation of pods that share a GPU; empty if unknown."""
    numa_policy: str
    gpu_plugin: GpuPlugin
    by_type: Mapping[str, tuple[int, ...]]
    """Positions of the devices of each type. Types without devices are absent."""
    positions: Mapping[tuple[str, int], int]
    """Positions of devices, by type and minor."""
    gpu_memory: int
    """Memory of the first healthy GPU in bytes, assumed for all GPUs; 0 if there is none."""


class NodeDevices(NamedTuple):
    """The devices of one node."""

    layout: DeviceLayout
    ids: tuple[str, ...]
    """Id of each device; may be empty."""


def node_devices(node: Node) -> NodeDevices | None:
    """Return the devices of a node; None if it has no Device.

    Raises:
        ValueError: A field of the Device is malformed. The message names the path.
    """
    if node.device is None:
        return None
    named = tuple(node.labels.get(name, "") for name in _LABELS)
    return _read(node.device, named)


@lru_cache(_DEVICES_KEPT)
def _read(device: wire.KoordinatorDevice, named: tuple[str, ...]) -> NodeDevices:
    of_node = dict(zip(_LABELS, named, strict=True))
    metadata = device.metadata
    table = partition_table(metadata.annotations, metadata.labels, of_node)
    if len(device.spec.devices) > _MOST_DEVICES:
        raise ValueError(f"spec.devices: {len(device.spec.devices)} are more than {_MOST_DEVICES}")
    found = sorted(_devices(device.spec.devices), key=lambda pair: (TYPES.index(pair[0].type), pair[0].minor))
    vendor, model, isolation, numa_policy, _ = named
    if numa_policy not in NUMA_POLICIES:
        raise ValueError(f"label {NUMA_POLICY} of the node: {numa_policy!r} is none of {', '.join(NUMA_POLICIES[1:])}")
    plugin = GpuPlugin(metadata.labels.get(VENDOR, ""), metadata.labels.get(MODEL, ""))
    layout = _layout(tuple(each for each, _ in found), table, (vendor, model, isolation, numa_policy), plugin)
    return NodeDevices(layout, tuple(name for _, name in found))


def _devices(infos: Iterable[wire.KoordinatorDeviceInfo]) -> Iterator[tuple[DeviceUnit, str]]:
    """Yield devices of known types with their ids. Other types are ignored."""
    seen: set[tuple[str, int]] = set()
    for number, info in enumerate(infos):
        if info.type not in OFFERED:
            continue
        path = f"spec.devices[{number}]"
        if info.minor is None or info.minor < 0:
            raise ValueError(f"{path}.minor: {info.minor}, expected a number of at least 0")
        if (info.type, info.minor) in seen:
            raise ValueError(f"{path}.minor: {info.type} {info.minor} is there twice")
        seen.add((info.type, info.minor))
        place = None if info.topology is None else DevicePlace(info.topology.node_id, info.topology.pcie_id)
        groups = tuple(_groups(path, info.vf_groups))
        labels = tuple(sorted(info.labels.items()))
        yield DeviceUnit(info.type, info.minor, _total(path, info), labels, place, groups), info.id


def _total(path: str, info: wire.KoordinatorDeviceInfo) -> DeviceAmounts | None:
    amounts: list[int | None] = []
    for name in OFFERED[info.type]:
        text = info.resources.get(name)
        try:
            amount = None if text is None else units(text)
        except QuantityError as error:
            raise ValueError(f"{path}.resources.{name}: {error}") from None
        if amount is not None and amount < 0:
            raise ValueError(f"{path}.resources.{name}: {text} is negative")
        amounts.append(amount)
    return tuple(amounts) if info.health and any(amounts) else None


def _groups(path: str, groups: Iterable[wire.KoordinatorVirtualFunctionGroup]) -> Iterator[VfGroup]:
    seen: set[str] = set()
    for number, group in enumerate(groups):
        for at, function in enumerate(group.vfs):
            if not function.bus_id or function.bus_id in seen:
                wrong = "is there twice" if function.bus_id else "expected an address"
                raise ValueError(f"{path}.vfGroups[{number}].vfs[{at}].busID: {function.bus_id!r}, {wrong}")
            seen.add(function.bus_id)
        functions = tuple(sorted((each.bus_id, each.minor) for each in group.vfs))
        yield VfGroup(tuple(sorted(group.labels.items())), functions)


@lru_cache(_LAYOUTS_KEPT)
def _layout(
    devices: tuple[DeviceUnit, ...],
    partitions: PartitionTable | None,
    named: tuple[str, str, str, str],
    plugin: GpuPlugin,
) -> DeviceLayout:
    vendor, model, isolation, numa_policy = named
    by_type: dict[str, tuple[int, ...]] = {}
    for position, device in enumerate(devices):
        by_type[device.type] = (*by_type.get(device.type, ()), position)
    memory = OFFERED[GPU].index(MEMORY)
    totals = (device.total for device in devices if device.type == GPU and device.total is not None)
    return DeviceLayout(
        devices=devices,
        partitions=partitions,
        vendor=vendor,
        model=model,
        isolation=isolation,
        numa_policy=numa_policy,
        gpu_plugin=plugin,
        by_type=by_type,
        positions={(device.type, device.minor): position for position, device in enumerate(devices)},
        gpu_memory=next(filter(None, (total[memory] for total in totals)), 0),
    )
