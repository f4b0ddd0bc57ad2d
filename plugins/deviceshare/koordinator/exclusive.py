"""Exclusiveness: a pod that wants its devices of a type at PCIe switches where no other pod has one of that type.

It keeps others away while it is there, too. Who holds a type so is told by the number of the type.
"""

from collections.abc import Iterable

from pyroclast.model.devices.cards import Holder, Shelf
from pyroclast.model.devices.koordinator.device_hints import PCIE_LEVEL, DeviceHints
from pyroclast.model.devices.koordinator.layout import DeviceLayout
from pyroclast.model.devices.koordinator.names import TYPES

__all__ = ["exclusive_types", "out_of_reach"]


def exclusive_types(wishes: DeviceHints) -> frozenset[int]:
    """Return the numbers of the types that a pod wants so."""
    return frozenset(number for number, kind in enumerate(TYPES) if wishes.hint(kind).exclusive == PCIE_LEVEL)


def out_of_reach(layout: DeviceLayout, shelf: Shelf, wanted: frozenset[int]) -> frozenset[int]:
    """Return the devices that a pod must not have, by position.

    Args:
        layout: Of the devices of the node.
        shelf: What is taken of them.
        wanted: Numbers of the types that the pod wants exclusively.
    """
    hidden: set[int] = set()
    for holder in shelf.holders.values():
        if holder.rules or wanted:
            hidden |= _around(layout, holder, holder.rules | wanted)
    return frozenset(hidden)


def _around(layout: DeviceLayout, holder: Holder, types: Iterable[int]) -> set[int]:
    """Return the devices of some types that are at switches where a pod has one of the type."""
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
