"""Claims: devices in the annotations of pods on a node, with the amounts of the pods' requests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyroclast.model.devices.cards import State, Use
from pyroclast.model.devices.koordinator.layout import DeviceAmounts, DeviceLayout
from pyroclast.model.devices.koordinator.names import GPU
from pyroclast.model.devices.koordinator.requests import filled
from pyroclast.plugins.deviceshare.koordinator.demand import DeviceDemand
from pyroclast.plugins.deviceshare.koordinator.free import Free
from pyroclast.plugins.deviceshare.koordinator.generic import amounts_of
from pyroclast.plugins.deviceshare.koordinator.needs import count_and_amount

__all__ = ["Asked", "asked_of", "beside", "room_for", "within"]


class Asked(NamedTuple):
    """Request of a pod for one type."""

    devices: int
    most: int
    """Maximum number of devices that it may hold: each of several GPUs may have a nearby device of another type."""
    each: DeviceAmounts
    """Amounts of each device."""


def asked_of(layout: DeviceLayout, demand: DeviceDemand) -> Mapping[str, Asked]:
    """Return the request of a pod on a node by type, whether or not the node can serve it now."""
    found, gpu = {}, demand.request.gpu
    if gpu is not None:
        each = filled(gpu.each, layout.gpu_memory) if layout.gpu_memory else gpu.each
        found[GPU] = Asked(gpu.count, gpu.count, each)
    for kind, quantity in demand.request.quantities:
        count, amount = count_and_amount(layout, kind, quantity, demand.wishes.hint(kind))
        most = count if gpu is None or not demand.wishes.joint else max(count, gpu.count)
        found[kind] = Asked(count, most, (amount,))
    return found


def within(layout: DeviceLayout, uses: Sequence[Use], asked: Mapping[str, Asked] | None) -> tuple[Use, ...]:
    """Return what the pod requests of the annotated devices; the first devices of each type count.

    Amounts are those of the request, because a pod can write smaller ones.

    Args:
        layout: DeviceLayout of the node's devices.
        uses: Devices in the annotation.
        asked: Request of the pod by type; None if it cannot be read: then one device of each type counts.
    """
    devices: dict[str, list[int]] = {}
    functions: Counter[int] = Counter()
    found = []
    for use in uses:
        kind = layout.devices[use.card].type
        most, limits = (1, use.amounts) if asked is None else _limits(asked.get(kind))
        known = devices.setdefault(kind, [])
        if use.card not in known:
            if len(known) >= most:
                continue
            known.append(use.card)
        elif functions[use.card] >= max(
            limits, default=0
        ):  # a virtual function takes at least one percent of its device
            continue
        is_first = not functions[use.card]
        functions[use.card] += 1
        found.append(use._replace(amounts=limits if use.amounts and is_first else ()))
    return tuple(found)


def _limits(asked: Asked | None) -> tuple[int, tuple[int, ...]]:
    return (0, ()) if asked is None else (asked.most, amounts_of(asked.each))


def room_for(layout: DeviceLayout, taken: State, uses: Sequence[Use]) -> bool:
    """Return whether devices have the amounts free. Unhealthy devices offer nothing, but do not refuse here."""
    _, _, _, instances, amounts = taken
    for use in uses:
        total, known = layout.devices[use.card].total, amounts[use.card] or (0,) * len(use.amounts)
        if use.instance is not None and use.instance in instances[use.card]:
            return False
        if (
            use.amounts
            and total is not None
            and any(
                there is not None and had + more > there
                for there, had, more in zip(total, known, use.amounts, strict=True)
            )
        ):
            return False
    return True


def beside(free: Free, uses: Sequence[Use], asked: Mapping[str, Asked]) -> tuple[Use, ...]:
    """Return devices for the rest of a pod's request: the first with enough free amounts."""
    layout, named = free.layout, {use.card for use in uses}
    found: list[Use] = []
    for kind, (devices, _, each) in asked.items():
        missing = devices - sum(layout.devices[at].type == kind for at in named)
        able = [at for at in layout.by_type.get(kind, ()) if at not in named and free.fits(at, each)]
        found.extend(Use(at, 0, amounts=amounts_of(each)) for at in able[: max(missing, 0)])
    return tuple(found)
