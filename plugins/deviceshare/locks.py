"""Locks: a node accepts one pod with cards at a time, until the device plugin has served it.

The lock is an annotation of the node, set as a preparation of the binding. The device plugin removes it, and it expires
after five minutes. A node that is locked, or that a pod with cards is being bound to, accepts no further one. Pipelined
pods lock nodes too; otherwise victims would be evicted for gangs that can never be bound together. N nodes.
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
    Reason("the lock of the node is not a time", resolvable=False),
)
_LOCKED, _NO_TIME = 1, 2


class Locks(Ledger):
    """Locked nodes of a session, as a ledger.

    A task placed or pipelined on a node locks it for the rest of the session.
    """

    def __init__(self, session: Session, allocator: DeviceAllocator) -> None:
        self._session, self._allocator = session, allocator
        self._placed: Counter[int] = Counter()
        """Tasks of this session by column, without zero counts."""
        self._initial: ReasonArray | None = None

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse locked nodes, shape (columns,)."""
        if not self._is_concerned(task):
            return None
        verdicts: ReasonArray = self._as_found()[columns.index]
        for place, column in enumerate(columns.index.tolist() if self._placed else ()):
            if self._placed[column] and not verdicts[place]:
                verdicts[place] = _LOCKED
        return verdicts

    def preparations(self, task: Task, column: int) -> Sequence[Preparation]:
        """Return the preparation that locks the node of a task with cards."""
        if not (self._is_concerned(task) and self._allocator.gives_cards(task, column)):
            return ()
        details = {"annotation": self._allocator.family.lock}
        return (
            Preparation(kind=LOCK_NODE, namespace="", name=self._session.nodes.table.names[column], details=details),
        )

    def apply(self, change: Change) -> Refusal | None:
        """Lock the nodes of placed tasks, or refuse if a node is locked."""
        if change.verb is Verb.EVICT or not self._is_concerned(change.tasks[0]):
            return None
        shelves = self._allocator.shelves
        initial, coming = self._as_found(), Counter(column for column in change.columns if column in shelves)
        for column, count in coming.items():
            if initial[column] or count + self._placed[column] > 1:
                name = self._session.nodes.table.names[column]
                reason = REASONS[max(int(initial[column]), _LOCKED) - 1]
                return Refusal(
                    plugin=self._allocator.family.name, reason="NodeLocked", message=f"{name}: {reason.text}"
                )
        self._placed += coming
        return None

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        if change.verb is not Verb.EVICT and self._is_concerned(change.tasks[0]):
            shelves = self._allocator.shelves
            self._placed -= Counter(column for column in change.columns if column in shelves)

    def _is_concerned(self, task: Task) -> bool:
        demand = self._allocator.demand_of(task)
        return demand is not None and self._allocator.family.locks(demand)

    def _as_found(self) -> ReasonArray:
        """Return the verdicts at the session's start, shape (N,)."""
        if self._initial is None:
            self._initial = np.zeros(len(self._session.nodes), dtype=np.uint8)
            for column, shelf in self._allocator.shelves.items():
                on_node = self._session.nodes.table.tasks[column]
                is_coming = any(on_node[task].status is TaskStatus.BINDING for task in shelf.holders if task in on_node)
                self._initial[column] = _LOCKED if is_coming else self._annotated_lock(column)
        return self._initial

    def _annotated_lock(self, column: int) -> int:
        text = self._session.nodes.facts.nodes[column].annotations.get(self._allocator.family.lock)
        if text is None:
            return 0
        try:
            return _LOCKED if is_held(text, self._session.now) else 0
        except ValueError:
            return _NO_TIME
