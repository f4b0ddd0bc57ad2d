"""Locks: a node accepts one pod with cards at a time, until the device plugin has served it.

The lock is an annotation of the node, set as a preparation of the binding. The device plugin removes it, and it expires
after five minutes. A node that is locked, or that a pod with cards is being bound to, accepts no further one. Pipelined
pods lock nodes too; otherwise victims would be evicted for gangs that can never be bound together. Reservations lock
nothing, because no device plugin serves them. N nodes.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.devices.locks import LOCK_NODE, NAMES_POD, NodeLock, is_held, locked_by
from pyroclast.model.ids import TaskId
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
        self.family = allocator.family.name
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
        lock = self._lock(column) if self._is_concerned(task) else None
        if lock is None or not self._allocator.gives_cards(task, column):
            return ()
        details = {"annotation": lock.annotation, **({NAMES_POD: "true"} if lock.names_pod else {})}
        return (
            Preparation(kind=LOCK_NODE, namespace="", name=self._session.nodes.table.names[column], details=details),
        )

    def apply(self, change: Change) -> Refusal | None:
        """Lock the nodes of placed tasks, or refuse if a node is locked."""
        if change.verb is Verb.EVICT or not self._is_concerned(change.tasks[0]):
            return None
        initial, coming = self._as_found(), Counter(filter(self._lock, change.columns))
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
            self._placed -= Counter(filter(self._lock, change.columns))

    def _is_concerned(self, task: Task) -> bool:
        if task.id in self._session.snapshot.reserve_tasks:
            return False
        demand = self._allocator.demand_of(task)
        return demand is not None and self._allocator.family.locks(demand)

    def _lock(self, column: int) -> NodeLock | None:
        """Return the lock of a node; None if it has no cards, or cards that need none."""
        allocator = self._allocator
        return allocator.family.lock(allocator.cards[column]) if column in allocator.shelves else None

    def _as_found(self) -> ReasonArray:
        """Return the verdicts at the session's start, shape (N,)."""
        if self._initial is None:
            self._initial = np.zeros(len(self._session.nodes), dtype=np.uint8)
            for column, shelf in self._allocator.shelves.items():
                lock = self._lock(column)
                if lock is not None:
                    is_coming = any(self._is_coming(task, column) for task in shelf.holders)
                    self._initial[column] = _LOCKED if is_coming else self._annotated_lock(column, lock)
        return self._initial

    def _is_coming(self, task: TaskId, column: int) -> bool:
        """Return whether a task that locks its node is being bound."""
        there = self._session.nodes.table.tasks[column].get(task)
        return there is not None and there.status is TaskStatus.BINDING and self._is_concerned(there)

    def _annotated_lock(self, column: int, lock: NodeLock) -> int:
        text = self._session.nodes.facts.nodes[column].annotations.get(lock.annotation)
        if text is None:
            return 0
        try:
            is_locked = is_held(text, self._session.now)
        except ValueError:
            return _NO_TIME
        # a pod that is not on the node may be gone: the binder reads it, and the bind fails if it exists
        pod = locked_by(text)
        return _LOCKED if is_locked and (pod is None or self._is_on(column, pod)) else 0

    def _is_on(self, column: int, pod: tuple[str, str]) -> bool:
        return any((task.namespace, task.name) == pod for task in self._session.nodes.table.tasks[column].values())
