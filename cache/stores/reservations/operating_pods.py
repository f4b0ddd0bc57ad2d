"""Operating pods: pods that act as Reservations, a bounded number of each namespace.

Each waiting pod of the namespace is compared with their owners. A tenant can create many of them and change their
owners as often as it likes, so those of the oldest pods count, up to a bound. The others offer nothing.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.reservations.operating import is_operating, reservation_of
from pyroclast.model.tasks import Task

__all__ = ["MOST_OWNERS_OF_NAMESPACE", "OperatingPods"]

MOST_OWNERS_OF_NAMESPACE: Final = 128
"""Owners of all pods in operating mode of a namespace."""


class OperatingPods:
    """Pods in operating mode, those included that are not counted."""

    def __init__(self) -> None:
        """Start without pods."""
        self._known: dict[TaskId, tuple[Task, wire.Reservation]] = {}
        self._in_order: dict[str, list[tuple[float, TaskId]]] = {}
        """The pods of each namespace, oldest first."""

    def exchange(self, old: Task | None, new: Task | None) -> bool:
        """Note a task in the place of an older state of it, and return whether either acts as a Reservation.

        Raises:
            ValueError: The owners of the new one cannot be parsed; it offers nothing.
        """
        known = False
        if old is not None and (entry := self._known.pop(old.id, None)) is not None:
            known, before = True, entry[0]
            pods = self._in_order[before.namespace]
            del pods[bisect_left(pods, (before.created, before.id))]
            if not pods:
                del self._in_order[before.namespace]
        if new is None or not is_operating(new):
            return known
        self._known[new.id] = new, reservation_of(new)
        insort(self._in_order.setdefault(new.namespace, []), (new.created, new.id))
        return True

    def counted(self, namespace: str) -> Iterator[tuple[Task, wire.Reservation]]:
        """Yield the pods of a namespace that count, oldest first, each with the Reservation as which it acts."""
        owners = 0
        for _, task in self._in_order.get(namespace, ()):
            owners += max(len(self._known[task][1].spec.owners), 1)
            if owners > MOST_OWNERS_OF_NAMESPACE:
                return
            yield self._known[task]
