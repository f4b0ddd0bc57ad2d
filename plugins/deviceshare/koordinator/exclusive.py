"""Exclusiveness: a pod's devices of a type are at PCIe switches where no other pod has a device of that type.

The pod also keeps other pods away later. A holder stores its exclusive types as their numbers.
"""

from collections.abc import Iterable

from pyroclast.model.devices.cards import Holder, Shelf
from pyroclast.model.devices.koordinator.device_hints import PCIE_LEVEL, DeviceHints
from pyroclast.model.devices.koordinator.layout import DeviceLayout
from pyroclast.model.devices.koordinator.names import TYPES

__all__ = ["exclusive_types", "out_of_reach"]


def exclusive_types(wishes: DeviceHints) -> frozenset[int]:
    """Return the numbers of the types that a pod requires exclusively."""
    return frozenset(number for number, kind in enumerate(TYPES) if wishes.hint(kind).exclusive == PCIE_LEVEL)


def out_of_reach(layout: DeviceLayout, shelf: Shelf, exclusive: frozenset[int]) -> frozenset[int]:
    """Return the devices that a pod must not use, by position.

    Args:
        layout: DeviceLayout of the node's devices.
        shelf: Their allocated parts.
        exclusive: Numbers of the types that the pod requires exclusively.
    """
    hidden: set[int] = set()
    for holder in shelf.holders.values():
        if holder.rules or exclusive:
            hidden |= _around(layout, holder, holder.rules | exclusive)
    return frozenset(hidden)


def _around(layout: DeviceLayout, holder: Holder, types: Iterable[int]) -> set[int]:
    """Return the devices of these types at switches where the holder has a device of the type."""
    kinds = {TYPES[number] for number in types}
    held = {
        (device.type, device.place.pcie)
        for use in holder.uses
        if (device := layout.devices[use.card]).type in kinds and device.place is not None
    }
    return {
        at
        for at, device in enumerate(layout.devices)
        if device.place is not None and (device.type, device.place.pcie) in held
    }
