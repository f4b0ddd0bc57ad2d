"""Device allocator: the allocated part of the cards of each node in one session, and which tasks still fit.

This is a ledger: placements, also pipelined ones, allocate cards; evictions release them; undoing reverses both. Cards
are chosen when a task is placed and do not change until it is undone; the binding has them as annotations. The initial
state comes from the annotations of the pods on each node, read at the first use; terminating pods hold no cards.
N nodes.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, NumaHint, Verb
from pyroclast.framework.session.pending_changes import PendingChanges
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.framework.state.reservations import ReservationView
from pyroclast.model.arrays import FloatArray, ReasonArray
from pyroclast.model.devices.cards import Holder, Shelf, Use
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task, TaskStatus, TaskTemplate, by_name
from pyroclast.plugins.deviceshare.family import (
    ALL_NUMA_NODES,
    NOTHING_HIDDEN,
    Chosen,
    DeviceQuestion,
    Family,
    Placed,
    Unreadable,
)
from pyroclast.plugins.deviceshare.reserved_devices import Choose, ReservedDevices

__all__ = ["NO_CARDS", "UNREADABLE", "DeviceAllocator"]

NO_CARDS: Final = "NoCards"
"""Reason of a refusal: the node has no free cards for the task any more."""
BEST_CARDS: Final = 500
"""Score of NUMA nodes with which the choice of cards stays the best one. It outweighs scores of CPUs."""
UNREADABLE: Final = Reason("the node's registered cards cannot be read", resolvable=False)


class DeviceAllocator(Ledger):
    """Allocated parts of the cards of one family."""

    def __init__(self, session: Session, family: Family[Any, Any]) -> None:
        self.family = family
        self._session = session
        self._demands: dict[int, Any] = {}
        self._faults: dict[int, str] = {}
        self._pending = PendingChanges()
        self._cards: list[Any] | None = None
        self._shelves: dict[int, Shelf] = {}
        """Allocated parts by column, for nodes with cards."""
        self._evicted: dict[TaskId, Holder] = {}
        self._reserved = ReservedDevices(session, family)
        self._answers: dict[DeviceQuestion[Any], _Answers] = {}
        self._known: dict[DeviceQuestion[Any], dict[Hashable, Chosen | int]] = {}
        """Answers by question and by the relevant state of a node: nodes in an equal state are asked once."""
        self.unread: list[tuple[Task, str]] = []
        """Tasks whose annotations do not name the cards that they hold, with a message."""

    # Demand -----------------------------------------------------------------------------------------------------------

    def demand_of(self, task: Task) -> Any:
        """Return the demand of a template's tasks; None if there is none or it cannot be read."""
        number = task.template.number
        if number not in self._demands:
            self._demands[number] = self._read(task.template, task)
        return self._demands[number]

    def _read(self, template: TaskTemplate, task: Task) -> Any:
        try:
            return self.family.demand(template, task)
        except ValueError as error:
            self._faults[template.number] = str(error)
            return None

    def question_of(self, task: Task) -> DeviceQuestion[Any] | None:
        """Return the question of a task; None if it requests no cards."""
        demand = self.demand_of(task)
        if demand is None:
            return None
        question = self.family.question(demand, task)
        if self._session.extensions.plans_numa and self.family.aligned_types(demand):
            return question._replace(numa_nodes=ALL_NUMA_NODES)
        return question

    def refuse_unreadable(self, task: Task) -> Refusal | None:
        """Refuse a task whose request cannot be read."""
        self.demand_of(task)
        fault = self._faults.get(task.template.number)
        if fault is None:
            return None
        return Refusal(plugin=self.family.name, reason="InvalidDeviceRequest", message=fault, resolvable=False)

    # Cards of nodes ---------------------------------------------------------------------------------------------------

    @property
    def cards(self) -> list[Any]:
        """Cards by column, read once for these nodes: None if there are none, or `Unreadable`."""
        if self._cards is None:
            facts, family = self._session.nodes.facts, self.family
            self._cards = facts.derive(
                ("cards", family.reading), lambda: [_cards(family, node) for node in facts.nodes]
            )
        return self._cards

    @property
    def shelves(self) -> Mapping[int, Shelf]:
        """Allocated parts by column, for nodes with cards. Read-only."""
        if not self._pending.is_built:
            self._build()
        return self._shelves

    def _build(self) -> None:
        table = self._session.nodes.table
        for column, cards in enumerate(self.cards):
            if cards is None or isinstance(cards, Unreadable):
                continue
            shelf = self._shelves[column] = Shelf(self.family.count(cards))
            self._reserved.read(column, cards, table.tasks[column])
            self._read_held(column, cards, shelf, table.tasks[column].values())
        for change, sign in self._pending.build():
            self._leave(change) if sign < 0 else self._come_back(change)

    def _read_held(self, column: int, cards: Any, shelf: Shelf, tasks: Iterable[Task]) -> None:
        """Count the tasks of a node: first the cards that they name, oldest task first, then the rest of their request.

        A pod may write its own annotations. A pod that names too few cards, or cards that older pods hold, is therefore
        counted with the first free cards.
        """
        family, pending = self.family, list[tuple[Task, tuple[Use, ...], bool]]()
        for task in sorted(filter(self._holds_cards, tasks), key=_by_age):
            if self._reserved.keeps(task):
                self._reserved.put(shelf, task)
                continue
            uses = family.named(cards, task, self.demand_of(task))
            if task.status is TaskStatus.RELEASING:
                self._reserved.note_leaving(shelf, column, task, uses)
                continue
            seen = self._reserved.without(shelf, column, task)
            is_taken = bool(uses) and not family.has_room(cards, seen.state(), uses)
            if uses and not is_taken:
                self._put(shelf, column, task, family.holding(task, uses))
            pending.append((task, uses, is_taken))
        for task, uses, is_taken in pending:
            seen = self._reserved.without(shelf, column, task)
            more = self._unnamed(cards, seen, task, () if is_taken else uses)
            if is_taken:  # count it with free cards instead, if there are enough
                self._put(shelf, column, task, family.holding(task, more if len(more) >= len(uses) else uses))
            elif more:
                shelf.take(task.id)
                self._put(shelf, column, task, family.holding(task, (*uses, *more)))
            self._note_annotations(cards, task, uses, more)

    def _holds_cards(self, task: Task) -> bool:
        if task.status is TaskStatus.RELEASING and self._session.reserved.used_by(task.id) is None:
            return False
        if self._session.reserved.has_expired(task.id):
            return False
        return self.demand_of(task) is not None or self.family.names_cards(task)

    def _unnamed(self, cards: Any, shelf: Shelf, task: Task, uses: tuple[Use, ...]) -> tuple[Use, ...]:
        demand = self.demand_of(task)
        return () if demand is None else self.family.unnamed(cards, shelf.state(), task, demand, uses)

    def _put(self, shelf: Shelf, column: int, task: Task, holder: Holder) -> None:
        """Count a task on a node, and what its Reservation keeps beside it."""
        shelf.put(task.id, holder)
        self._reserved.note(shelf, column, task, holder.uses)

    def _note_annotations(self, cards: Any, task: Task, uses: tuple[Use, ...], more: tuple[Use, ...]) -> None:
        fault = self.family.unread(cards, task)
        if fault:
            self.unread.append((task, f"{fault}, and do not count"))
        elif not uses and self.demand_of(task) is None and task.template.number not in self._faults:
            self.unread.append((task, "the cards in its annotations do not count: it requests none"))
        elif more and task.job is not None:  # other schedulers allocate cards to their pods
            message = (
                f"its annotations do not name the cards that it requests: it is counted with {len(more)} free ones"
            )
            self.unread.append((task, message))

    # Verdicts and scores ----------------------------------------------------------------------------------------------

    def never(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes whose cards would not suffice even if all were free, shape (columns,)."""
        demand = self.demand_of(task)
        if demand is None:
            return None
        question, known = DeviceQuestion(demand), dict[Hashable, int]()
        verdicts = np.zeros(len(columns), dtype=np.uint8)
        for place, column in enumerate(columns.index.tolist()):
            cards = self.cards[column]
            if isinstance(cards, Unreadable):
                verdicts[place] = len(self.family.never) + 1
            elif cards is not None:
                shape = self.family.shape(cards, question)
                if shape not in known:
                    known[shape] = self.family.never_fits(cards, demand)
                verdicts[place] = known[shape]
        names = self._session.nodes.table.names
        by_name = self.family.refused_by_name(demand, [names[column] for column in columns.index.tolist()])
        return np.maximum(verdicts, np.array(by_name, dtype=np.uint8)) if by_name else verdicts

    def of_template(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes without free cards, for a task whose answer is that of its template, shape (columns,)."""
        return None if self.asks_alone(task) else self.of_task(task, columns)

    def of_task(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes without free cards, for a single task, shape (columns,)."""
        question = self.question_of(task)
        if question is None:
            return None
        verdicts = self._answer(question).verdicts[columns.index]
        for position, chosen in self._chosen_from_reservations(task, question, columns):
            verdicts[position] = chosen if isinstance(chosen, int) else 0
        return verdicts

    def scores_of_template(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Score nodes for a task whose answer is that of its template, shape (columns,)."""
        return None if self.asks_alone(task) else self.scores_of_task(task, columns)

    def scores_of_task(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Score nodes for a single task, shape (columns,)."""
        question = self.question_of(task)
        if question is None:
            return None
        scores = self._answer(question).scores[columns.index]
        for position, chosen in self._chosen_from_reservations(task, question, columns):
            scores[position] = 0.0 if isinstance(chosen, int) else chosen.score
        return scores

    def _chosen_from_reservations(
        self, task: Task, question: DeviceQuestion[Any], columns: NodeColumns
    ) -> Iterator[tuple[int, Chosen | int]]:
        """Yield positions of nodes with reserved cards that a task may use, with its cards or the verdict."""
        rooms = self._reserved.columns_for(task)
        for position, column in enumerate(columns.index.tolist()) if rooms else ():
            if column in rooms:
                yield position, self._choose_for(task, column, question)

    def _choose_for(self, task: Task, column: int, question: DeviceQuestion[Any]) -> Chosen | int:
        """Return the cards of a node that a task would get, those of its Reservation included, or the verdict."""
        if self._session.reserved.used_by(task.id) is not None:  # it is being placed, and the NUMA plan is asked
            chooser = self._chooser(column, question)
            return self._reserved.choose_placed(task, self.cards[column], self.shelves[column], chooser)
        if column not in self._reserved.columns_for(task):
            return self.choose(column, question)
        return self._reserved.choose(
            task, column, self.cards[column], self.shelves[column], self._chooser(column, question)
        )

    def refuse_reservation(self, task: Task, reservation: ReservationView) -> str | None:
        """Return why a task cannot use a Reservation because of its cards; None if it can."""
        question, column = self.question_of(task), reservation.column
        shelf = self.shelves.get(column)
        if question is None or shelf is None or not self._reserved.has_cards(reservation.id):
            return None
        chosen = self._reserved.choose_in(reservation.id, self.cards[column], shelf, self._chooser(column, question))
        return self.family.now[chosen - 1].text if isinstance(chosen, int) else None

    def _chooser(self, column: int, question: DeviceQuestion[Any]) -> Choose:
        known = self._known.setdefault(question, {})
        return lambda shelf, excluded: self.choose_among(known, column, question, shelf, excluded)

    def asks_alone(self, task: Task) -> bool:
        """Return whether tasks of one template may differ in their question."""
        demand = self.demand_of(task)
        return demand is not None and self.family.asks_alone(task)

    def _answer(self, question: DeviceQuestion[Any]) -> "_Answers":
        answers = self._answers.get(question)
        if answers is None:
            known = self._known.setdefault(question, {})
            answers = self._answers[question] = _Answers(self, question, known, self._session)
        answers.refresh()
        return answers

    def choose(self, column: int, question: DeviceQuestion[Any]) -> Chosen | int:
        """Return the cards of a node that a task would get, or the verdict."""
        return self.choose_among(self._known.setdefault(question, {}), column, question, self.shelves[column])

    def choose_among(
        self,
        known: dict[Hashable, Chosen | int],
        column: int,
        question: DeviceQuestion[Any],
        shelf: Shelf,
        excluded: frozenset[int] = NOTHING_HIDDEN,
    ) -> Chosen | int:
        """Return the cards of a node that a task would get, or the verdict.

        Args:
            known: Caches answers to the question by the relevant state of a node.
            column: The node.
            question: Question of the task.
            shelf: Allocated parts of its cards.
            excluded: Cards that must not be used.
        """
        family, cards = self.family, self.cards[column]
        hidden = family.hidden(cards, shelf, question) | excluded
        key = (family.shape(cards, question), shelf.state(), hidden)
        chosen = known.get(key)
        if chosen is None:
            chosen = known[key] = family.choose(cards, shelf.state(), question, hidden)
        return chosen

    def numa_hints(
        self,
        task: Task,
        column: int,
        nodes: Sequence[int],
        in_future: bool,  # noqa: ARG002  # as in `NumaHints`: terminating pods hold no cards
    ) -> dict[str, list[NumaHint]] | None:
        """Return the sets of NUMA nodes whose cards could serve a task, by type; None if it needs none of them."""
        question = self.question_of(task)
        types = () if question is None else self.family.aligned_types(question.demand)
        if question is None or not types or column not in self.shelves:
            return None
        cards = self.cards[column]
        anywhere = self._choose_for(task, column, question)
        best = None if isinstance(anywhere, int) else self.family.preferred_cards(cards, anywhere.uses)
        found: list[NumaHint] = []
        for size in range(1, len(nodes) + 1):
            for some in combinations(nodes, size):
                mask = sum(1 << node for node in some)
                chosen = self._choose_for(task, column, question._replace(numa_nodes=mask))
                if not isinstance(chosen, int):
                    is_best = self.family.preferred_cards(cards, chosen.uses) == best
                    is_least = not found or found[0].nodes.bit_count() == size
                    found.append(NumaHint(mask, preferred=is_least, score=BEST_CARDS if is_best else 0))
        return dict.fromkeys(types, found)

    def chooses_for(self, task: Task) -> bool:
        """Return whether cards are chosen for a task. The choice depends on earlier placements."""
        return self.demand_of(task) is not None

    # Ledger -----------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> Refusal | None:
        """Allocate cards to placed tasks, and release those of evicted ones. Refuse if there are no free cards."""
        if change.verb is Verb.EVICT:
            if not self._pending.record(change, -1):
                self._leave(change)
            return None
        if self.demand_of(change.tasks[0]) is None:
            return None
        for done, (task, column) in enumerate(zip(change.tasks, change.columns, strict=True)):
            refusal = self._give(task, column, in_future=change.verb is Verb.PIPELINE)
            if refusal is not None:
                self._take_back(change, done)
                return refusal
        return None

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        if change.verb is Verb.EVICT:
            if not self._pending.record(change, 1):
                self._come_back(change)
        elif self.demand_of(change.tasks[0]) is not None:
            self._take_back(change, len(change.tasks))

    def _give(self, task: Task, column: int, *, in_future: bool) -> Refusal | None:
        shelf, question = self.shelves.get(column), self.question_of(task)
        if shelf is None or question is None:
            return None  # a node without registered cards: only the amount of the resource limits it
        if question.numa_nodes is not None:
            planned = self._session.extensions.numa_plan(task, column, in_future=in_future)
            question = question if planned is None else question._replace(numa_nodes=planned)
        chosen = self._reserved.choose_placed(task, self.cards[column], shelf, self._chooser(column, question))
        if isinstance(chosen, int):
            name = self._session.nodes.table.names[column]
            return Refusal(
                plugin=self.family.name, reason=NO_CARDS, message=f"{name}: {self.family.now[chosen - 1].text}"
            )
        self._put(shelf, column, task, self.family.holder(question, chosen.uses, task))
        return None

    def _take_back(self, change: Change, count: int) -> None:
        for task, column in zip(change.tasks[:count], change.columns[:count], strict=True):
            shelf = self.shelves.get(column)
            if shelf is not None:
                shelf.take(task.id)
                self._reserved.forget(shelf, task)

    def _leave(self, change: Change) -> None:
        for task, column in zip(change.tasks, change.columns, strict=True):
            shelf = self._shelves.get(column)
            holder = None if shelf is None else shelf.take(task.id)
            if shelf is not None and holder is not None:
                self._evicted[task.id] = holder
                self._reserved.leave(shelf, task)

    def _come_back(self, change: Change) -> None:
        for task, column in zip(change.tasks, change.columns, strict=True):
            holder = self._evicted.pop(task.id, None)
            if holder is not None:
                self._put(self._shelves[column], column, task, holder)

    # Reports ----------------------------------------------------------------------------------------------------------

    def annotations(self, task: Task, column: int) -> Mapping[str, str]:
        """Return the annotations of a task's binding about its cards."""
        placed = self._placed(task, column)
        return {} if placed is None else self.family.annotations(self.cards[column], self.demand_of(task), placed)

    def labels(self, task: Task, column: int) -> Mapping[str, str]:
        """Return the labels that a task's pod gets before it is bound, about its cards."""
        placed = self._placed(task, column)
        return {} if placed is None else self.family.labels(self.cards[column], self.demand_of(task), placed)

    def _placed(self, task: Task, column: int) -> Placed | None:
        holder = self._holder(task, column)
        if holder is None:
            return None
        session = self._session
        order = list(self.shelves[column].holders).index(task.id)
        is_pod = task.id not in session.snapshot.reserve_tasks
        return Placed(session.nodes.table.names[column], holder.uses, session.now, order, is_pod)

    def gives_cards(self, task: Task, column: int) -> bool:
        """Return whether a task has allocated cards of a node."""
        return self._holder(task, column) is not None

    def _holder(self, task: Task, column: int) -> Holder | None:
        if self.demand_of(task) is None:
            return None
        shelf = self.shelves.get(column)
        return None if shelf is None else shelf.holders.get(task.id)

    def unreadable(self) -> Iterator[tuple[int, str]]:
        """Yield the columns of nodes whose cards cannot be read, with the reason."""
        for column, cards in enumerate(self.cards):
            if isinstance(cards, Unreadable):
                yield column, cards.message


class _Answers:
    """Verdicts and scores of all nodes for one question, updated from the session's log of changed columns."""

    def __init__(
        self,
        allocator: DeviceAllocator,
        question: DeviceQuestion[Any],
        known: dict[Hashable, Chosen | int],
        session: Session,
    ) -> None:
        self._allocator, self._question, self._known, self._session = allocator, question, known, session
        self.verdicts: ReasonArray = np.zeros(len(session.nodes), dtype=np.uint8)
        self.scores: FloatArray = np.zeros(len(session.nodes))
        self._cursor = len(session.nodes.log)
        for column in allocator.shelves:
            self._ask(column)

    def refresh(self) -> None:
        """Update the columns that changed since the last call."""
        log = self._session.nodes.log
        if self._cursor == len(log):
            return
        touched = set(log[self._cursor :])
        self._cursor = len(log)
        for column in touched & self._allocator.shelves.keys():
            self._ask(column)

    def _ask(self, column: int) -> None:
        chosen = self._allocator.choose_among(self._known, column, self._question, self._allocator.shelves[column])
        answer = (chosen, 0.0) if isinstance(chosen, int) else (0, chosen.score)
        self.verdicts[column], self.scores[column] = answer


def _cards(family: Family[Any, Any], node: Any) -> Any:
    try:
        return family.cards(node)
    except ValueError as error:
        return Unreadable(str(error))


def _by_age(task: Task) -> tuple[float, tuple[str, str, str]]:
    return task.created, by_name(task)
