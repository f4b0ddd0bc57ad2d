"""Reserved CPUs: the CPUs and NUMA amounts that Reservations keep, and how their owners get them (R31).

A Reservation holds the part that no owner uses. For a task that may use a Reservation this part is free, and its CPUs
come first. With the policy Restricted the task gets CPUs and amounts of the Reservation alone. What a Reservation holds
is calculated from its owners, so undoing a placement leaves exactly what was there before.

A Reservation that takes over running pods gets all CPUs and amounts of these pods, which are its first owners (R33).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from pyroclast.framework.candidates.reserved import ReservedRoom
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray
from pyroclast.model.ids import TaskId
from pyroclast.model.nodenuma.status import NumaAmounts
from pyroclast.model.resources import CPU
from pyroclast.model.tasks import Task
from pyroclast.plugins.nodenuma.usage import Holders, Holding, add_amounts

__all__ = ["NO_SOURCE", "ReservedCpus", "Source", "remaining"]


class Source(NamedTuple):
    """Where a task gets its CPUs and amounts, apart from what is free on its node."""

    without: tuple[TaskId, ...] = ()
    """Holders that do not count for the task: Reservations whose rest is free for it, and pods that it takes over."""
    preferred: Holding = Holding()
    """Rest of the Reservation that it uses: CPUs and NUMA nodes that come first."""
    restricted: frozenset[str] = frozenset()
    """Resources whose amounts on NUMA nodes it gets from this rest alone."""
    restricts_cpus: bool = False
    """Whether it gets CPUs from this rest alone. What the Reservation keeps decides, also when no rest is left."""
    taken_over: Holding = Holding()
    """CPUs and amounts of the pods that it takes over, all of which it gets."""


NO_SOURCE: Final = Source()
"""Free CPUs and amounts of the node."""


class _Reserved(NamedTuple):
    """CPUs and amounts of one Reservation."""

    id: TaskId
    room: ReservedRoom | None
    """None for a Reservation that this session places."""
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
        return self.room is not None and self.room.capacity.rules.object.spec.allocate_once

    @property
    def is_pod(self) -> bool:
        """Whether it is a pod in operating mode, which has its CPUs until it ends."""
        return self.room is not None and bool(self.room.capacity.counted)


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
        self._takes_over: dict[TaskId, _Reserved] = {}
        """The Reservation of this session by the pod that it takes over."""

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
                self._known[room.capacity.id] = _Reserved(room.capacity.id, room, kept, {})
                self._columns.add(column)

    def keeps(self, task: Task) -> bool:
        """Return whether a task stands for a Reservation that keeps CPUs or amounts, and is no running pod."""
        known = self._known.get(task.id)
        return known is not None and not known.is_pod

    def count(self, column: int, holders: Holders) -> None:
        """Count what the Reservations of a node keep beside their owners."""
        for room in self._session.reserved.on(column):
            if room.capacity.id in self._known:
                self._count_rest(holders, self._known[room.capacity.id])

    def _count_rest(self, holders: Holders, reserved: _Reserved) -> None:
        if reserved.is_pod:
            return
        holders.take(reserved.id)
        rest = reserved.rest()
        if rest.cpus or rest.amounts:
            holders.put(reserved.id, rest)

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
        reserved = self._takes_over.get(task.id) if room is None else self._known.get(room.capacity.id)
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

    def take_over(self, holders: Holders, task: Task, holding: Holding) -> None:
        """Count what a Reservation has that this session places, beside the pods that it takes over."""
        used = {
            pod.id: holders.staying[pod.id]
            for pod in self._session.reserved.takeovers.pods_of(task.id)
            if pod.id in holders.staying
        }
        if not used:
            return
        reserved = _Reserved(task.id, None, holding, used)
        self._takes_over.update(dict.fromkeys(used, reserved))
        self._used_by.update(dict.fromkeys(used, reserved))
        self._count_rest(holders, reserved)

    def leave_alone(self, task: Task) -> None:
        """Undo `take_over`, apart from what the Reservation has."""
        for pod in [pod for pod, reserved in self._takes_over.items() if reserved.id == task.id]:
            del self._takes_over[pod]
            self._used_by.pop(pod, None)

    def differs_on(self, task: Task, count: int) -> BoolArray:
        """Return on which of the nodes a task may meet other CPUs or amounts than on their like, shape (count,)."""
        found = np.zeros(count, dtype=np.bool_)
        found[list(self._columns)] = True
        reserved = self._session.reserved
        if reserved and (use := reserved.use_of(task)).takeover is not None:
            found[list(reserved.columns_of(use))] = True
        return found

    # Sources ----------------------------------------------------------------------------------------------------------

    def source(self, task: Task, column: int, holders: Holders | None) -> Source:
        """Return the source of a task that is not placed: that of the Reservation that it would use on a node.

        Args:
            task: The task.
            column: The node.
            holders: Its holders; None if nothing is known of its CPUs and NUMA nodes.
        """
        reserved = self._session.reserved
        if holders is not None and (pods := reserved.taken_over_on(task, column)):
            return _source_of_pods(pods, holders)
        if column not in self._columns:
            return NO_SOURCE
        use = reserved.use_of(task)
        rooms = reserved.columns_of(use).get(column, [])
        if use.takes_any:
            return Source(without=tuple(each.capacity.id for each in rooms))
        room = reserved.nominate(task, rooms, in_future=False) or reserved.nominate(task, rooms, in_future=True)
        return NO_SOURCE if room is None else self.source_in(room.capacity.id)

    def source_placed(self, task: Task, column: int, holders: Holders | None) -> Source:
        """Return the source of a task that is being placed, and has its capacity of a Reservation already."""
        if holders is not None and (pods := self._session.reserved.takeovers.pods_of(task.id)):
            return _source_of_pods(pods, holders)
        if column not in self._columns:
            return NO_SOURCE
        room = self._session.reserved.used_by(task.id)
        if room is not None:
            return self.source_in(room.capacity.id)
        use = self._session.reserved.use_of(task)
        return self.source(task, column, holders) if use.takes_any else NO_SOURCE

    def source_in(self, reservation: TaskId) -> Source:
        """Return the source of a task that uses a Reservation."""
        reserved = self._known.get(reservation)
        if reserved is None:
            return NO_SOURCE
        assert reserved.room is not None, "a Reservation that is placed in this session has no users yet"
        kept, restricted = reserved.kept, reserved.room.capacity.rules.restricted
        names = frozenset(name for _, amounts in kept.amounts for name, _ in amounts if name in restricted)
        return Source((reservation,), reserved.rest(), names, bool(kept.cpus) and CPU in restricted)


def _source_of_pods(pods: Sequence[Task], holders: Holders) -> Source:
    held = [holders.staying[pod.id] for pod in pods if pod.id in holders.staying]
    cpus = 0
    amounts: dict[int, dict[str, int]] = {}
    for holding in held:
        cpus |= holding.cpus
        add_amounts(amounts, holding.amounts)
    together = Holding(cpus, _without_zeros(amounts))
    return Source(tuple(pod.id for pod in pods), preferred=together, taken_over=together)


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
