"""Statement: a transaction on a session.

A statement's life::

    OPEN ──commit──→ COMMITTED: its plan has been handed on
      │ ──hold────→ HELD: places keep their capacity until the session closes, nothing is bound
      └ ──undo────→ UNDONE: the session is as it was before, bit for bit

A trial asks what would be possible and decides nothing: it can only be undone, and its changes are marked as a trial's.
Used as a context manager a statement is undone on exit unless it was committed or held. Statements nest: a statement
opened while another is open can be merged into it, or undone alone.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import msgspec

from pyroclast.framework.candidates.reserved import SessionReservations, Taken
from pyroclast.framework.candidates.resizes import SessionResizes
from pyroclast.framework.candidates.takeovers import TakenOver
from pyroclast.framework.extension.contract import Change, Verb
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.nodes import Needs, SessionNodes
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedList
from pyroclast.model.tasks import Task, TaskStatus, TaskTemplate

__all__ = ["Operation", "Statement"]


class Operation:
    """One change and the tasks as they were before it."""

    __slots__ = ("before", "change", "evicts_for", "message", "reason", "taken")

    def __init__(
        self, change: Change, before: Sequence[Task], reason: str, *, evicts_for: bool, message: str = ""
    ) -> None:
        self.change = change
        self.before = before
        self.taken: list[Taken | TakenOver] = []
        """What its tasks take from Reservations, or give back to them."""
        self.reason = reason
        """Action of an eviction."""
        self.message = message
        """Message of an eviction without a preemptor: the rule, for people."""
        self.evicts_for = evicts_for
        """Whether the resources of a pipelined task come from evictions, so that the node is nominated."""


Commit = Callable[[Sequence[Operation], bool], Refusal | None]
"""Makes a plan of operations and hands it on; returns why there is none and nothing has changed, else None."""


class Statement:
    """Operations on a session that are kept together or undone together."""

    __slots__ = (
        "_commit",
        "_extensions",
        "_nodes",
        "_reserved",
        "_resizes",
        "is_settled",
        "is_trial",
        "notes_places",
        "operations",
    )

    def __init__(
        self,
        nodes: SessionNodes,
        extensions: Extensions,
        reserved: SessionReservations,
        resizes: SessionResizes,
        commit: Commit,
        *,
        is_trial: bool = False,
    ) -> None:
        self._nodes = nodes
        self._reserved = reserved
        self._resizes = resizes
        self._extensions = extensions
        self._commit = commit
        self.is_trial = is_trial
        """Whether it decides nothing: it is never committed, held or merged."""
        self.notes_places = not is_trial
        """Whether messages may name the places that it took and gave back. Capacity that only evictions would free is
        not released when they are undone."""
        self.operations: SealedList[Operation] = SealedList()
        self.is_settled = False
        """Whether it was committed, held or merged, so that leaving its block does not undo it."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Undo, unless it was settled."""
        if not self.is_settled:
            self.undo()

    def allocate(self, job: SessionJob, tasks: Sequence[Task], columns: Sequence[int]) -> Refusal | None:
        """Place pending tasks of one template on free capacity, one node each; None, or why nothing was placed."""
        return self._place(Verb.ALLOCATE, job, tasks, columns, evicts_for=False)

    def pipeline(
        self, job: SessionJob, tasks: Sequence[Task], columns: Sequence[int], *, evicts_for: bool = False
    ) -> Refusal | None:
        """Place pending tasks of one template on capacity that is being released; None, or why nothing was placed."""
        return self._place(Verb.PIPELINE, job, tasks, columns, evicts_for=evicts_for)

    def _place(
        self, verb: Verb, job: SessionJob, tasks: Sequence[Task], columns: Sequence[int], *, evicts_for: bool
    ) -> Refusal | None:
        if self._resizes.is_active and self._resizes.concerns(tasks[0]):
            return self._place_resized(verb, job, tasks, columns, evicts_for=evicts_for)
        return self._place_as(tasks[0].template, verb, job, tasks, columns, evicts_for=evicts_for)

    def _place_as(
        self,
        template: TaskTemplate,
        verb: Verb,
        job: SessionJob,
        tasks: Sequence[Task],
        columns: Sequence[int],
        *,
        evicts_for: bool,
    ) -> Refusal | None:
        names = self._nodes.table.names
        placed = [task.moved(verb.status, names[column]) for task, column in zip(tasks, columns, strict=True)]
        if template is not tasks[0].template:
            placed = [msgspec.structs.replace(task, template=template) for task in placed]
        needs = self._nodes.needs(template)
        change = Change(verb, job, placed, columns, needs=needs, is_trial=self.is_trial)
        return self._do(Operation(change, tasks, "", evicts_for=evicts_for))

    def _place_resized(
        self, verb: Verb, job: SessionJob, tasks: Sequence[Task], columns: Sequence[int], *, evicts_for: bool
    ) -> Refusal | None:
        """Place tasks one by one with what they count as on their nodes; all of them, or none with the reason."""
        begin = len(self.operations)
        for task, column in zip(tasks, columns, strict=True):
            template = self._resizes.template_on(task, column)
            refusal = template if isinstance(template, Refusal) else None
            if not isinstance(template, Refusal):
                if template is not task.template:
                    refusal = self._resizes.refusal(template, column, verb)
                refusal = refusal or self._place_as(template, verb, job, [task], [column], evicts_for=evicts_for)
            if refusal is not None:
                notes_places, self.notes_places = self.notes_places, False
                self.undo_to(begin)
                self.notes_places = notes_places
                return refusal
        return None

    def evict(self, job: SessionJob, task: Task, reason: str, message: str = "") -> Refusal | None:
        """Evict a running or bound task. `reason` names the action, `message` the rule if no job gains."""
        assert task.node is not None, "only a task on a node can be evicted"
        column = self._nodes.table.column[task.node]
        leaving = task.moved(TaskStatus.RELEASING, task.node)
        needs = self._nodes.needs(task.template)
        uncounted = self._nodes.uncounted.get(task.id)
        change = Change(Verb.EVICT, job, [leaving], [column], needs=needs, uncounted=uncounted, is_trial=self.is_trial)
        return self._do(Operation(change, [task], reason, evicts_for=False, message=message))

    def _do(self, operation: Operation) -> Refusal | None:
        extensions = self._extensions
        if self._reserved and (refusal := self._take_reserved(operation)) is not None:
            return refusal
        self._transact(operation)
        for done, (plugin, ledger) in enumerate(extensions.all_ledgers()):
            try:
                refusal = ledger.apply(operation.change)
            except Exception as error:  # noqa: BLE001  # a plugin that fails refuses; a ledger must not count then
                refusal = extensions.note_failure(plugin, error)
            if refusal is not None:
                self._revert(operation.change, done)
                self._retract(operation)
                return refusal
        list.append(self.operations, operation)
        return None

    def _take_reserved(self, operation: Operation) -> Refusal | None:
        """Let the tasks use Reservations, or give back what they used; all of them, or none with the reason."""
        change = operation.change
        operation.taken = []
        for before, column in zip(operation.before, change.columns, strict=True):
            if change.verb is Verb.EVICT:
                taken: Taken | TakenOver | Refusal | None = self._reserved.give_back(before)
            else:
                taken = self._reserved.take(before, column, change.verb)
            if isinstance(taken, Refusal):
                self._give_back_reserved(operation)
                return taken
            if taken is not None:
                operation.taken.append(taken)
        return None

    def _give_back_reserved(self, operation: Operation) -> None:
        """Undo `_take_reserved`."""
        for taken in reversed(operation.taken):
            self._reserved.undo(taken)
        operation.taken = []

    def _transact(self, operation: Operation) -> None:
        """Carry out an operation on its job and its nodes."""
        change = operation.change
        change.job.move(change.tasks, operation.before[0].status, change.verb.status, change.amounts)
        self._nodes.add(change.columns, _delta(change.needs, change.verb), change.tasks)

    def _retract(self, operation: Operation) -> None:
        """Undo `_transact`."""
        change = operation.change
        change.job.move(operation.before, change.verb.status, operation.before[0].status, change.amounts)
        delta = _delta(change.needs, change.verb)
        if change.verb is Verb.EVICT:
            self._nodes.add(change.columns, -delta, operation.before)
        else:
            self._nodes.remove(change.columns, delta, change.tasks)
        self._give_back_reserved(operation)

    def _revert(self, change: Change, applied: int) -> None:
        """Undo a change in the first ledgers, as many as applied it, in reverse order."""
        for plugin, ledger in reversed(self._extensions.all_ledgers()[:applied]):
            try:
                ledger.revert(change)
            except Exception as error:  # noqa: BLE001  # a broken plugin must not end the cycle
                self._extensions.note_failure(plugin, error)

    def undo(self) -> None:
        """Undo all operations in reverse, remembering for messages where tasks had been placed."""
        self.undo_to(0)
        self.is_settled = True

    def undo_to(self, length: int) -> None:
        """Undo the operations after the first `length` ones, in reverse."""
        while len(self.operations) > length:
            operation = list.pop(self.operations)
            change = operation.change
            self._revert(change, len(self._extensions.all_ledgers()))
            self._retract(operation)
            if self.notes_places and change.verb is not Verb.EVICT:
                change.job.note_places(change.tasks)

    def place_again(self, operation: Operation, count: int) -> Refusal | None:
        """Place the first tasks of a placement by another statement."""
        change = operation.change
        return self._place(
            change.verb, change.job, operation.before[:count], change.columns[:count], evicts_for=operation.evicts_for
        )

    def redo(self, operations: Sequence[Operation]) -> Refusal | None:
        """Do operations once more that were undone, in their order and with nothing changed since.

        Returns:
            None; or why nothing was done again, if the ledger of a plugin refuses what it once accepted.
        """
        begin = len(self.operations)
        for operation in operations:
            refusal = self._do(operation)
            if refusal is not None:
                self.undo_to(begin)
                return refusal
        return None

    def merge(self, other: "Statement") -> None:
        """Take over the operations of a statement that was opened after this one."""
        assert self.is_trial or not other.is_trial, "a trial decides nothing"
        list.extend(self.operations, other.operations)
        other.operations = SealedList()
        other.is_settled = True

    def hold(self) -> None:
        """Keep the places until the session closes, without binding."""
        assert not self.is_trial, "a trial decides nothing"
        self.is_settled = True

    def commit(self, *, together: bool = False) -> None:
        """Hand the operations on as one plan; allocated tasks are binding from now on.

        If a plugin that prepares the bindings fails, everything is undone and the jobs get the reason.

        Args:
            together: Whether evictions without a beneficiary depend on each other: those of a gang.
        """
        assert not self.is_trial, "a trial decides nothing"
        self.is_settled = True
        refusal = self._commit(self.operations, together) if self.operations else None
        if refusal is not None:
            for job in {operation.change.job.id: operation.change.job for operation in self.operations}.values():
                job.refuse(refusal)
            self.undo()
        self.operations = SealedList()

    def placed(self) -> dict[TaskId, Task]:
        """Return the tasks placed by it, in their new state."""
        return {
            task.id: task
            for operation in self.operations
            if operation.change.verb is not Verb.EVICT
            for task in operation.change.tasks
        }


def _delta(needs: Needs, verb: Verb) -> IntArray:
    if verb is Verb.ALLOCATE:
        return needs.allocate
    return needs.pipeline if verb is Verb.PIPELINE else needs.evict
