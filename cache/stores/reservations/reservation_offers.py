"""Reservation offers: which Reservations a pod may use, found by labels and names instead of a look at each."""

from collections.abc import Mapping

from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.reservations.owners import keys_of_pod
from pyroclast.model.reservations.reading import ReservationRules

__all__ = ["ReservationOffers"]


class ReservationOffers:
    """The rules of Reservations, by what all their pods have."""

    def __init__(self, rules: Mapping[TaskId, ReservationRules]) -> None:
        """Start with some rules."""
        self._rules: dict[TaskId, ReservationRules] = {}
        self._by_key: dict[tuple[str, str], set[TaskId]] = {}
        self._general: set[TaskId] = set()
        """Those that any pod may match."""
        for task, each in rules.items():
            self.put(task, each)

    def put(self, task: TaskId, rules: ReservationRules) -> None:
        """Add or replace the rules of a Reservation."""
        self.drop(task)
        self._rules[task] = rules
        keys = rules.owners.keys()
        if keys is None:
            self._general.add(task)
        for key in keys or ():
            self._by_key.setdefault(key, set()).add(task)

    def drop(self, task: TaskId) -> None:
        """Remove the rules of a Reservation."""
        rules = self._rules.pop(task, None)
        if rules is None:
            return
        self._general.discard(task)
        for key in rules.owners.keys() or ():
            tasks = self._by_key[key]
            tasks.discard(task)
            if not tasks:
                del self._by_key[key]

    def of(self, pod: wire.Pod) -> list[TaskId]:
        """Return the Reservations that a pod may use, ascending."""
        near = set(self._general)
        for key in keys_of_pod(pod):
            near |= self._by_key.get(key, set())
        return sorted(task for task in near if self._rules[task].owners.match(pod))
