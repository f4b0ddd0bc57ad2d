"""Endpoints of Reservations, with the paths of Koordinator's service API."""

from typing import Any

from pyroclast.framework.extension.contract import EndpointRequest
from pyroclast.model.ids import NodeName
from pyroclast.model.requests import resource_list
from pyroclast.model.reservations.reserved import ReservedCapacity
from pyroclast.model.snapshot import Snapshot

__all__ = ["node_reservations"]


def node_reservations(request: EndpointRequest) -> dict[str, Any] | None:
    """Return the Reservations whose capacity a node keeps; None for an unknown node."""
    snapshot, node = request.snapshot, NodeName(request.parameters["name"])
    if node not in snapshot.nodes.column:
        return None
    return {"items": [_reservation(snapshot, each) for each in snapshot.reservations.values() if each.node == node]}


def _reservation(snapshot: Snapshot, reserved: ReservedCapacity) -> dict[str, Any]:
    on_node = snapshot.nodes.tasks[snapshot.nodes.column[reserved.node]]
    return {
        "name": reserved.name,
        "uid": reserved.id,
        "node": reserved.node,
        "allocateOnce": reserved.rules.object.spec.allocate_once,
        "allocatePolicy": reserved.rules.object.spec.allocate_policy,
        "allocatable": resource_list(reserved.reserved),
        "remained": resource_list(reserved.rest()),
        "assignedPods": {
            on_node[task].key if task in on_node else task: resource_list(amounts)
            for task, amounts in reserved.users.items()
        },
    }
