"""Usage: devices that claims have, and what is left of the counters that devices share."""

from collections.abc import Iterable

from pyroclast.plugins.predicates.devices.pools import Pools

__all__ = ["DeviceUsage"]


class DeviceUsage:
    """Devices in use by number; a device consumes its counters once."""

    def __init__(self, pools: Pools, devices: Iterable[int]) -> None:
        """Start with devices that are in use."""
        self._pools = pools
        self.devices: set[int] = set()
        self._left = list(pools.counters)
        for number in devices:
            if number not in self.devices:
                self.take(number)

    def take(self, number: int) -> None:
        """Count a device."""
        self.devices.add(number)
        for counter, amount in self._pools.offers[number].consumes:
            self._left[counter] -= amount

    def give_back(self, number: int) -> None:
        """Undo `take`."""
        self.devices.remove(number)
        for counter, amount in self._pools.offers[number].consumes:
            self._left[counter] += amount

    def has_counters_for(self, number: int) -> bool:
        """Return whether enough is left of the counters of a device."""
        return all(amount <= self._left[counter] for counter, amount in self._pools.offers[number].consumes if amount)
