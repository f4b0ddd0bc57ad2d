"""Reservations of a session, as functions of plugins see them."""

from collections.abc import Set as AbstractSet

from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.reservations.reserved import ReservedCapacity
from pyroclast.model.wire import Reservation

__all__ = ["ReservationView"]


class ReservationView:
    """One Reservation on its node; read only. The arrays show later placements too; R resources."""

    __slots__ = ("_capacity", "_users", "column", "reserved", "rest", "returning", "used")

    def __init__(
        self,
        capacity: ReservedCapacity,
        column: int,
        users: AbstractSet[TaskId],
        *,
        reserved: IntArray,
        rest: IntArray,
        returning: IntArray,
        used: IntArray,
    ) -> None:
        self._capacity = capacity
        self._users = users
        self.column = column
        """Column of its node."""
        self.reserved = _read_only(reserved)
        """Reserved amounts, base units, shape (R,)."""
        self.rest = _read_only(rest)
        """Amounts that no task uses, base units, shape (R,)."""
        self.returning = _read_only(returning)
        """Amounts that come back when terminating pods are gone, base units, shape (R,)."""
        self.used = _read_only(used)
        """Requests of the tasks that use it, base units, shape (R,)."""

    @property
    def id(self) -> TaskId:
        """UID of the Reservation."""
        return self._capacity.id

    @property
    def name(self) -> str:
        """Name of the Reservation."""
        return self._capacity.name

    @property
    def node(self) -> NodeName:
        """Name of its node."""
        return self._capacity.node

    @property
    def order(self) -> int:
        """Its label `reservation-order`: the lowest goes first; 0 for none."""
        return self._capacity.rules.order

    @property
    def object(self) -> Reservation:
        """The object as the API server gave it."""
        return self._capacity.rules.object

    @property
    def users(self) -> frozenset[TaskId]:
        """Tasks that use it, those of this session included."""
        return frozenset(self._users)


def _read_only(array: IntArray) -> IntArray:
    view: IntArray = array.view()
    view.flags.writeable = False
    return view
