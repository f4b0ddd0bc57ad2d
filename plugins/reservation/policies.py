"""Policies: Reservations with and without an allocate policy do not share a node (R12), and a template may name a node.

A ledger follows the Reservations that this session places.
"""

from collections import Counter
from typing import Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.reservations.names import RESERVATION_NODE
from pyroclast.model.tasks import Task

__all__ = ["REASONS", "PlacedPolicies"]

REASONS: Final = (
    Reason("node(s) reservation allocate policy conflict"),
    Reason("node(s) didn't match the nodeName specified by reservation", resolvable=False),
)


class PlacedPolicies(Ledger):
    """Reservations on each node, by whether they have a policy."""

    def __init__(self, session: Session) -> None:
        self._table = session.nodes.table
        self._names = session.snapshot.reserve_tasks
        self._objects = session.snapshot.objects.reservations
        self._counts: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
        rooms = session.reserved.rooms
        for room in rooms.values():
            self._counts[room.capacity.rules.is_aligned][room.column] += 1
        for column, tasks in enumerate(self._table.tasks):
            for bound in (self._names.keys() & tasks.keys()) - rooms.keys():  # the status does not show the node yet
                self._counts[self._has_policy(tasks[bound])][column] += 1

    def cares(self, task: Task) -> bool:
        """Return whether a task stands for a Reservation."""
        return task.id in self._names

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray:
        """Refuse nodes with Reservations of the other sort, and nodes that the template does not name."""
        verdicts = np.zeros(len(self._table), dtype=np.uint8)
        for column, count in self._counts[not self._has_policy(task)].items():
            if count:
                verdicts[column] = 1
        only = task.pod.metadata.annotations.get(RESERVATION_NODE)
        if only is not None:
            others = np.array([name != only for name in self._table.names], dtype=np.bool_)
            verdicts[others] = 2
        return verdicts if columns.is_all else verdicts[columns.index]

    def _has_policy(self, task: Task) -> bool:
        reservation: wire.Reservation | None = self._objects.get(self._names[task.id])
        return reservation is not None and bool(reservation.spec.allocate_policy)

    def apply(self, change: Change) -> Refusal | None:
        """Count Reservations that are placed; never refuse."""
        self._follow(change, change.sign)
        return None

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._follow(change, -change.sign)

    def _follow(self, change: Change, sign: int) -> None:
        for task, column in zip(change.tasks, change.columns, strict=True):
            if task.id in self._names:
                self._counts[self._has_policy(task)][column] += sign
