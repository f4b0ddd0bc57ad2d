"""Free amounts of a node's devices."""

from collections.abc import Iterable

from pyroclast.model.devices.cards import State
from pyroclast.model.devices.koordinator.layout import DeviceAmounts, DeviceLayout

__all__ = ["Free", "fits_in", "total_of"]


def fits_in(asked: DeviceAmounts, offered: DeviceAmounts) -> bool:
    """Return whether amounts are within others. An unspecified amount limits nothing."""
    return all(want is None or there is None or want <= there for want, there in zip(asked, offered, strict=True))


def total_of(amounts: Iterable[DeviceAmounts | None], length: int) -> tuple[int, ...]:
    """Add amounts. An unspecified amount counts as 0."""
    sums = [0] * length
    for each in amounts:
        for at, amount in enumerate(each or ()):
            sums[at] += amount or 0
    return tuple(sums)


class Free:
    """Free amounts of devices, calculated once for a state of a node. Read-only."""

    __slots__ = ("amounts", "functions", "layout", "used")

    def __init__(self, layout: DeviceLayout, taken: State) -> None:
        """Subtract the allocated amounts."""
        parts, _, _, instances, amounts = taken
        self.layout = layout
        self.used = frozenset(position for position, count in enumerate(parts) if count)
        """Positions of devices on which a pod has a part."""
        self.functions = instances
        """Virtual functions in use, by position."""
        self.amounts: list[DeviceAmounts | None] = [
            _left(device.total, amounts[position]) for position, device in enumerate(layout.devices)
        ]
        """Free amounts by position; None for a device that offers nothing."""

    def fits(self, position: int, asked: DeviceAmounts) -> bool:
        """Return whether a device has the amounts free; a device with nothing free never has."""
        left = self.amounts[position]
        return left is not None and any(left) and fits_in(asked, left)


def _left(total: DeviceAmounts | None, taken: tuple[int, ...]) -> DeviceAmounts | None:
    if total is None or not taken:
        return total
    return tuple(None if there is None else max(there - gone, 0) for there, gone in zip(total, taken, strict=True))
