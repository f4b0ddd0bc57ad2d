"""Reserved devices: the cards that Reservations keep, and how their owners get them (R30).

A Reservation holds the part of its cards that no owner uses. For a task that may use a Reservation, this part is free.
With the policy Restricted the task gets cards of the Reservation alone; otherwise as many of them as possible. What a
Reservation holds is calculated from its owners, so undoing a placement leaves exactly what was there before.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from pyroclast.framework.candidates.reserved import ReservedRoom
from pyroclast.framework.session.session import Session
from pyroclast.model.devices.cards import Shelf, Use
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import TaskId
from pyroclast.model.reservations.reading import template_of
from pyroclast.model.reservations.reserved import ReservedCapacity
from pyroclast.model.reservations.use import NO_USE
from pyroclast.model.tasks import Task
from pyroclast.plugins.deviceshare.family import Chosen, Family

__all__ = ["ReservedDevices", "remaining", "reserved_uses"]

Choose = Callable[[Shelf, frozenset[int]], Chosen | int]
"""Chooses cards, given their allocated parts and further cards that must not be used."""


class _Reserved(NamedTuple):
    """Cards of one Reservation."""

    room: ReservedRoom
    uses: tuple[Use, ...]
    """All its cards, also those that owners use."""
    used: dict[TaskId, tuple[Use, ...]]
    """Cards of its owners."""

    def rest(self) -> tuple[Use, ...]:
        """Return what no owner uses."""
        return remaining(self.uses, (use for uses in self.used.values() for use in uses))


class ReservedDevices:
    """Cards of the Reservations of one session."""

    def __init__(self, session: Session, family: Family[Any, Any]) -> None:
        self._session, self._family = session, family
        self._known: dict[TaskId, _Reserved] = {}
        """Reservations with cards."""
        self._columns: set[int] = set()
        """Nodes of these."""
        self._used_by: dict[TaskId, _Reserved] = {}
        """The Reservation by the task that uses its cards."""

    # Cards of nodes ---------------------------------------------------------------------------------------------------

    def read(self, column: int, cards: Any, tasks: Mapping[TaskId, Task]) -> None:
        """Read which cards the Reservations on a node keep, from their annotations."""
        for room in self._session.reserved.on(column):
            task = tasks.get(room.capacity.id)
            uses = () if task is None else reserved_uses(self._family, cards, room.capacity, task)
            if uses:
                self._known[room.capacity.id] = _Reserved(room, uses, {})
                self._columns.add(column)

    def keeps(self, task: Task) -> bool:
        """Return whether a task stands for a Reservation that keeps cards."""
        known = self._known.get(task.id)
        return known is not None and not known.room.capacity.counted

    def put(self, shelf: Shelf, task: Task) -> None:
        """Count what the Reservation keeps for which a task stands."""
        self._count_rest(shelf, self._known[task.id])

    def _count_rest(self, shelf: Shelf, reserved: _Reserved) -> None:
        capacity, column = reserved.room.capacity, reserved.room.column
        if capacity.counted:
            return  # the pod in operating mode holds its cards until it ends
        shelf.take(capacity.id)
        rest = reserved.rest()
        if rest:
            shelf.put(capacity.id, self._family.holding(self._session.nodes.tasks_on(column)[capacity.id], rest))

    # Owners -----------------------------------------------------------------------------------------------------------

    def without(self, shelf: Shelf, column: int, task: Task) -> Shelf:
        """Return the allocated parts of cards without what Reservations keep for a task that is on the node."""
        if column not in self._columns:
            return shelf
        room = self._session.reserved.used_by(task.id)
        if room is not None:
            return shelf.without((room.capacity.id,))
        use = self._session.reserved.use_of(task)
        return shelf.without(use.usable) if use.takes_any else shelf

    def note(self, shelf: Shelf, column: int, task: Task, uses: tuple[Use, ...]) -> None:
        """Count that a task has cards. Its Reservation, if it uses one, keeps so much less."""
        room = self._session.reserved.used_by(task.id) if column in self._columns else None
        reserved = None if room is None else self._known.get(room.capacity.id)
        if reserved is not None:
            self._used_by[task.id] = reserved
            reserved.used[task.id] = uses
            self._count_rest(shelf, reserved)

    def forget(self, shelf: Shelf, task: Task) -> None:
        """Undo `note`."""
        reserved = self._used_by.pop(task.id, None)
        if reserved is not None:
            reserved.used.pop(task.id, None)
            self._count_rest(shelf, reserved)

    def leave(self, shelf: Shelf, task: Task) -> None:
        """Count that a task is evicted. A Reservation that may be used once gets nothing back."""
        if not self._is_once(task):
            self.forget(shelf, task)

    def note_leaving(self, shelf: Shelf, column: int, task: Task, uses: tuple[Use, ...]) -> None:
        """Count the cards of a terminating task, which its Reservation does not get back."""
        room = self._session.reserved.used_by(task.id) if column in self._columns else None
        if room is not None and room.capacity.rules.object.spec.allocate_once:
            self.note(shelf, column, task, uses)

    def _is_once(self, task: Task) -> bool:
        reserved = self._used_by.get(task.id)
        return reserved is not None and reserved.room.capacity.rules.object.spec.allocate_once

    # Choice -----------------------------------------------------------------------------------------------------------

    def columns_for(self, task: Task) -> dict[int, list[ReservedRoom]]:
        """Return the Reservations that a task may use, by column, for the nodes on which one of them keeps cards.

        For a Reservation that may take over pods, these are empty lists for the nodes of the pods.
        """
        reserved = self._session.reserved
        if not reserved or not (self._columns or reserved.use_of(task).takeover):
            return {}
        rooms = reserved.columns_of(reserved.use_of(task))
        if reserved.use_of(task).takeover is not None:
            return rooms
        return {
            column: there
            for column, there in rooms.items()
            if column in self._columns and any(room.capacity.id in self._known for room in there)
        }

    def choose(self, task: Task, column: int, cards: Any, shelf: Shelf, choose: Choose) -> Chosen | int:
        """Return the cards that a task would get on one of `columns_for`, or the verdict.

        Args:
            task: A task that is not placed.
            column: The node.
            cards: Cards of the node.
            shelf: Their allocated parts.
            choose: Chooses cards.
        """
        rooms = self.columns_for(task)[column]
        reserved = self._session.reserved
        if not rooms:
            return self._choose_beside(reserved.taken_over_on(task, column), cards, shelf, choose)
        if reserved.use_of(task).takes_any:
            return choose(shelf.without(room.capacity.id for room in rooms), frozenset())
        room = reserved.nominate(task, rooms, in_future=False) or reserved.nominate(task, rooms, in_future=True)
        if room is None:
            return choose(shelf, frozenset())
        return self.choose_in(room.capacity.id, cards, shelf, choose)

    def choose_placed(self, task: Task, cards: Any, shelf: Shelf, choose: Choose) -> Chosen | int:
        """Return the cards for a task that is being placed, and has its capacity of a Reservation already."""
        room = self._session.reserved.used_by(task.id)
        if room is not None:
            return self.choose_in(room.capacity.id, cards, shelf, choose)
        pods = self._session.reserved.takeovers.pods_of(task.id)
        if pods:
            return self._choose_beside(pods, cards, shelf, choose)
        use = self._session.reserved.use_of(task) if self._columns else NO_USE
        return choose(shelf.without(use.usable) if use.takes_any else shelf, frozenset())

    def has_cards(self, reservation: TaskId) -> bool:
        """Return whether a Reservation keeps cards."""
        return reservation in self._known

    def choose_in(self, reservation: TaskId, cards: Any, shelf: Shelf, choose: Choose) -> Chosen | int:
        """Return the cards that a task would get with one Reservation, or the verdict."""
        reserved = self._known.get(reservation)
        if reserved is None:
            return choose(shelf, frozenset())
        rest = reserved.rest()
        seen = shelf.without((reservation,))
        kinds, others = self._kinds_and_others(cards, reserved.uses, rest)
        if not reserved.room.capacity.rules.restricted:
            return _with_few(others, lambda hidden: choose(seen, hidden))
        hidden = frozenset(others)
        while not isinstance(chosen := choose(seen, hidden), int):
            uses = [use for use in chosen.uses if self._family.kind(cards, use.card) in kinds]
            beyond = {use.card for use in uses if not _covers(rest, uses, use.card)}
            if not beyond:
                break
            hidden |= beyond  # at least one card each time
        return chosen

    def _choose_beside(self, pods: tuple[Task, ...], cards: Any, shelf: Shelf, choose: Choose) -> Chosen | int:
        """Return the cards of a Reservation that takes over pods: theirs, and as few others as possible."""
        seen = shelf.without(pod.id for pod in pods)
        uses = [use for pod in pods if pod.id in shelf.holders for use in shelf.holders[pod.id].uses]
        _, others = self._kinds_and_others(cards, uses, uses)
        return _with_few(others, lambda hidden: choose(seen, hidden))

    def _kinds_and_others(
        self, cards: Any, uses: Iterable[Use], preferred: Iterable[Use]
    ) -> tuple[set[str], list[int]]:
        """Return the types of some cards, and the cards of these types that are not preferred, ascending."""
        own, kind = {use.card for use in preferred}, self._family.kind
        kinds = {kind(cards, use.card) for use in uses}
        count = self._family.count(cards)
        return kinds, [card for card in range(count) if card not in own and kind(cards, card) in kinds]


def _with_few(others: list[int], choose: Callable[[frozenset[int]], Chosen | int]) -> Chosen | int:
    """Choose as few of some cards as possible, the first ones first; the function is given those that are excluded."""
    everything = choose(frozenset())
    for count in range(len(others)) if not isinstance(everything, int) else ():
        chosen = choose(frozenset(others[count:]))
        if not isinstance(chosen, int):
            return chosen
    return everything


def _covers(rest: Iterable[Use], uses: Iterable[Use], card: int) -> bool:
    """Return whether what is left of a card is enough for the parts of it that are used."""
    there, asked = _total(rest, card), _total(uses, card)
    return all(want <= have for want, have in zip(asked, there + (0,) * len(asked), strict=False))


def _total(uses: Iterable[Use], card: int) -> tuple[int, ...]:
    total: tuple[int, ...] = ()
    for use in uses:
        if use.card == card:
            amounts = (use.memory, use.cores, *use.amounts)
            total = tuple(map(sum, zip_longest(total, amounts, fillvalue=0)))
    return total


def remaining(reserved: Iterable[Use], used: Iterable[Use]) -> tuple[Use, ...]:
    """Return the reserved parts of cards without those that are used, in the same order.

    An amount of a card that is used takes from the reserved parts of this card, the first one first. A part of which
    nothing is left is left out; so is a whole card without amounts of which a part is used.
    """
    taken: dict[int, list[int]] = {}
    functions: set[tuple[int, Any]] = set()
    for use in used:
        amounts = (use.memory, use.cores, *use.amounts)
        taken[use.card] = list(map(sum, zip_longest(taken.get(use.card, ()), amounts, fillvalue=0)))
        functions.add((use.card, use.instance))
    found = []
    for use in reserved:
        gone = taken.get(use.card)
        if gone is None:
            found.append(use)
            continue
        left = []
        for at, amount in enumerate((use.memory, use.cores, *use.amounts)):
            less = min(amount, gone[at]) if at < len(gone) else 0
            if less:
                gone[at] -= less
            left.append(amount - less)
        instance = None if (use.card, use.instance) in functions else use.instance
        if any(left) or instance is not None:
            memory, cores, *more = left
            found.append(use._replace(memory=memory, cores=cores, amounts=tuple(more), asked=memory, instance=instance))
    return tuple(found)


def reserved_uses(family: Family[Any, Any], cards: Any, reserved: ReservedCapacity, task: Task) -> tuple[Use, ...]:
    """Return the annotated cards of a Reservation, at most as many as it reserves.

    Args:
        family: Family of the cards.
        cards: Cards of its node.
        reserved: The Reservation.
        task: The task that stands for it, or the pod in operating mode.
    """
    if not family.names_cards(task):
        return ()
    try:
        whole = task if reserved.counted else _requesting(task, reserved)
        demand = family.demand(whole.template, whole)
    except (ObjectError, ValueError):
        return ()
    return () if demand is None else family.named(cards, whole, demand)


def _requesting(task: Task, reserved: ReservedCapacity) -> Task:
    """Return the task that stands for a Reservation with the request of the Reservation.

    Raises:
        ObjectError: The template cannot be parsed.
    """
    spec = template_of(reserved.rules.object).spec
    template = msgspec.structs.replace(task.template, request=reserved.reserved, spec=spec)
    return msgspec.structs.replace(task, template=template)
