"""Pools: the devices that ResourceSlices offer, and the nodes that reach each.

Only slices of a pool's highest generation count, and only if all of them are there. A slice without a selection of
nodes is left out, so that its pool is incomplete. Devices with rules that are not followed here are left out.

Devices that are partitions of one piece of hardware consume counters of their pool.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import NodeName
from pyroclast.model.matching.nodes import node_selector_mask
from pyroclast.model.nodes import NodeTable
from pyroclast.model.quantity import QuantityError, millis

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
    consumes: tuple[tuple[int, int], ...]
    """Numbers of counters, and how much it consumes of each, thousandths."""
    parsed: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """What expressions read of it, by field, domain and name: computed at the first question."""

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
        self.counters: list[int] = []
        """Amounts that devices share, by number, thousandths."""
        self._faults: dict[int, str] = {}
        """Why not all devices of a node are known, by its column."""
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

    @cached_property
    def groups(self) -> tuple[list[int], IntArray]:
        """Nodes that reach the same devices: a column of each group, and the group of each node, shape (N,)."""
        numbers: dict[tuple[bytes, str], int] = {}
        columns: list[int] = []
        group_of = np.zeros(len(self._table), dtype=np.int64)
        for column in range(len(self._table)):
            key = self.at(column).tobytes(), self.fault(column)
            if key not in numbers:
                numbers[key] = len(columns)
                columns.append(column)
            group_of[column] = numbers[key]
        return columns, group_of

    def column(self, number: int) -> int | None:
        """Return the column of the only node that a device matters to; None if there are several.

        A device that consumes counters matters to all nodes of its pool.
        """
        offer = self.offers[number]
        return self._table.column.get(offer.node, _NOWHERE) if offer.node and not offer.consumes else None

    def fault(self, column: int) -> str:
        """Return why not all devices of a node are known; empty if they are."""
        return self._faults.get(column, "")

    def _add(self, driver: str, pool: str, parts: Sequence[wire.ResourceSlice]) -> None:
        generation = max(each.spec.pool.generation for each in parts)
        current = [each for each in parts if each.spec.pool.generation == generation]
        known = [each for each in current if _is_supported(each.spec)]
        devices = [device for each in known for device in each.spec.devices]
        expected = current[0].spec.pool.resource_slice_count
        numbers = self._numbers_of_counters(known)
        if len(known) != expected:
            reason = f"{len(known)} of {expected} slices of pool {driver}/{pool} are known"
        elif len({device.name for device in devices}) != len(devices):
            reason = f"pool {driver}/{pool} has a device twice"
        elif numbers is None or not all(
            _has_counters(device, numbers) for each in known for device in each.spec.devices
        ):
            reason = f"pool {driver}/{pool} has wrong counters"
        else:
            for each in known:
                for device in each.spec.devices:
                    if _can_be_given(device):
                        identity = DeviceId(driver, pool, device.name)
                        self._offer(identity, device, _selection(each.spec, device), numbers)
            return
        for column in np.flatnonzero(self._nodes_of(current)).tolist():
            self._faults.setdefault(column, reason)

    def _numbers_of_counters(self, parts: Sequence[wire.ResourceSlice]) -> dict[tuple[str, str], int] | None:
        """Add the counters of a pool, and return their numbers by set and name; None if they are wrong."""
        numbers: dict[tuple[str, str], int] = {}
        sets = [each for part in parts for each in part.spec.shared_counters]
        for each in sets:
            for name, counter in each.counters.items():
                amount = _amount(counter)
                if amount is None:
                    return None
                numbers[each.name, name] = len(self.counters)
                self.counters.append(amount)
        return numbers if len({each.name for each in sets}) == len(sets) else None

    def _offer(
        self,
        identity: DeviceId,
        device: wire.Device,
        selection: "_Selection",
        counters: Mapping[tuple[str, str], int],
    ) -> None:
        number = self.numbers[identity] = len(self.offers)
        consumes = tuple((counters[key], amount or 0) for key, amount in _consumed(device))
        self.offers.append(Offer(identity, device, NodeName(selection.node_name), selection.node_selector, consumes))
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
    return is_placed or bool(spec.shared_counters)


def _can_be_given(device: wire.Device) -> bool:
    """Return whether all rules of a device are followed here."""
    return not (device.binding_conditions or device.allow_multiple_allocations)


def _has_counters(device: wire.Device, numbers: Mapping[tuple[str, str], int]) -> bool:
    return all(key in numbers and amount is not None for key, amount in _consumed(device))


def _consumed(device: wire.Device) -> Iterator[tuple[tuple[str, str], int | None]]:
    """Yield the set and name of each counter that a device consumes, with the amount; None for a wrong one."""
    for each in device.consumes_counters:
        for name, counter in each.counters.items():
            yield (each.counter_set, name), _amount(counter)


def _amount(counter: wire.Counter) -> int | None:
    try:
        return millis(counter.value)
    except QuantityError:
        return None


def _selection(spec: wire.ResourceSliceSpec, device: wire.Device) -> _Selection:
    source = device if spec.per_device_node_selection else spec
    return _Selection(source.node_name, source.node_selector, source.all_nodes)


def _selections(spec: wire.ResourceSliceSpec) -> Iterator[_Selection]:
    if spec.per_device_node_selection:
        yield from (_selection(spec, device) for device in spec.devices)
    else:
        yield _Selection(spec.node_name, spec.node_selector, spec.all_nodes)
