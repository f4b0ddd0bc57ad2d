"""Keeps the status of Reservations, lets them expire, and deletes those that ended long ago (R38 to R41).

Each step is one write, and it follows from the objects alone. A controller that is killed before or after a write goes
on from the objects. Its keys are Reservations.
"""

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec

from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.keys import own_key
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import NODES, PODS, RESERVATIONS
from pyroclast.model.reservations.reading import life_of
from pyroclast.model.reservations.status import allocated_uid, due_at, next_status, users_of
from pyroclast.model.wire import Node, Pod, Reservation, ReservationPhase

__all__ = ["ReservationStatuses"]

_BY_RESERVATION: Final = "pods-by-reservation"
_BY_UID: Final = "reservations-by-uid"
_BY_NODE: Final = "reservations-by-node"
_ENDED: Final = frozenset({ReservationPhase.FAILED, ReservationPhase.SUCCEEDED})


class ReservationStatuses(Controller):
    """Writes the status of Reservations, and deletes those that have ended."""

    name: ClassVar[str] = "reservation"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch Reservations, pods and nodes."""
        self._reservations: Store[Reservation] = operator.store(RESERVATIONS, {_BY_UID: _uid_of, _BY_NODE: _node_of})
        self._pods: Store[Pod] = operator.store(PODS, {_BY_RESERVATION: _reservation_of})
        self._nodes: Store[Node] = operator.store(NODES)
        self._clock = operator.clock
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=RESERVATIONS, keys=own_key),
                Watch(resource=PODS, keys=self._keys_of_pod),
                Watch(resource=NODES, keys=self._keys_of_node),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Write the status of a Reservation, or delete it. Return the seconds until the next step.

        Raises:
            ApiError: The server refused for now, or the Reservation changed.
        """
        reservation = self._reservations.get(*key)
        if reservation is None or reservation.metadata.deletion_timestamp:
            return None
        now = self._clock.wall()
        if reservation.status.phase in _ENDED:
            return await self._collect(key, reservation, now)
        fault = life_of(reservation).fault
        if fault:
            self._operator.record(RESERVATIONS, reservation, "Warning", "InvalidReservation", fault)
        status = next_status(reservation, self._owners(reservation), has_node=self._has_node(reservation), now=now)
        due = due_at(reservation, now, gc_seconds=None)
        if status is not None:
            change = {"status": _change(reservation, msgspec.to_builtins(status))}
            await self._operator.writer.merge(
                RESERVATIONS, reservation.metadata, change, subresource="status", is_of_version=True
            )
            return None  # the store shows the new status, and calls again
        return None if due is None else max(0.0, due - now)

    async def _collect(self, key: Key, reservation: Reservation, now: float) -> float | None:
        """Delete a Reservation that ended long ago, or whose node is gone (R41)."""
        due = (
            now if self._lost_node(reservation) else due_at(reservation, now, gc_seconds=self._options.reservation_ttl)
        )
        if due is None or due > now:
            return None if due is None else due - now
        # the store may be stale and a deletion is final
        try:
            fresh = RESERVATIONS.decoder.convert(await self._operator.writer.read(RESERVATIONS, *key))
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        if fresh.metadata.uid == reservation.metadata.uid and fresh.status.phase in _ENDED:
            await self._operator.writer.delete(RESERVATIONS, fresh.metadata, is_of_version=True)
        return None

    def _lost_node(self, reservation: Reservation) -> bool:
        collects = self._options.reservation_ttl is not None
        return collects and bool(reservation.status.node_name) and not self._has_node(reservation)

    def _owners(self, reservation: Reservation) -> list[Pod]:
        return users_of(reservation, self._pods.by(_BY_RESERVATION, reservation.metadata.uid))

    def _has_node(self, reservation: Reservation) -> bool:
        return self._nodes.get("", reservation.status.node_name) is not None

    def _keys_of_pod(self, old: Pod | None, new: Pod | None) -> Iterable[Key]:
        """A pod concerns the Reservations that it names."""
        uids = {uid for pod in (old, new) if pod is not None for uid in _reservation_of(pod)}
        return [key_of(each) for uid in sorted(uids) for each in self._reservations.by(_BY_UID, uid)]

    def _keys_of_node(self, old: Node | None, new: Node | None) -> Iterable[Key]:
        """A node concerns the Reservations on it when it comes or goes."""
        if old is not None and new is not None:
            return ()
        names = {node.metadata.name for node in (old, new) if node is not None}
        return [key_of(each) for name in sorted(names) for each in self._reservations.by(_BY_NODE, name)]


def _change(reservation: Reservation, status: dict[str, object]) -> dict[str, object]:
    """Return a status as a merge patch: amounts and conditions that are gone are removed."""
    allocated = status.get("allocated", {})
    assert isinstance(allocated, dict), "a mapping"
    gone: dict[str, object] = {name: None for name in reservation.status.allocated if name not in allocated}
    lists = {name: status.get(name, []) for name in ("conditions", "currentOwners")}
    return {**status, **lists, "allocated": {**gone, **allocated}}


def _uid_of(reservation: Reservation) -> Iterable[str]:
    return (reservation.metadata.uid,)


def _node_of(reservation: Reservation) -> Iterable[str]:
    return (reservation.status.node_name,) if reservation.status.node_name else ()


def _reservation_of(pod: Pod) -> Iterable[str]:
    uid = allocated_uid(pod)
    return (uid,) if uid else ()
