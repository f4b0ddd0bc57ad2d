"""Status: the next status of a Reservation, as its scheduler and its controller write it (R15, R16, R38 to R40)."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName
from pyroclast.model.quantity import QuantityError
from pyroclast.model.requests import amounts, pod_request, resource_list
from pyroclast.model.reservations.names import ALLOCATED, RESIZE_ALLOCATABLE
from pyroclast.model.reservations.owners import read_owners
from pyroclast.model.reservations.reading import KIND, life_of, template_of
from pyroclast.model.resources import PODS

__all__ = [
    "allocated_uid",
    "available",
    "due_at",
    "ended_at",
    "next_status",
    "noted_uid",
    "unschedulable",
    "users_of",
    "with_condition",
]

_SCHEDULED: Final = "Scheduled"
_READY: Final = "Ready"
_VALID: Final = "Valid"
"""Condition of Reservations whose ttl or end cannot be parsed."""
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_LONGEST_NOTE: Final = 1024
"""Characters of the annotation that names the Reservation of a pod."""
_LONGEST_RESIZE: Final = 65536
"""Characters of the annotation that resizes a Reservation."""


class _Resize(wire.Wire, frozen=True, kw_only=True):
    resources: wire.ResourceList = wire.EMPTY


class _Note(wire.Wire, frozen=True, kw_only=True):
    uid: str = ""


def available(reservation: wire.Reservation, node: NodeName, now: float) -> wire.ReservationStatus:
    """Return the status of a Reservation that got a node (R15).

    Args:
        reservation: The object.
        node: Its node.
        now: Time of the conditions, seconds since 1970.

    Raises:
        ObjectError: The template or the annotation that resizes it cannot be parsed.
    """
    template = template_of(reservation)
    request = dict(pod_request(wire.Pod(metadata=template.metadata, spec=template.spec)).amounts)
    request.pop(PODS, None)
    reserved = resource_list({name: amount for name, amount in request.items() if amount})
    return msgspec.structs.replace(
        reservation.status,
        phase=wire.ReservationPhase.AVAILABLE,
        node_name=node,
        allocatable={**reserved, **_resized(reservation)},
        conditions=(
            _condition(_SCHEDULED, "True", "Scheduled", "", now),
            _condition(_READY, "True", "Available", "", now),
        ),
    )


def _resized(reservation: wire.Reservation) -> wire.ResourceList:
    text = reservation.metadata.annotations.get(RESIZE_ALLOCATABLE)
    if not text:
        return wire.EMPTY
    try:
        resources = read_json(text, _Resize, longest=_LONGEST_RESIZE).resources
        amounts(resources)
    except ValueError as error:
        path = f"metadata.annotations[{RESIZE_ALLOCATABLE}]"
        raise ObjectError(KIND, reservation.metadata.name, path, str(error)) from error
    return resources


def unschedulable(reservation: wire.Reservation, message: str, now: float) -> wire.ReservationStatus:
    """Return the status of a Reservation for which there is no node (R16)."""
    condition = _condition(_SCHEDULED, "False", "Unschedulable", message, now)
    phase = reservation.status.phase or wire.ReservationPhase.PENDING
    return msgspec.structs.replace(with_condition(reservation.status, condition), phase=phase)


def with_condition(status: wire.ReservationStatus, new: wire.ReservationCondition) -> wire.ReservationStatus:
    """Return a status with a condition. The transition time stays if the status of the condition is the same."""
    old = next((each for each in status.conditions if each.type == new.type), None)
    if old is not None and old.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    others = tuple(each for each in status.conditions if each.type != new.type)
    return msgspec.structs.replace(status, conditions=(*others, new))


def users_of(reservation: wire.Reservation, pods: Iterable[wire.Pod]) -> list[wire.Pod]:
    """Return the pods on the node of a Reservation that use it.

    Their annotation has its UID, they match its owners, and they have not ended. Every author of a pod can write the
    annotation, so it alone takes nothing.
    """
    try:
        owners = read_owners(reservation.spec.owners)
    except ValueError:
        return []
    uid, node = reservation.metadata.uid, reservation.status.node_name
    return [
        pod
        for pod in pods
        if pod.spec.node_name == node
        and pod.status.phase not in _FINISHED
        and allocated_uid(pod) == uid
        and owners.match(pod)
    ]


def allocated_uid(pod: wire.Pod) -> str:
    """Return the UID of the Reservation that the annotation of a pod names; empty if it names none (R28)."""
    return noted_uid(pod.metadata.annotations.get(ALLOCATED, ""))


def noted_uid(text: str) -> str:
    """Return the UID in the text of such an annotation; empty if it has none."""
    try:
        return read_json(text, _Note, longest=_LONGEST_NOTE).uid if text else ""
    except ValueError:
        return ""


def next_status(
    reservation: wire.Reservation, owners: Iterable[wire.Pod], *, has_node: bool, now: float
) -> wire.ReservationStatus | None:
    """Return the status that the controller writes; None if it is correct.

    Args:
        reservation: The object.
        owners: Pods that use it, see `users_of`.
        has_node: Whether its node exists; ignored while it has none.
        now: The time, seconds since 1970.
    """
    status = reservation.status
    if status.phase in {wire.ReservationPhase.FAILED, wire.ReservationPhase.SUCCEEDED}:
        return None
    life = life_of(reservation)
    if (life.ends is not None and now >= life.ends) or (status.node_name and not has_node):
        expired = _condition(_READY, "False", "Expired", "", now)
        return msgspec.structs.replace(with_condition(status, expired), phase=wire.ReservationPhase.FAILED)
    noted = _with_fault(status, life.fault, now)
    changed = None
    if status.phase == wire.ReservationPhase.AVAILABLE:
        shown = msgspec.structs.replace(reservation, status=noted)
        changed = _with_owners(shown, sorted(owners, key=lambda pod: pod.metadata.uid), now)
    return changed or (None if noted is status else noted)


def _with_fault(status: wire.ReservationStatus, fault: str, now: float) -> wire.ReservationStatus:
    """Return a status with the condition about an unreadable ttl or end, or without it if there is none."""
    known = next((each for each in status.conditions if each.type == _VALID), None)
    if fault and (known is None or known.message != fault):
        return with_condition(status, _condition(_VALID, "False", "InvalidLifetime", fault, now))
    if not fault and known is not None:
        others = tuple(each for each in status.conditions if each is not known)
        return msgspec.structs.replace(status, conditions=others)
    return status


def _with_owners(
    reservation: wire.Reservation, owners: Sequence[wire.Pod], now: float
) -> wire.ReservationStatus | None:
    status, names = reservation.status, reservation.status.allocatable
    total: dict[str, int] = {}
    for pod in owners:
        for name, amount in _request(pod).items():
            if name in names:
                total[name] = total.get(name, 0) + amount
    current = tuple(
        wire.ObjectReference(namespace=pod.metadata.namespace, name=pod.metadata.name, uid=pod.metadata.uid)
        for pod in owners
    )
    if current == status.current_owners and total == _amounts(status.allocated):
        return None
    changed = msgspec.structs.replace(status, current_owners=current, allocated=resource_list(total))
    if not reservation.spec.allocate_once:
        return changed
    succeeded = _condition(_READY, "False", "Succeeded", "", now)
    return msgspec.structs.replace(with_condition(changed, succeeded), phase=wire.ReservationPhase.SUCCEEDED)


def _request(pod: wire.Pod) -> dict[str, int]:
    try:
        return dict(pod_request(pod).amounts)
    except ObjectError:
        return {}


def _amounts(resources: wire.ResourceList) -> dict[str, int]:
    try:
        return amounts(resources)
    except QuantityError:
        return {}


def due_at(reservation: wire.Reservation, now: float, *, gc_seconds: float | None) -> float | None:
    """Return when the controller must look at a Reservation again, seconds since 1970; None if only a change matters.

    Args:
        reservation: The object.
        now: The time, seconds since 1970.
        gc_seconds: Time after which an object that has ended is deleted; None if it never is.
    """
    if reservation.status.phase in {wire.ReservationPhase.FAILED, wire.ReservationPhase.SUCCEEDED}:
        return None if gc_seconds is None else ended_at(reservation, now) + gc_seconds
    return life_of(reservation).ends


def ended_at(reservation: wire.Reservation, now: float) -> float:
    """Return when a Reservation ended, as its condition shows, seconds since 1970; `now` if it shows nothing."""
    for each in reservation.status.conditions:
        if each.type == _READY and each.status == "False":
            try:
                return wire.unix_seconds(each.last_transition_time) or now
            except ValueError:
                return now
    return now


def _condition(type_: str, status: str, reason: str, message: str, now: float) -> wire.ReservationCondition:
    text = wire.time_text(now)
    return wire.ReservationCondition(
        type=type_, status=status, reason=reason, message=message, last_probe_time=text, last_transition_time=text
    )
