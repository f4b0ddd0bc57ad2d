"""Reserved capacity of a session: which Reservation a task uses on a node, and what is left of each.

The amounts of nodes count the rest of each Reservation as used. A task that uses one is placed on free room and on that
rest (R19, in the form of D1: the rest counts once). So a placement of such a task takes its part of the rest out of the
amounts again, and undoing the placement puts it back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.framework.candidates.takeovers import TakenOver, Takeovers
from pyroclast.framework.candidates.views import SessionViews
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.extension.votes import first_refusal, reason_of
from pyroclast.framework.state.nodes import NodeColumns, SessionNodes
from pyroclast.framework.state.queue_refusals import quantities
from pyroclast.framework.state.reservations import ReservationView
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.reservations.reserved import ReservedCapacity, counted_for
from pyroclast.model.reservations.use import NO_USE, ReservationUse, Takeover
from pyroclast.model.resources import PODS
from pyroclast.model.sealed import SealedDict, SealedList
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task
from pyroclast.model.texts import shortened

__all__ = ["REASON", "ReservedRoom", "SessionReservations", "Taken"]

REASON: Final = "NoReservation"
"""Reason of a refusal by Reservations."""


class ReservedRoom:
    """What is left of one Reservation in a session; R resources."""

    __slots__ = ("capacity", "column", "kept_back", "lent_back", "reserved", "rest", "used", "users", "view")

    def __init__(self, capacity: ReservedCapacity, column: int, nodes: SessionNodes) -> None:
        vector = nodes.resources.vector
        self.capacity = capacity
        self.column = column
        """Column of its node."""
        self.reserved: IntArray = vector(capacity.reserved)
        """Reserved amounts, base units, shape (R,)."""
        self.rest: IntArray = np.array(vector(capacity.rest()))
        """Amounts that no task uses, base units, shape (R,)."""
        self.lent_back: IntArray = np.array(vector(capacity.rest(after_leaving=True))) - self.rest
        """Amounts that come back when terminating pods are gone, base units, shape (R,)."""
        self.used: IntArray = sum(map(vector, capacity.users.values()), np.zeros_like(self.rest))
        """Requests of the tasks that use it, base units, shape (R,)."""
        self.kept_back: IntArray = vector(capacity.rules.kept_back)
        """Amounts that no task may use, base units, shape (R,)."""
        self.users: set[TaskId] = set(capacity.users)
        """Tasks that use it. Asked for membership and number alone."""
        self.view = ReservationView(
            capacity,
            column,
            self.users,
            reserved=self.reserved,
            rest=self.rest,
            returning=self.lent_back,
            used=self.used,
        )
        """The same for functions of plugins."""

    @property
    def name(self) -> str:
        """Name of the Reservation."""
        return self.capacity.name

    @property
    def is_spent(self) -> bool:
        """Whether it may be used once, and a task uses it."""
        return self.capacity.rules.object.spec.allocate_once and bool(self.users)

    def available(self, *, in_future: bool) -> IntArray:
        """Return what a task may use now, or when terminating pods are gone, base units, shape (R,)."""
        rest = self.rest + self.lent_back if in_future else self.rest
        free: IntArray = np.maximum(rest - self.kept_back, 0)
        return free


@dataclass(frozen=True, slots=True)
class Taken:
    """What a placement took from a Reservation, or what an eviction will give back to it; base units, shape (R,)."""

    room: ReservedRoom
    task: TaskId
    request: IntArray
    """What counts of the request of the task."""
    from_rest: IntArray
    from_returns: IntArray
    """Part of what terminating pods give back; negative where an eviction adds to it."""
    verb: Verb


class SessionReservations:
    """The Reservations of one session."""

    def __init__(
        self, snapshot: Snapshot, nodes: SessionNodes, extensions: Extensions, views: SessionViews, now: float
    ) -> None:
        columns = snapshot.nodes.column
        self._views = views
        self._reserve_tasks = snapshot.reserve_tasks
        self._nodes, self._extensions = nodes, extensions
        self._pods_row = snapshot.resources.rows[PODS]
        there = [each for each in snapshot.reservations.values() if each.node in columns]
        self.rooms: Mapping[TaskId, ReservedRoom] = {
            each.id: ReservedRoom(each, columns[each.node], nodes) for each in there if not each.rules.has_ended(now)
        }
        """What is left of each, by UID, in the order of names."""
        self._expired: dict[int, list[TaskId]] = {}
        """Those that have expired and still show that they are Available, by column."""
        for each in there:
            if each.rules.has_ended(now):
                self._expired.setdefault(columns[each.node], []).append(each.id)
        self._all_expired = frozenset(task for tasks in self._expired.values() for task in tasks)
        self._by_column: dict[int, list[ReservedRoom]] = {}
        for room in self.rooms.values():
            self._by_column.setdefault(room.column, []).append(room)
        self._uses: dict[int, ReservationUse] = {}
        """Answers by number of the views."""
        self._used_by: dict[TaskId, ReservedRoom] = {
            task: room for room in self.rooms.values() for task in room.capacity.users
        }
        self._not_restored: dict[int, Refusal] = {}
        self.takeovers = Takeovers(nodes)
        """Pods that Reservations take over in this session."""
        self._has_takeovers = any(
            (reservation := snapshot.objects.reservations.get(name)) is not None and reservation.spec.pre_allocation
            for name in snapshot.reserve_tasks.values()
        )
        extensions.observe(self._forget)

    def __bool__(self) -> bool:
        """Return whether any Reservation keeps capacity, or may take over what pods use."""
        return bool(self.rooms) or self._has_takeovers

    def _forget(self) -> None:
        """Discard what plugins answered, because other functions are registered."""
        self._uses.clear()
        self._not_restored.clear()

    def stands_for_one(self, task: Task) -> bool:
        """Return whether a task stands for a Reservation that is to be placed."""
        return task.id in self._reserve_tasks

    def has_expired(self, task: TaskId) -> bool:
        """Return whether a task on a node stands for a Reservation that has expired, and so keeps nothing (R43)."""
        return task in self._all_expired

    def used_by(self, task: TaskId) -> ReservedRoom | None:
        """Return the Reservation that a placed task uses."""
        return self._used_by.get(task)

    def use_of(self, task: Task) -> ReservationUse:
        """Return which Reservations a task may use."""
        number = self._views.early_number(task)
        known = self._uses.get(number)
        if known is None:
            known = NO_USE
            seen = self._views.early(task)
            for each in self._extensions.functions(contract.RESERVATION_USE):
                answer = self._extensions.ask_or(each, None, seen)
                if answer is not None:
                    known = answer
                    break
            self._uses[number] = known
            self._restore(number, seen, known)
        return known

    def refusal(self, task: Task) -> Refusal | None:
        """Return why a plugin cannot give back what Reservations keep, so that a task gets no node; None if it can."""
        self.use_of(task)
        return self._not_restored.get(self._views.early_number(task))

    def _restore(self, number: int, seen: Task, use: ReservationUse) -> None:
        """Show plugins the Reservations that the tasks of a number may use, and the others (R18)."""
        functions = self._extensions.functions(contract.RESERVATION_RESTORE)
        if not functions:
            return
        matched: dict[NodeName, SealedList[ReservationView]] = {}
        unmatched: dict[NodeName, SealedList[ReservationView]] = {}
        usable = frozenset(use.usable)
        for task, room in self.rooms.items():
            group = matched if task in usable else unmatched
            list.append(group.setdefault(room.capacity.node, SealedList()), room.view)
        restored = contract.RestoredReservations(SealedDict(matched), SealedDict(unmatched))
        refusal = first_refusal(functions, seen, restored, failed=self._extensions.note_failure)
        if refusal is not None:
            self._not_restored[number] = refusal

    def columns_of(self, use: ReservationUse) -> dict[int, list[ReservedRoom]]:
        """Return the Reservations that may be used, by the column of their node, in the order of names.

        A Reservation that may take over pods uses no other, so there are empty lists for the nodes of these pods.
        """
        found: dict[int, list[ReservedRoom]] = {}
        for node in use.takeover.candidates if use.takeover is not None else ():
            found[self._nodes.table.column[node]] = []
        for task in use.usable:
            room = self.rooms.get(task)
            if room is not None:
                found.setdefault(room.column, []).append(room)
        return found

    def on(self, column: int) -> list[ReservedRoom]:
        """Return the Reservations of a node, in the order of names."""
        return self._by_column.get(column, [])

    def matched_pods(self, task: Task) -> dict[int, list[Task]]:
        """Return the pods that do not count for a task as pods of their node, by its column (R32, R43).

        They stand for Reservations that the task may use, or that have expired.
        """
        found: dict[int, list[Task]] = {}
        for column, expired in self._expired.items():
            there = self._nodes.tasks_on(column)
            found[column] = [there[each] for each in expired if each in there]
        for column, rooms in (self.columns_of(self.use_of(task)) if self.rooms else {}).items():
            there = self._nodes.tasks_on(column)
            found.setdefault(column, []).extend(
                there[room.capacity.id]
                for room in rooms
                if room.capacity.id in there
                and not room.is_spent
                and not room.capacity.counted  # not a pod in operating mode, which runs
            )
        return found

    def fits(
        self, task: Task, use: ReservationUse, rooms: Mapping[int, list[ReservedRoom]], columns: NodeColumns
    ) -> Iterator[tuple[int, bool, bool]]:
        """Yield the positions of columns with usable Reservations, and whether a task fits now, and later."""
        pairs = _positions(rooms) if columns.is_all else enumerate(columns.index.tolist())
        for position, column in pairs:
            if column in rooms:
                yield (
                    position,
                    self._fits(task, use, column, rooms[column], in_future=False),
                    self._fits(task, use, column, rooms[column], in_future=True),
                )

    def restored(self, task: Task, columns: NodeColumns) -> NodeColumns:
        """Return columns as a task sees them: what it would take from a Reservation does not count as used (R18)."""
        use = self.use_of(task) if self else NO_USE
        rooms = self.columns_of(use)
        if not rooms:
            return columns
        index = columns.index
        state, blocks = self._nodes.state[:, index], self._nodes.rows
        for position, column in enumerate(index.tolist()):
            if column in rooms:
                credit = self._credit(task, use, column, rooms[column])
                state[blocks.used, position] -= credit
                state[blocks.viewed, position] -= credit
        return self._nodes.supposing(index, state)

    def future_room(self, task: Task, columns: IntArray | None = None) -> IntArray:
        """Return at most what a task has on nodes when terminating tasks are gone, base units, shape (R, n).

        Args:
            task: A task that is not placed.
            columns: The nodes; all if None.
        """
        nodes = self._nodes.columns(columns)
        room, use = nodes.future_idle, self.use_of(task) if self else NO_USE
        for column, rooms in (self.columns_of(use) if self else {}).items():
            position = np.flatnonzero(nodes.index == column)
            if position.size and use.takeover is not None:
                room[:, position[0]] += self._taken_over(task, use.takeover, column, in_future=True)
            for each in rooms if position.size else ():
                room[:, position[0]] += each.available(in_future=True)
        return room

    def future_room_of_any(self, tasks: Sequence[Task], columns: IntArray) -> IntArray:
        """Return the most that any of some tasks has on nodes, as `future_room` does; at least one task."""
        like = {self._views.early_number(task): task for task in tasks} if self else {}
        rooms = [self.future_room(each, columns) for each in like.values()]
        room: IntArray = np.maximum.reduce(rooms) if rooms else self._nodes.columns(columns).future_idle
        return room

    def changes_room(self, task: Task) -> bool:
        """Return whether some nodes have other room for a task than their free amounts."""
        use = self.use_of(task) if self else NO_USE
        return bool(self.columns_of(use))

    def room_of_any(self, tasks: Sequence[Task], room: IntArray, *, in_future: bool) -> IntArray:
        """Return at most what any of some tasks has on nodes, base units, shape (R, N).

        Args:
            tasks: Tasks that are not placed.
            room: Free amounts of the nodes, shape (R, N).
            in_future: Whether what is being released counts.
        """
        columns: dict[int, dict[TaskId, ReservedRoom]] = {}
        taken_over: dict[int, IntArray] = {}
        for task in {self._views.early_number(each): each for each in tasks}.values() if self else ():
            use = self.use_of(task)
            for column, rooms in self.columns_of(use).items():
                columns.setdefault(column, {}).update((each.capacity.id, each) for each in rooms)
                if use.takeover is not None:
                    more = self._taken_over(task, use.takeover, column, in_future=in_future)
                    taken_over[column] = np.maximum(taken_over.get(column, 0), more)
        if not columns:
            return room
        whole = room.copy()
        for column, there in columns.items():
            whole[:, column] += sum((each.available(in_future=in_future) for each in there.values()), 0)
            whole[:, column] += taken_over.get(column, 0)
        return whole

    def _taken_over(self, task: Task, takeover: Takeover, column: int, *, in_future: bool) -> IntArray:
        """Return what a Reservation would take over on a node, base units, shape (R,)."""
        free = self._free(column, in_future=in_future)
        return self.takeovers.credit(task, self.takeovers.choose(task, takeover, column, free) or ())

    def _credit(self, task: Task, use: ReservationUse, column: int, rooms: Sequence[ReservedRoom]) -> IntArray:
        request = self._nodes.needs(task.template).request
        if use.takeover is not None:
            return self._taken_over(task, use.takeover, column, in_future=False)
        room = None if use.takes_any else self.nominate(task, rooms, in_future=False)
        room = room or (None if use.takes_any else self.nominate(task, rooms, in_future=True))
        chosen = rooms if use.takes_any else [room] if room is not None else []
        rest = sum((each.available(in_future=False) for each in chosen), np.zeros_like(request))
        credit: IntArray = np.minimum(rest, request)
        return credit

    def _fits(
        self, task: Task, use: ReservationUse, column: int, rooms: Sequence[ReservedRoom], *, in_future: bool
    ) -> bool:
        if use.takeover is not None:
            free = self._free(column, in_future=in_future)
            return self.takeovers.choose(task, use.takeover, column, free) is not None
        if use.takes_any:
            free = self._free(rooms[0].column, in_future=in_future)
            rest = np.sum([room.available(in_future=in_future) for room in rooms], axis=0)
            return self._has(task, free + rest)
        if self.nominate(task, rooms, in_future=in_future) is not None:
            return True
        return not use.is_required and self._has(task, self._free(rooms[0].column, in_future=in_future))

    def _free(self, column: int, *, in_future: bool) -> IntArray:
        """Return the free amounts of a node, reserved ones not included, base units, shape (R,)."""
        if in_future:
            return self._nodes.future_idle_on(column)
        state, rows = self._nodes.state[:, column], self._nodes.rows
        free: IntArray = self._nodes.table.allocatable[:, column] - state[rows.used]
        return np.minimum(free, self._nodes.future_idle_on(column))

    def _has(self, task: Task, amounts: IntArray) -> bool:
        return bool((self._nodes.needs(task.template).thresholds[:, 0] <= amounts).all())

    def nominate(self, task: Task, rooms: Sequence[ReservedRoom], *, in_future: bool) -> ReservedRoom | None:
        """Return the Reservation that a task uses on a node (R23): that which a plugin nominates, else the best score.

        Of equal scores the first name counts.

        Args:
            task: A task that is not placed.
            rooms: Usable Reservations of one node.
            in_future: Whether room that is being released counts.
        """
        passing = [room for room in rooms if not self.lacking(task, room, in_future=in_future)]
        if len(passing) <= 1:
            return passing[0] if passing else None
        seen = self._views.early(task)
        by_id = {room.capacity.id: room for room in passing}
        for each in self._extensions.functions(contract.RESERVATION_NOMINATE):
            chosen = self._extensions.ask_or(each, None, seen, [room.view for room in passing])
            if chosen in by_id:
                return by_id[chosen]
            if chosen is not None:
                self._extensions.note_failure(each.plugin, ValueError(f"{shortened(chosen)!r} is no candidate"))
        return min(passing, key=lambda room: (-self._score(seen, room), room.name))

    def _score(self, seen: Task, room: ReservedRoom) -> float:
        functions = self._extensions.functions(contract.RESERVATION_SCORE)
        return sum(float(self._extensions.ask_or(each, 0.0, seen, room.view)) for each in functions)

    def lacking(self, task: Task, room: ReservedRoom, *, in_future: bool) -> str:
        """Return why a task cannot use a Reservation, as a clause with numbers; empty if it can (R19, R20)."""
        if room.is_spent:
            return "is used by another pod"
        needs, names = self._nodes.needs(task.template), self._nodes.resources.names
        unrestricted = self.use_of(task).unrestricted
        available = room.available(in_future=in_future)
        restricted = room.capacity.rules.restricted - unrestricted
        for row in np.flatnonzero(needs.request).tolist():
            if names[row] in restricted and names[row] != PODS and needs.request[row] > available[row]:
                return self._shortage(f"Insufficient {names[row]}", row, needs.request, room, available)
        if PODS in restricted and len(room.users) + 1 > room.reserved[self._pods_row]:
            return f"Too many pods ({len(room.users)} of {room.reserved[self._pods_row]} used)"
        whole = self._free(room.column, in_future=in_future) + available
        for row in needs.checked.tolist():
            if needs.request[row] > whole[row]:
                return self._shortage(f"Insufficient {names[row]} by node", row, needs.request, room, whole)
        return self._refused_by_plugins(task, room)

    def _refused_by_plugins(self, task: Task, room: ReservedRoom) -> str:
        for each in self._extensions.functions(contract.RESERVATION_FILTER):
            try:
                reason = reason_of(each, each.function(self._views.early(task), room.view))
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
                return self._extensions.note_failure(each.plugin, error).message
            if reason is not None:
                return reason.text
        return ""

    def _shortage(self, what: str, row: int, request: IntArray, room: ReservedRoom, available: IntArray) -> str:
        def text(amount: int) -> str:
            return quantities(self._nodes.resources, [amount] * len(request), [row]).split(" ")[0]

        return (
            f"{what} (requested {text(int(request[row]))}, {text(max(int(available[row]), 0))} available, "
            f"{text(int(room.reserved[row]))} reserved)"
        )

    # Placements -------------------------------------------------------------------------------------------------------

    def take(self, task: Task, column: int, verb: Verb) -> Taken | TakenOver | Refusal | None:
        """Let a task use a Reservation of the node on which it is about to be placed, before its amounts are added.

        Returns:
            What was taken; None if the task uses no Reservation; a refusal if it must, and none is left.
        """
        use = self.use_of(task)
        if use.takeover is not None:
            return self._take_over(task, use.takeover, column, verb)
        if not use.usable and not use.is_required:
            return None
        rooms = self.columns_of(use).get(column, [])
        in_future = verb is Verb.PIPELINE
        room = None if use.takes_any else self.nominate(task, rooms, in_future=in_future)
        if room is None:
            return _none_left() if use.is_required and not use.takes_any else None
        request = self._counted(task, room)
        from_rest = np.minimum(room.rest, request)
        from_returns = np.minimum(room.lent_back, request - from_rest) if in_future else np.zeros_like(from_rest)
        taken = Taken(room, task.id, request, from_rest, np.maximum(from_returns, 0), verb)
        self._apply(taken, 1)
        return taken

    def _take_over(self, task: Task, takeover: Takeover, column: int, verb: Verb) -> TakenOver | Refusal | None:
        free = self._free(column, in_future=verb is Verb.PIPELINE)
        pods = self.takeovers.choose(task, takeover, column, free)
        if pods is None:
            return Refusal(plugin="reservation", reason=REASON, message="no pod of the node can be taken over any more")
        return self.takeovers.take(task, column, pods, verb) if pods else None

    def taken_over_on(self, task: Task, column: int) -> tuple[Task, ...]:
        """Return the pods of a node that a Reservation would take over now, or else when terminating pods are gone."""
        takeover = self.use_of(task).takeover if self else None
        if takeover is None:
            return ()
        for in_future in (False, True):
            pods = self.takeovers.choose(task, takeover, column, self._free(column, in_future=in_future))
            if pods is not None:
                return pods
        return ()

    def give_back(self, task: Task) -> Taken | TakenOver | None:
        """Reserve again what a task leaves that is about to be evicted."""
        room = self._used_by.get(task.id)
        if room is None:
            return self.takeovers.evict(task)
        if room.capacity.rules.object.spec.allocate_once:
            return None
        request = self._counted(task, room)
        returned = np.maximum(request - np.maximum(room.used - room.reserved, 0), 0)
        taken = Taken(room, task.id, request, np.zeros_like(returned), -returned, Verb.EVICT)
        self._apply(taken, 1)
        return taken

    def undo(self, taken: Taken | TakenOver) -> None:
        """Undo `take` or `give_back`."""
        if isinstance(taken, TakenOver):
            self.takeovers.apply(taken, -1)
        else:
            self._apply(taken, -1)

    def _counted(self, task: Task, room: ReservedRoom) -> IntArray:
        return self._nodes.resources.vector(counted_for(task.template.request, room.capacity.amounts))

    def _apply(self, taken: Taken, sign: int) -> None:
        room = taken.room
        room.rest -= sign * taken.from_rest
        room.lent_back -= sign * taken.from_returns
        total = sign * (taken.from_rest + taken.from_returns)
        room.used += sign * (-taken.request if taken.verb is Verb.EVICT else taken.request)
        if taken.verb is Verb.EVICT:
            self._nodes.credit(room.column, pipelined=total)
            return
        if sign > 0:
            room.users.add(taken.task)
            self._used_by[taken.task] = room
        else:
            room.users.discard(taken.task)
            self._used_by.pop(taken.task, None)
        if room.capacity.counted:
            return  # the pod in operating mode runs on, and both count
        if taken.verb is Verb.ALLOCATE:
            self._nodes.credit(room.column, used=total, viewed=total)
        else:
            self._nodes.credit(room.column, pipelined=total, viewed=total)


def _positions(rooms: Mapping[int, list[ReservedRoom]]) -> Iterator[tuple[int, int]]:
    """Yield each column as its own position."""
    return ((column, column) for column in rooms)


def _none_left() -> Refusal:
    return Refusal(plugin="reservation", reason=REASON, message="no reservation of the node is left for the pod")
