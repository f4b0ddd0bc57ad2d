"""Judging: whether a pod may use a Reservation, whatever is left of it (R5 to R10)."""

from collections.abc import Mapping

from pyroclast.model import wire
from pyroclast.model.matching.taints import BLOCKING_EFFECTS, NO_SCHEDULE, tolerates
from pyroclast.model.reservations.affinity import ReservationDemand
from pyroclast.model.reservations.reserved import ReservedCapacity
from pyroclast.model.resources import PODS, Amounts

__all__ = ["IN_USE", "NOT_NAMED", "refusal_of"]

_UNSCHEDULABLE: wire.Taint = wire.Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
IN_USE = "is used by another pod"
"""Refusal by a Reservation that may be used once."""
NOT_NAMED = "didn't match the requested reservation name"


def refusal_of(
    demand: ReservationDemand, capacity: ReservedCapacity, node_labels: Mapping[str, str], request: Amounts
) -> str:
    """Return why a pod whose owners match may not use a Reservation, in Koordinator's words; empty if it may.

    Args:
        demand: What the pod demands.
        capacity: The Reservation.
        node_labels: Labels of its node, which its own labels overlay.
        request: What the pod requests, thousandths by name.
    """
    if capacity.is_spent:
        return IN_USE
    if demand.name and demand.name != capacity.name:
        return NOT_NAMED
    if not _is_exact(demand.exact, request, capacity.amounts):
        return "is not exact matched"
    if demand.name:
        return ""
    if not demand.is_required:
        return _refusal_without_affinity(capacity, request)
    return _refusal_by_affinity(demand, capacity, node_labels)


def _is_exact(names: tuple[str, ...], request: Amounts, reserved: Amounts) -> bool:
    """Compare amounts in the order of the names; a name that is in neither decides that they match (R9)."""
    for name in names:
        if name not in request and name not in reserved:
            return True
        if request.get(name) != reserved.get(name):
            return False
    return True


def _refusal_without_affinity(capacity: ReservedCapacity, request: Amounts) -> str:
    if _is_closed(capacity):
        return "is unschedulable"
    is_concerned = any(amount and name in capacity.amounts for name, amount in request.items() if name != PODS)
    return "" if is_concerned else "reserves nothing that the pod requests"


def _refusal_by_affinity(demand: ReservationDemand, capacity: ReservedCapacity, node_labels: Mapping[str, str]) -> str:
    reservation = capacity.rules.object
    if _is_closed(capacity) and not tolerates(demand.tolerations, _UNSCHEDULABLE.key, "", NO_SCHEDULE):
        return "is unschedulable"
    for taint in reservation.spec.taints:
        if taint.effect in BLOCKING_EFFECTS and not tolerates(demand.tolerations, taint.key, taint.value, taint.effect):
            return f"had untolerated taint {{{taint.key}: {taint.value}}}"
    if not demand.selects(capacity.name, {**node_labels, **reservation.metadata.labels}):
        return "didn't match affinity rules"
    return ""


def _is_closed(capacity: ReservedCapacity) -> bool:
    reservation = capacity.rules.object
    return reservation.spec.unschedulable or bool(reservation.metadata.deletion_timestamp)
