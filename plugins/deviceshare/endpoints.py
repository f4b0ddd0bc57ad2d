"""Endpoints of Koordinator's devices, with the paths and field names of its service API.

Devices count as in a session that begins: by the annotations of the pods on the node, at most what the pods request. A
Reservation has what its owners leave.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from pyroclast.framework.extension.contract import EndpointRequest
from pyroclast.model.devices.cards import Shelf
from pyroclast.model.devices.koordinator.layout import DeviceAmounts, DeviceLayout
from pyroclast.model.devices.koordinator.names import OFFERED
from pyroclast.model.ids import NodeName
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.deviceshare.koordinator.family import Koordinator
from pyroclast.plugins.deviceshare.koordinator.free import Free
from pyroclast.plugins.deviceshare.reserved_devices import remaining, reserved_uses

__all__ = ["summaries", "summary"]

Detail = dict[str, dict[int, dict[str, int]]]
"""Amounts by type, minor and resource, in whole units: percent, or bytes of memory."""


def summaries(request: EndpointRequest) -> dict[str, Any]:
    """Return the devices of each node that has some, by the name of the node.

    A node whose devices cannot be read is left out; an event about it gives the reason.
    """
    found = ((name, _summary(request.snapshot, name)) for name in request.snapshot.nodes.names)
    return {name: each for name, each in found if each is not None}


def summary(request: EndpointRequest) -> dict[str, Any] | None:
    """Return the devices of one node; None for an unknown node, and for one without devices that can be read."""
    name = NodeName(request.parameters["name"])
    return _summary(request.snapshot, name) if name in request.snapshot.nodes.column else None


def _summary(snapshot: Snapshot, name: NodeName) -> dict[str, Any] | None:
    column = snapshot.nodes.column[name]
    family, tasks = Koordinator(), snapshot.nodes.tasks[column]
    try:
        devices = family.cards(snapshot.nodes.facts.nodes[column])
    except ValueError:
        return None
    if devices is None:
        return None
    layout, shelf = devices.layout, Shelf(len(devices.ids))
    reserving = [each for each in snapshot.reservations.values() if each.id in tasks and not each.counted]
    holding = tasks.keys() - {each.id for each in reserving}
    for task in tasks.values():
        if task.id in holding and task.status is not TaskStatus.RELEASING and family.names_cards(task):
            shelf.put(task.id, family.holding(task, family.named(devices, task, _demand(family, task))))
    for each in reserving:
        held = (use for user in each.users if user in shelf.holders for use in shelf.holders[user].uses)
        rest = remaining(reserved_uses(family, devices, each, tasks[each.id]), held)
        shelf.put(each.id, family.holding(tasks[each.id], rest))
    total = _detail(layout, [device.total for device in layout.devices])
    free = _detail(layout, Free(layout, shelf.state()).amounts)
    used = _detail(layout, [each or None for each in shelf.amounts])
    return {
        "deviceTotal": _sums(total),
        "deviceFree": _sums(free),
        "deviceUsed": _sums(used),
        "deviceTotalDetail": total,
        "deviceFreeDetail": free,
        "deviceUsedDetail": used,
        "allocateSet": _by_pod(layout, shelf, tasks.values()),
    }


def _demand(family: Koordinator, task: Task) -> Any:
    try:
        return family.demand(task.template, task)
    except ValueError:
        return None


def _detail(layout: DeviceLayout, amounts: Iterable[DeviceAmounts | None]) -> Detail:
    detail: Detail = defaultdict(dict)
    for device, each in zip(layout.devices, amounts, strict=True):
        detail[device.type][device.minor] = _named(device.type, each)
    return dict(detail)


def _named(kind: str, amounts: DeviceAmounts | None) -> dict[str, int]:
    return {name: amount for name, amount in zip(OFFERED[kind], amounts or (), strict=False) if amount is not None}


def _sums(detail: Detail) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for by_minor in detail.values():
        for amounts in by_minor.values():
            for name, amount in amounts.items():
                sums[name] += amount
    return dict(sums)


def _by_pod(layout: DeviceLayout, shelf: Shelf, tasks: Iterable[Task]) -> dict[str, dict[str, dict[int, Any]]]:
    """Return what each pod holds, by type, pod and minor."""
    found: dict[str, dict[str, dict[int, Any]]] = defaultdict(lambda: defaultdict(dict))
    keys = {task.id: task.key for task in tasks}
    for task, holder in sorted(shelf.holders.items(), key=lambda item: keys[item[0]]):
        for use in holder.uses:
            device = layout.devices[use.card]
            found[device.type][keys[task]][device.minor] = _named(device.type, use.amounts)
    return found
