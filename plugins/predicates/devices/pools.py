"""Pools: the devices that ResourceSlices offer, and the nodes that reach each.

Only slices of a pool's highest generation count, and only if all of them are there. Slices and devices with fields that
are not supported here, such as counters that devices share, are left out; their pool is incomplete.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import NodeName
from pyroclast.model.matching.nodes import node_selector_mask
from pyroclast.model.nodes import NodeTable

__all__ = ["DeviceId", "Offer", "Pools"]

_NOWHERE: Final = -1


class DeviceId(NamedTuple):
    """What identifies a device in the cluster."""

    driver: str
    pool: str
    device: str


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A device that claims can get."""

    id: DeviceId
    device: wire.Device
    node: NodeName
    """The only node that reaches it; empty for others."""
    selector: wire.NodeSelector | None
    """Nodes that reach it, if there are several but not all."""

    def attribute(self, name: str) -> wire.DeviceAttribute | None:
        """Return an attribute by its full name; names without a domain have that of the driver."""
        known = self.device.attributes.get(name)
        domain, _, plain = name.rpartition("/")
        return self.device.attributes.get(plain) if known is None and domain == self.id.driver else known


class Pools:
    """All devices by number: in the order of drivers, pools, slices and devices. N nodes, D devices."""

    def __init__(self, slices: Mapping[str, wire.ResourceSlice], table: NodeTable) -> None:
        """Read the slices."""
        self._table = table
        self.offers: list[Offer] = []
        self.numbers: dict[DeviceId, int] = {}
        self._on_node: dict[int, list[int]] = {}
        """Devices that one node reaches, by its column."""
        self._shared: list[tuple[BoolArray | None, int]] = []
        """Devices that several nodes reach, with these; None for all."""
        self._broken: list[tuple[BoolArray, str]] = []
        """Nodes of pools without devices to offer, with the reason."""
        self._reached: dict[int, IntArray] = {}
        for (driver, pool), parts in _by_pool(slices).items():
            self._add(driver, pool, parts)

    def at(self, column: int) -> IntArray:
        """Return the devices that a node reaches, ascending, shape (devices,)."""
        known = self._reached.get(column)
        if known is None:
            shared = [number for mask, number in self._shared if mask is None or mask[column]]
            numbers = sorted((*self._on_node.get(column, ()), *shared))
            known = self._reached[column] = np.array(numbers, dtype=np.int64)
        return known

    def column(self, number: int) -> int | None:
        """Return the column of the only node that reaches a device; None if several do."""
        node = self.offers[number].node
        return self._table.column.get(node, _NOWHERE) if node else None

    def fault(self, column: int) -> str:
        """Return why not all devices of a node are known; empty if they are."""
        return next((reason for mask, reason in self._broken if mask[column]), "")

    def _add(self, driver: str, pool: str, parts: Sequence[wire.ResourceSlice]) -> None:
        generation = max(each.spec.pool.generation for each in parts)
        current = [each for each in parts if each.spec.pool.generation == generation]
        known = [each for each in current if _is_supported(each.spec)]
        names = [device.name for each in known for device in each.spec.devices]
        reason = ""
        if len(known) != current[0].spec.pool.resource_slice_count:
            reason = (
                f"{len(known)} of {current[0].spec.pool.resource_slice_count} slices of pool {driver}/{pool} are known"
            )
        elif len(set(names)) != len(names):
            reason = f"pool {driver}/{pool} has a device twice"
        if reason:
            self._broken.append((self._nodes_of(current), reason))
            return
        for each in known:
            for device in each.spec.devices:
                if _can_be_given(device):
                    self._offer(DeviceId(driver, pool, device.name), device, _selection(each.spec, device))

    def _offer(self, identity: DeviceId, device: wire.Device, selection: "_Selection") -> None:
        number = self.numbers[identity] = len(self.offers)
        self.offers.append(Offer(identity, device, NodeName(selection.node_name), selection.node_selector))
        if selection.node_name:
            self._on_node.setdefault(self._table.column.get(NodeName(selection.node_name), _NOWHERE), []).append(number)
        elif selection.all_nodes or selection.node_selector is not None:
            self._shared.append((self._mask(selection), number))

    def _mask(self, selection: "_Selection") -> BoolArray | None:
        if selection.node_selector is None:
            return None
        return node_selector_mask(self._table.facts, selection.node_selector)

    def _nodes_of(self, parts: Sequence[wire.ResourceSlice]) -> BoolArray:
        reached = np.zeros(len(self._table), dtype=np.bool_)
        for selection in (each for part in parts for each in _selections(part.spec)):
            mask = self._mask(selection)
            if selection.node_name:
                column = self._table.column.get(NodeName(selection.node_name))
                reached[[] if column is None else [column]] = True
            elif selection.all_nodes or mask is not None:
                reached |= True if mask is None else mask
        return reached


class _Selection(NamedTuple):
    node_name: str
    node_selector: wire.NodeSelector | None
    all_nodes: bool


def _by_pool(slices: Mapping[str, wire.ResourceSlice]) -> dict[tuple[str, str], list[wire.ResourceSlice]]:
    found: dict[tuple[str, str], list[wire.ResourceSlice]] = {}
    for _, each in sorted(slices.items()):
        found.setdefault((each.spec.driver, each.spec.pool.name), []).append(each)
    return dict(sorted(found.items()))


def _is_supported(spec: wire.ResourceSliceSpec) -> bool:
    is_placed = bool(spec.node_name or spec.node_selector or spec.all_nodes or spec.per_device_node_selection)
    return is_placed and not spec.shared_counters


def _can_be_given(device: wire.Device) -> bool:
    """Return whether all rules of a device are followed here."""
    return not (device.consumes_counters or device.binding_conditions or device.allow_multiple_allocations)


def _selection(spec: wire.ResourceSliceSpec, device: wire.Device) -> _Selection:
    source = device if spec.per_device_node_selection else spec
    return _Selection(source.node_name, source.node_selector, source.all_nodes)


def _selections(spec: wire.ResourceSliceSpec) -> Iterator[_Selection]:
    if spec.per_device_node_selection:
        yield from (_selection(spec, device) for device in spec.devices)
    else:
        yield _Selection(spec.node_name, spec.node_selector, spec.all_nodes)
