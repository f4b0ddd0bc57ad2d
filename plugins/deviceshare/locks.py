"""Locks: a node takes one pod with cards at a time, until the device plugin has served it.

The lock is an annotation of the node, set as a preparation of the binding; the device plugin takes it off, and after
five minutes it counts no more. A node that is locked, or that a pod with cards is on its way to, takes none. Who waits
for room that is released locks, too: else gangs would have others evicted that never can be bound together. N nodes.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.devices.locks import LOCK_NODE, is_held
from pyroclast.model.plan import Preparation
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.deviceshare.device_allocator import DeviceAllocator

__all__ = ["REASONS", "Locks"]

REASONS: Final = (
    Reason("node has been locked within 5 minutes", resolvable=False),
    Reason("the lock of the node is no time", resolvable=False),
)
_LOCKED, _NO_TIME = 1, 2


class Locks(Ledger):
    """Which nodes are locked, a ledger: who is placed on a node, now or later, locks it for the rest of the session."""

    def __init__(self, session: Session, books: DeviceAllocator) -> None:
        self._session, self._books = session, books
        self._placed: Counter[int] = Counter()
        """Tasks of this session by column; no zero counts."""
        self._standing: ReasonArray | None = None

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes that are locked, shape (columns,)."""
        if not self._is_concerned(task):
            return None
        verdicts: ReasonArray = self._as_found()[columns.index]
        for place, column in enumerate(columns.index.tolist() if self._placed else ()):
            if self._placed[column] and not verdicts[place]:
                verdicts[place] = _LOCKED
        return verdicts

    def preparations(self, task: Task, column: int) -> Sequence[Preparation]:
        """Lock the node of a task that was given cards there."""
        if not (self._is_concerned(task) and self._books.gives_cards(task, column)):
            return ()
        details = {"annotation": self._books.family.lock}
        return (
            Preparation(kind=LOCK_NODE, namespace="", name=self._session.nodes.table.names[column], details=details),
        )

    def apply(self, change: Change) -> Refusal | None:
        """Lock the nodes of tasks that are placed, or refuse where one is locked."""
        if change.verb is Verb.EVICT or not self._is_concerned(change.tasks[0]):
            return None
        shelves = self._books.shelves
        standing, coming = self._as_found(), Counter(column for column in change.columns if column in shelves)
        for column, count in coming.items():
            if standing[column] or count + self._placed[column] > 1:
                name = self._session.nodes.table.names[column]
                reason = REASONS[max(int(standing[column]), _LOCKED) - 1]
                return Refusal(plugin=self._books.family.name, reason="NodeLocked", message=f"{name}: {reason.text}")
        self._placed += coming
        return None

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        if change.verb is not Verb.EVICT and self._is_concerned(change.tasks[0]):
            shelves = self._books.shelves
            self._placed -= Counter(column for column in change.columns if column in shelves)

    def _is_concerned(self, task: Task) -> bool:
        demand = self._books.demand_of(task)
        return demand is not None and self._books.family.locks(demand)

    def _as_found(self) -> ReasonArray:
        """Return the verdicts as the session found the nodes, shape (N,)."""
        if self._standing is None:
            self._standing = np.zeros(len(self._session.nodes), dtype=np.uint8)
            for column, shelf in self._books.shelves.items():
                on_node = self._session.nodes.table.tasks[column]
                is_coming = any(on_node[task].status is TaskStatus.BINDING for task in shelf.holders if task in on_node)
                self._standing[column] = _LOCKED if is_coming else self._told_by(column)
        return self._standing

    def _told_by(self, column: int) -> int:
        text = self._session.nodes.facts.nodes[column].annotations.get(self._books.family.lock)
        if text is None:
            return 0
        try:
            return _LOCKED if is_held(text, self._session.now) else 0
        except ValueError:
            return _NO_TIME
