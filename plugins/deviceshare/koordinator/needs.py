"""Needs: number of devices, amounts and candidates of each type for a pod on a node.

For RDMA cards and FPGAs, a multiple of 100 percent means that many whole devices. Other quantities mean a part of one
device, a part of all selected devices (`ApplyForAll`), or that many devices with one percent each, or with all of it
for `DeviceLevel` (`RequestsAsCount`).
"""

from typing import Final, NamedTuple

from pyroclast.model.devices.koordinator.device_hints import APPLY_FOR_ALL, DEVICE_LEVEL, REQUESTS_AS_COUNT, Hint
from pyroclast.model.devices.koordinator.layout import DeviceAmounts, DeviceLayout
from pyroclast.model.devices.koordinator.names import CORE, GPU, MEMORY, OFFERED
from pyroclast.model.devices.koordinator.requests import WHOLE, GpuRequest, filled
from pyroclast.model.devices.koordinator.vendors import limits_of
from pyroclast.plugins.deviceshare.koordinator import reasons
from pyroclast.plugins.deviceshare.koordinator.demand import DeviceDemand
from pyroclast.plugins.deviceshare.koordinator.free import fits_in
from pyroclast.plugins.deviceshare.koordinator.rules import Rules

__all__ = ["Need", "count_and_amount", "needs_of"]

_CORE: Final = OFFERED[GPU].index(CORE)
_MEMORY: Final = OFFERED[GPU].index(MEMORY)


class Need(NamedTuple):
    """Need for devices of one type."""

    type: str
    devices: int
    """Number of devices."""
    each: DeviceAmounts
    """Amounts of each device."""
    hint: Hint
    candidates: tuple[int, ...]
    """Positions of suitable devices, ascending. Free amounts are checked elsewhere."""
    is_shared: bool = False
    """For GPUs: whether other pods may use the rest of them."""


def needs_of(layout: DeviceLayout, demand: DeviceDemand, rules: Rules) -> tuple[Need, ...] | str:
    """Return the needs of a pod on a node, by type in the order of `TYPES`, or why the node can never serve it.

    Args:
        layout: DeviceLayout of the node's devices.
        demand: Demand of the pod.
        rules: Rules for devices.
    """
    found: list[Need] = []
    for need in _needs(layout, demand, rules):
        if isinstance(need, str):
            return need
        able = sum(fits_in(need.each, layout.devices[at].total or ()) for at in need.candidates)
        if able < need.devices:
            return _too_few(need)
        found.append(need)
    return tuple(found)


def _too_few(need: Need) -> str:
    if need.type == GPU and need.devices == 1 and (need.each[_CORE] or 0) > WHOLE:
        return reasons.CORES_OF_SEVERAL
    return reasons.ever_insufficient(need.type)


def _needs(layout: DeviceLayout, demand: DeviceDemand, rules: Rules) -> list[Need | str]:
    gpu, wishes = demand.request.gpu, demand.wishes
    needs: list[Need | str] = []
    if gpu is not None:
        needs.append(_gpu_need(layout, demand, gpu, rules))
    for kind, quantity in demand.request.quantities:
        needs.append(_other_need(layout, kind, quantity, wishes.hint(kind)))
    return needs


def _candidates(layout: DeviceLayout, kind: str, hint: Hint) -> tuple[int, ...]:
    """Return the healthy devices of a type that a pod selects."""
    devices = layout.devices
    return tuple(
        at
        for at in layout.by_type.get(kind, ())
        if devices[at].total is not None and hint.selector.matches(dict(devices[at].labels))
    )


def _gpu_need(layout: DeviceLayout, demand: DeviceDemand, gpu: GpuRequest, rules: Rules) -> Need | str:
    hint = demand.wishes.hint(GPU)
    if gpu.is_shared and demand.isolation and demand.isolation != layout.isolation:
        return reasons.OTHER_ISOLATION
    if gpu.is_shared and (layout.vendor, layout.model) in rules.unsupported:
        return reasons.NOT_SHARED
    if gpu.is_shared and rules.templates.concern(gpu.each) and not rules.templates.equal_to(layout, gpu.each):
        return reasons.NO_TEMPLATE
    if not layout.gpu_memory:
        return reasons.ever_insufficient(GPU)
    candidates = _candidates(layout, GPU, hint)
    need = Need(GPU, gpu.count, filled(gpu.each, layout.gpu_memory), hint, candidates, gpu.is_shared)
    fault = _unserved_by_plugin(layout, need) if rules.adapts else ""
    return fault or _unserved(layout, demand, need) or need


def _unserved(layout: DeviceLayout, demand: DeviceDemand, need: Need) -> str:
    """Return why the node cannot provide GPUs in this way; empty if it can."""
    if need.is_shared:
        if need.hint.scope and need.devices > 1:
            return reasons.SEVERAL_SHARED
    elif demand.wishes.partition is not None or (layout.partitions is not None and layout.partitions.is_mandatory):
        if layout.partitions is None:
            return reasons.MISSING_TABLE
        if layout.partitions.of(need.devices) is None:
            return reasons.UNKNOWN_COUNT
    if need.hint.scope and any(layout.devices[at].place is None for at in layout.by_type[GPU]):
        return reasons.MISSING_TREE
    return ""


def _unserved_by_plugin(layout: DeviceLayout, need: Need) -> str:
    """Return why the device plugin of a node cannot serve a pod with these GPUs; empty if it can."""
    limits = limits_of(layout.gpu_plugin)
    if limits.one_device and need.devices > 1:
        return reasons.ONE_GPU
    if limits.needs_core and need.each[_CORE] is None:
        return reasons.CORE_MISSING
    return reasons.LITTLE_MEMORY if (need.each[_MEMORY] or 0) < limits.memory else ""


def _other_need(layout: DeviceLayout, kind: str, quantity: int, hint: Hint) -> Need | str:
    positions, candidates = layout.by_type.get(kind, ()), _candidates(layout, kind, hint)
    if not positions:
        return reasons.ever_insufficient(kind)
    if hint.functions is not None and not any(layout.devices[at].groups for at in positions):
        return reasons.without_functions(kind)
    count, amount = count_and_amount(layout, kind, quantity, hint)
    return Need(kind, count, (amount,), hint, candidates) if count else reasons.ever_insufficient(kind)


def count_and_amount(layout: DeviceLayout, kind: str, quantity: int, hint: Hint) -> tuple[int, int]:
    """Return the number of devices of a type other than GPU that a pod needs, and the percentage of each."""
    if quantity > WHOLE and quantity % WHOLE == 0:
        return quantity // WHOLE, WHOLE
    if hint.strategy == APPLY_FOR_ALL:
        devices = (layout.devices[at] for at in layout.by_type[kind])
        return sum(hint.selector.matches(dict(device.labels)) for device in devices), quantity
    if hint.strategy == REQUESTS_AS_COUNT:
        return quantity, WHOLE if hint.exclusive == DEVICE_LEVEL else 1
    return 1, quantity
