"""Reserved CPUs: the CPUs and NUMA amounts that Reservations keep, and how their owners get them (R31).

A Reservation holds the part that no owner uses. For a task that may use a Reservation this part is free, and its CPUs
come first. With the policy Restricted the task gets CPUs and amounts of the Reservation alone. What a Reservation holds
is calculated from its owners, so undoing a placement leaves exactly what was there before.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from pyroclast.framework.candidates.reserved import ReservedRoom
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray
from pyroclast.model.ids import TaskId
from pyroclast.model.nodenuma.status import NumaAmounts
from pyroclast.model.resources import CPU
from pyroclast.model.tasks import Task
from pyroclast.plugins.nodenuma.usage import Holders, Holding

__all__ = ["NO_SOURCE", "ReservedCpus", "Source", "remaining"]


class Source(NamedTuple):
    """Where a task gets its CPUs and amounts, apart from what is free on its node."""

    without: tuple[TaskId, ...] = ()
    """Reservations whose rest is free for the task."""
    preferred: Holding = Holding()
    """Rest of the Reservation that it uses: CPUs and NUMA nodes that come first."""
    restricted: frozenset[str] = frozenset()
    """Resources whose amounts on NUMA nodes it gets from this rest alone."""
    restricts_cpus: bool = False
    """Whether it gets CPUs from this rest alone. What the Reservation keeps decides, also when no rest is left."""


NO_SOURCE: Final = Source()
"""Free CPUs and amounts of the node."""


class _Reserved(NamedTuple):
    """CPUs and amounts of one Reservation."""

    room: ReservedRoom
    kept: Holding
    """All of it, also what owners use."""
    used: dict[TaskId, Holding]
    """What owners have."""

    def rest(self) -> Holding:
        """Return what no owner uses."""
        return remaining(self.kept, self.used.values())

    @property
    def is_once(self) -> bool:
        """Whether it may be used once, so that nothing comes back."""
        return self.room.capacity.rules.object.spec.allocate_once


class ReservedCpus:
    """CPUs and amounts of the Reservations of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[TaskId, _Reserved] = {}
        """Reservations with CPUs or amounts."""
        self._columns: set[int] = set()
        """Nodes of these."""
        self._used_by: dict[TaskId, _Reserved] = {}
        """The Reservation by the task that uses it."""

    # Holders ----------------------------------------------------------------------------------------------------------

    def read(self, column: int, tasks: Mapping[TaskId, Task], read: Callable[[Task], Holding]) -> None:
        """Read what the Reservations on a node keep.

        Args:
            column: The node.
            tasks: Tasks on it.
            read: Returns what the annotation of a task says.
        """
        for room in self._session.reserved.on(column):
            task = tasks.get(room.capacity.id)
            kept = Holding() if task is None else read(task)
            if kept.cpus or kept.amounts:
                self._known[room.capacity.id] = _Reserved(room, kept, {})
                self._columns.add(column)

    def keeps(self, task: Task) -> bool:
        """Return whether a task stands for a Reservation that keeps CPUs or amounts, and is no running pod."""
        known = self._known.get(task.id)
        return known is not None and not known.room.capacity.counted

    def count(self, column: int, holders: Holders) -> None:
        """Count what the Reservations of a node keep beside their owners."""
        for room in self._session.reserved.on(column):
            if room.capacity.id in self._known:
                self._count_rest(holders, self._known[room.capacity.id])

    def _count_rest(self, holders: Holders, reserved: _Reserved) -> None:
        if reserved.room.capacity.counted:
            return  # the pod in operating mode has its CPUs until it ends
        holders.take(reserved.room.capacity.id)
        rest = reserved.rest()
        if rest.cpus or rest.amounts:
            holders.put(reserved.room.capacity.id, rest)

    def note(self, holders: Holders, column: int, task: Task, holding: Holding, *, leaves: bool = False) -> None:
        """Count that a task has CPUs or amounts. Its Reservation, if it uses one, keeps so much less.

        Args:
            holders: Holders of the node.
            column: The node.
            task: The task.
            holding: What it has.
            leaves: Whether its deletion has begun. Then a Reservation that may be used several times has it back.
        """
        room = self._session.reserved.used_by(task.id) if column in self._columns else None
        reserved = None if room is None else self._known.get(room.capacity.id)
        if reserved is not None and (reserved.is_once or not leaves):
            self._used_by[task.id] = reserved
            reserved.used[task.id] = holding
            self._count_rest(holders, reserved)

    def forget(self, holders: Holders, task: Task) -> None:
        """Undo `note`."""
        reserved = self._used_by.pop(task.id, None)
        if reserved is not None:
            reserved.used.pop(task.id, None)
            self._count_rest(holders, reserved)

    def leave(self, holders: Holders, task: Task) -> None:
        """Count that a task is evicted. A Reservation that may be used once gets nothing back."""
        reserved = self._used_by.get(task.id)
        if reserved is not None and not reserved.is_once:
            self.forget(holders, task)

    def is_on(self, count: int) -> BoolArray:
        """Return which of the nodes have Reservations with CPUs or amounts, shape (count,)."""
        found = np.zeros(count, dtype=np.bool_)
        found[list(self._columns)] = True
        return found

    # Sources ----------------------------------------------------------------------------------------------------------

    def source(self, task: Task, column: int) -> Source:
        """Return the source of a task that is not placed: that of the Reservation that it would use on a node."""
        if column not in self._columns:
            return NO_SOURCE
        reserved = self._session.reserved
        use = reserved.use_of(task)
        rooms = reserved.columns_of(use).get(column, [])
        if use.takes_any:
            return Source(without=tuple(each.capacity.id for each in rooms))
        room = reserved.nominate(task, rooms, in_future=False) or reserved.nominate(task, rooms, in_future=True)
        return NO_SOURCE if room is None else self.source_in(room.capacity.id)

    def source_placed(self, task: Task, column: int) -> Source:
        """Return the source of a task that is being placed, and has its capacity of a Reservation already."""
        if column not in self._columns:
            return NO_SOURCE
        room = self._session.reserved.used_by(task.id)
        if room is not None:
            return self.source_in(room.capacity.id)
        use = self._session.reserved.use_of(task)
        return self.source(task, column) if use.takes_any else NO_SOURCE

    def source_in(self, reservation: TaskId) -> Source:
        """Return the source of a task that uses a Reservation."""
        reserved = self._known.get(reservation)
        if reserved is None:
            return NO_SOURCE
        kept, restricted = reserved.kept, reserved.room.capacity.rules.restricted
        names = frozenset(name for _, amounts in kept.amounts for name, _ in amounts if name in restricted)
        return Source((reservation,), reserved.rest(), names, bool(kept.cpus) and CPU in restricted)


def remaining(kept: Holding, used: Iterable[Holding]) -> Holding:
    """Return what is kept without what is used."""
    cpus, amounts = kept.cpus, {node: dict(each) for node, each in kept.amounts}
    for holding in used:
        cpus &= ~holding.cpus
        for node, each in holding.amounts:
            left = amounts.get(node, {})
            for name, amount in each:
                if name in left:
                    left[name] = max(left[name] - amount, 0)
    return Holding(cpus, _without_zeros(amounts), kept.exclusive)


def _without_zeros(amounts: Mapping[int, Mapping[str, int]]) -> NumaAmounts:
    found = (
        (node, tuple(sorted((name, amount) for name, amount in each.items() if amount)))
        for node, each in amounts.items()
    )
    return tuple(sorted((node, each) for node, each in found if each))
