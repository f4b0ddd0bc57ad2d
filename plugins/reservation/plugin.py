"""Reservation: pods use the capacity that Reservations keep for their owners, and Reservations are placed as pods are.

Points: use, nomination and score of reservations, pre-predicate, predicate, node order; a ledger of the policies on
each node; annotations of bindings; events of pods that must use a Reservation.
Arguments: `ReservationArgs`.  Rules and examples: docs/plugins/reservation.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.framework.state.reservations import ReservationView
from pyroclast.model.arrays import FloatArray, IntArray, ReasonArray
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.report import EventNote
from pyroclast.model.required_rules import RESERVATION, RESERVATION_PREEMPTION
from pyroclast.model.reservations.names import ALLOCATED
from pyroclast.model.reservations.reading import life_of
from pyroclast.model.resources import PODS
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.reservation.arguments import ReservationArgs
from pyroclast.plugins.reservation.endpoints import node_reservations
from pyroclast.plugins.reservation.matching import Match, Matching
from pyroclast.plugins.reservation.policies import REASONS, PlacedPolicies
from pyroclast.plugins.reservation.settings import NAME
from pyroclast.plugins.reservation.taking_over import NO_POD, TakingOver, preparations

__all__ = ["Reservations"]

_NO_NODE: Final = (
    Reason("node(s) no reservations match reservation affinity", resolvable=False),
    Reason(NO_POD, resolvable=False),
)
_MOST_SCORE: Final = 100.0
_WINNER: Final = 1000.0
"""Score of the node with the lowest order, before scores are scaled (R24)."""
_EVENT: Final = "FailedScheduling-Reservation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservations(Plugin):
    """Let pods use the capacity of Reservations."""

    name = NAME
    watches_clock = False
    args: ReservationArgs = field(default_factory=ReservationArgs)

    def endpoints(self) -> Mapping[str, contract.Endpoint]:
        """Return the endpoint of the Reservations of a node."""
        return {"nodeReservations/{name}": node_reservations}

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        extensions, matching = session.extensions, Matching(session, self.args)
        taking_over = TakingOver(session, self.args.pre_allocation)
        extensions.register_rule(self.name, RESERVATION)
        if self.args.enable_preemption:
            extensions.register_rule(self.name, RESERVATION_PREEMPTION)
        extensions.register(
            contract.PRE_PREDICATE,
            self.name,
            lambda task: (
                _refuse_expired(session, task)
                or taking_over.refusal(task)
                or _refuse_without_reservation(session, matching, task)
            ),
        )
        extensions.register_annotations(self.name, lambda task, _column: _annotation(session, task))
        if session.snapshot.reserve_tasks:
            policies = PlacedPolicies(session)
            extensions.register(
                contract.PREDICATE,
                self.name,
                policies.verdicts,
                part="policies",
                locality=Locality.GLOBAL,
                cares=policies.cares,
                reasons=REASONS,
            )
            extensions.register_ledger(self.name, policies)
        if not session.reserved:
            return
        extensions.register(
            contract.RESERVATION_USE,
            self.name,
            lambda task: (taking_over if task.id in session.snapshot.reserve_tasks else matching).use_of(task),
        )
        extensions.register_preparations(self.name, lambda task, _column: preparations(session, task))
        extensions.register(contract.RESERVATION_NOMINATE, self.name, lowest_order)
        extensions.register(
            contract.RESERVATION_SCORE,
            self.name,
            lambda task, reservation: fullness_after(
                session.nodes.needs(task.template).request, reservation, session.resources.names
            ),
        )
        extensions.register(
            contract.PREDICATE,
            self.name,
            lambda task, columns: _without_reservations(session, task, columns),
            locality=Locality.FACTS,
            reasons=_NO_NODE,
        )
        if self.args.weight:
            orders = sorted({room.capacity.rules.order for room in session.reserved.rooms.values()} - {0})
            ranks = {order: float(len(orders) - rank) for rank, order in enumerate(orders)}
            extensions.register(
                contract.NODE_ORDER,
                self.name,
                lambda task, columns: _raw_scores(session, task, columns, ranks),
                locality=Locality.NODE,
                normalise=lambda raw: self.args.weight * scaled(raw),
            )
        extensions.on_close(self.name, lambda: _record_refusals(session, matching))


def _refuse_expired(session: Session, task: Task) -> Refusal | None:
    """Refuse a node to a Reservation that has expired: no pod would use it, and pods may be evicted for it."""
    name = session.snapshot.reserve_tasks.get(task.id, "")
    reservation = session.snapshot.objects.reservations.get(name)
    ends = None if reservation is None else life_of(reservation).ends
    if ends is None or session.now < ends:
        return None
    return Refusal(plugin=NAME, reason="ReservationExpired", message="the reservation has expired", resolvable=False)


def _refuse_without_reservation(session: Session, matching: Matching, task: Task) -> Refusal | None:
    """Refuse a task whose annotations cannot be parsed, or that must use a Reservation and matches none."""
    if task.id in session.snapshot.reserve_tasks:
        return None
    match = matching.of(task)
    if isinstance(match, str):
        return Refusal(plugin=NAME, reason="InvalidReservationAffinity", message=match, resolvable=False)
    if not match.use.is_required or match.use.usable:
        return None
    nodes = f"0/{len(session.nodes)} nodes are available: no reservations match reservation affinity."
    words = " ".join(filter(None, (nodes, match.in_words())))
    return Refusal(plugin=NAME, reason="NoReservationMatches", message=words, resolvable=False)


def _without_reservations(session: Session, task: Task, columns: NodeColumns) -> ReasonArray | None:
    """Refuse nodes without a usable Reservation for tasks that must use one (R7), or must take over a pod (R34)."""
    use = session.reserved.use_of(task)
    must_take_over = use.takeover is not None and use.takeover.is_required
    if not use.is_required and not must_take_over:
        return None
    usable = np.full(len(session.nodes), 2 if must_take_over else 1, dtype=np.uint8)
    usable[list(session.reserved.columns_of(use))] = 0
    verdicts: ReasonArray = usable if columns.is_all else usable[columns.index]
    return verdicts


def _raw_scores(session: Session, task: Task, columns: NodeColumns, ranks: dict[int, float]) -> FloatArray | None:
    """Score the nodes of usable Reservations: by how full the Reservation would be, those with an order above all.

    A Reservation that may take over several pods prefers nodes where these are few (R36).

    A score with an order is 1000 and the rank of the order, with the other score as thousandths.
    """
    use = session.reserved.use_of(task)
    if use.takeover is not None and use.takeover.takes_several:
        counts = [len(session.reserved.taken_over_on(task, column)) for column in columns.index.tolist()]
        return _MOST_SCORE / (1 + np.array(counts, dtype=np.float64))
    if not use.usable or use.takes_any:
        return None
    request = session.nodes.needs(task.template).request
    scores = np.zeros(len(columns))
    rooms = session.reserved.columns_of(use)
    for position, column in enumerate(columns.index.tolist()):
        if column not in rooms:
            continue
        room = session.reserved.nominate(task, rooms[column], in_future=False)
        room = room or session.reserved.nominate(task, rooms[column], in_future=True)
        if room is not None:
            rank = ranks.get(room.capacity.rules.order)
            score = fullness_after(request, room.view, session.resources.names)
            scores[position] = score if rank is None else _WINNER + rank + score / _WINNER
    return scores


def lowest_order(_task: Task, reservations: Sequence[ReservationView]) -> TaskId | None:
    """Return the Reservation with the lowest order, the first by name; None if none has an order (R23)."""
    ordered = [each for each in reservations if each.order]
    return min(ordered, key=lambda each: (each.order, each.name)).id if ordered else None


def fullness_after(request: IntArray, reservation: ReservationView, names: Sequence[str]) -> float:
    """Score how full a Reservation would be with a task, 0 to 100: the mean over the reserved resources (R23).

    Args:
        request: Request of the task, base units, shape (R,).
        reservation: The Reservation; a resource of which it has too little left counts 0.
        names: Names of the R resources. Pods count only if the Reservation reserves a number of them.
    """
    counts = [name != PODS or PODS in reservation.object.status.allocatable for name in names]
    rows = np.flatnonzero((reservation.reserved > 0) & counts)
    reserved = reservation.reserved[rows]
    after = reserved - reservation.rest[rows] + request[rows]
    shares = np.where(after <= reserved, _MOST_SCORE * after / reserved, 0.0)
    return float(shares.mean()) if rows.size else 0.0


def scaled(raw: FloatArray) -> FloatArray:
    """Scale the scores of candidates to 0..100; the nodes of the lowest order count 1000 before (R24)."""
    if not raw.size:
        return raw
    ordered = raw >= _WINNER
    plain = np.where(ordered, (raw - np.floor(raw)) * _WINNER, raw)
    if ordered.any():
        plain = np.where(np.floor(raw) == np.floor(raw.max()), _WINNER, plain)
    most = plain.max()
    result: FloatArray = 100.0 * plain / most if most > 0 else plain
    return result


def _annotation(session: Session, task: Task) -> dict[str, str]:
    """Name the Reservation that a task uses. A name that the pod brought along is removed if it uses none."""
    room = session.reserved.used_by(task.id)
    if room is not None:
        note = {"name": room.name, "uid": room.capacity.id}
        return {ALLOCATED: msgspec.json.encode(note).decode()}
    return {ALLOCATED: ""} if task.pod.metadata.annotations.get(ALLOCATED) else {}


def _record_refusals(session: Session, matching: Matching) -> None:
    """Record why no Reservation is available for tasks that must use one, once for each text."""
    for job in session.jobs.all():
        for task in job.in_status(TaskStatus.PENDING):
            match: Match | str | None = matching.of(task) if task.template.reservations else None
            words = match.in_words() if isinstance(match, Match) and match.use.is_required else ""
            if words and session.report.is_news(f"Reservation/{task.key}", words, job=job.id):
                session.report.record_events(_event(task, words))


def _event(task: Task, message: str) -> EventNote:
    return EventNote(
        kind="Pod",
        namespace=task.namespace,
        name=task.name,
        uid=task.id,
        type="Warning",
        reason=_EVENT,
        message=message,
    )
