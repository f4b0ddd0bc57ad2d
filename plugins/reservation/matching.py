"""Matching: which Reservations a task may use, and why not the others, counted."""

from collections import Counter
from typing import Final, NamedTuple

from pyroclast.framework.session.session import Session
from pyroclast.model.ids import TaskId
from pyroclast.model.reservations.affinity import ReservationDemand, read_demand
from pyroclast.model.reservations.judging import refusal_of
from pyroclast.model.reservations.use import ReservationUse
from pyroclast.model.tasks import Task
from pyroclast.plugins.reservation.arguments import ReservationArgs

__all__ = ["Match", "Matching"]

_NAMED: Final = "exactly matches the requested reservation name"


class Match(NamedTuple):
    """The answer for the tasks of one template."""

    use: ReservationUse
    demand: ReservationDemand
    total: int
    """Number of Reservations whose owners match."""
    counts: Counter[str]
    """Number of these by the reason of their refusal."""

    def in_words(self) -> str:
        """Return the counts as a sentence, in Koordinator's words (R27)."""
        reasons = [f"{self.total} Reservation(s) matched owner total"] if self.total else []
        reasons += [f"{count} Reservation(s) {why}" for why, count in sorted(self.counts.items())]
        if self.demand.name and self.use.usable:
            reasons.append(f"{len(self.use.usable)} Reservation(s) {_NAMED}")
        return f"0/{self.total} reservations are available: {', '.join(reasons)}." if reasons else ""


class Matching:
    """Answers by template of one session."""

    def __init__(self, session: Session, args: ReservationArgs) -> None:
        self._session, self._args = session, args
        self._unrestricted = frozenset(filter(args.ignores, session.snapshot.resources.names))
        self._known: dict[int, Match | str] = {}

    def of(self, task: Task) -> Match | str:
        """Return the answer for a task; a text if its annotations cannot be parsed."""
        known = self._known.get(task.template.number)
        if known is None:
            known = self._known[task.template.number] = self._match(task)
        return known

    def use_of(self, task: Task) -> ReservationUse | None:
        """Return which Reservations a task may use; None if none concerns it."""
        match = self.of(task)
        if isinstance(match, str):
            return ReservationUse(is_required=True)
        return match.use if match.use.usable or match.use.is_required else None

    def _match(self, task: Task) -> Match | str:
        try:
            demand = read_demand(task.pod)
        except ValueError as error:
            return str(error)
        rooms, namespaces = self._session.reserved.rooms, self._args.ignoring_namespaces
        if demand.ignores and (namespaces is None or task.namespace in namespaces):
            unused = tuple(
                uid for uid, room in rooms.items() if not room.capacity.counted
            )  # a pod that runs uses its own
            return Match(ReservationUse(usable=unused, takes_any=True), demand, 0, Counter())
        counts: Counter[str] = Counter()
        usable = []
        matching = [room for uid in task.template.reservations if (room := rooms.get(TaskId(uid))) is not None]
        for room in sorted(matching, key=lambda room: room.name):
            labels = self._session.nodes.facts.nodes[room.column].labels
            refusal = refusal_of(demand, room.capacity, labels, task.template.request)
            if refusal:
                counts[refusal] += 1
            else:
                usable.append(room.capacity.id)
        use = ReservationUse(usable=tuple(usable), is_required=demand.is_required, unrestricted=self._unrestricted)
        return Match(use, demand, len(matching), counts)
