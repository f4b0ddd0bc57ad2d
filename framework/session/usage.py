"""Usage: what pods on nodes use, counted at the first question and then updated by the changes of the session."""

from abc import abstractmethod

from pyroclast.framework.extension.contract import Change, Ledger
from pyroclast.framework.session.pending_changes import PendingChanges
from pyroclast.framework.session.session import Session
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["UsageLedger"]


class UsageLedger(Ledger):
    """A ledger that counts the pods of all nodes when it is first needed, and never refuses."""

    def __init__(self, session: Session) -> None:
        self._table = session.nodes.table
        self._pending = PendingChanges()

    @abstractmethod
    def shift(self, task: Task, column: int, sign: int) -> None:
        """Count a task on the node of a column (+1), or no longer (-1)."""

    def count_objects(self) -> None:
        """Count what objects other than pods use."""

    def count(self) -> None:
        """Count the pods of all nodes, unless this was done."""
        if self._pending.is_built:
            return
        for column, tasks in enumerate(self._table.tasks):
            for task in tasks.values():
                self.shift(task, column, 1)
        self.count_objects()
        for change, sign in self._pending.build():
            self._follow(change, sign)

    def apply(self, change: Change) -> Refusal | None:
        """Count placed and evicted tasks."""
        if not self._pending.record(change, change.sign):
            self._follow(change, change.sign)
        return None

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        if not self._pending.record(change, -change.sign):
            self._follow(change, -change.sign)

    def _follow(self, change: Change, sign: int) -> None:
        for task, column in zip(change.tasks, change.columns, strict=True):
            self.shift(task, column, sign)
