"""Alignment: the devices of a pod within the fewest possible NUMA nodes.

`SingleNUMANode` permits only one NUMA node. `Restricted` permits the smallest sufficient number. `BestEffort` also
permits devices without a known NUMA node. Among equally many NUMA nodes, those come first with which the choice of GPUs
does not change; then those with smaller numbers.
"""

from collections.abc import Callable, Collection
from itertools import combinations
from typing import Final

from pyroclast.model.devices.cards import Use
from pyroclast.model.devices.koordinator.layout import ANYWHERE, DeviceLayout
from pyroclast.model.devices.koordinator.names import GPU
from pyroclast.plugins.deviceshare.family import ALL_NUMA_NODES
from pyroclast.plugins.deviceshare.koordinator import reasons
from pyroclast.plugins.deviceshare.koordinator.needs import Need

__all__ = ["ALIGNING", "aligned", "gpus_of", "within_numa"]

_SINGLE: Final = "SingleNUMANode"
_BEST_EFFORT: Final = "BestEffort"
ALIGNING: Final = (_BEST_EFFORT, "Restricted", _SINGLE)
"""Policies that align devices."""

Allocate = Callable[[tuple[Need, ...]], tuple[Use, ...] | str]


def aligned(layout: DeviceLayout, needs: tuple[Need, ...], policy: str, allocate: Allocate) -> tuple[Use, ...] | str:
    """Return the devices of a pod, or the reason of a refusal.

    Args:
        layout: DeviceLayout of the node's devices.
        needs: Needs of the pod.
        policy: One of `ALIGNING`.
        allocate: Chooses devices for needs.
    """
    free_choice = allocate(needs)
    if isinstance(free_choice, str):
        return free_choice
    places = (device.place for device in layout.devices)
    numbers = sorted({place.numa for place in places if place is not None and place.numa != ANYWHERE})
    for size in range(1, 2 if policy == _SINGLE else len(numbers) + 1):
        found = [
            chosen
            for numa in combinations(numbers, size)
            if not isinstance(chosen := allocate(tuple(_within(layout, need, numa) for need in needs)), str)
        ]
        if found:
            gpus = gpus_of(layout, free_choice)
            return next((chosen for chosen in found if gpus_of(layout, chosen) == gpus), found[0])
    return free_choice if policy == _BEST_EFFORT else reasons.NUMA


def _within(layout: DeviceLayout, need: Need, numa: Collection[int]) -> Need:
    """Restrict the candidates to devices in the given NUMA nodes, or without a known NUMA node."""
    places = ((at, layout.devices[at].place) for at in need.candidates)
    kept = tuple(at for at, place in places if place is not None and (place.numa == ANYWHERE or place.numa in numa))
    return need._replace(candidates=kept)


def within_numa(layout: DeviceLayout, needs: tuple[Need, ...], mask: int) -> tuple[Need, ...]:
    """Restrict candidates to devices in the NUMA nodes of a mask, as `aligned` does; -1 restricts nothing."""
    if mask == ALL_NUMA_NODES:
        return needs
    nodes = {number for number in range(mask.bit_length()) if mask >> number & 1}
    return tuple(_within(layout, need, nodes) for need in needs)


def gpus_of(layout: DeviceLayout, chosen: tuple[Use, ...]) -> frozenset[int]:
    """Return the GPUs of a choice."""
    return frozenset(use.card for use in chosen if layout.devices[use.card].type == GPU)
