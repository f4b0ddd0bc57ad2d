"""Hold times: how long nodes are held for a job, after evictions and for a waiting gang.

Nodes that evictions free for a job are held until `SECONDS_AFTER_TERMINATION` after their last terminating pod should
be gone. Nodes that members of a gang found are held for the waiting time of the gang, `GangGroup.patience`.
"""

from collections.abc import Iterable
from typing import Final

from pyroclast.framework.session.held import HeldCapacity
from pyroclast.framework.session.session import Session
from pyroclast.model.gangs.groups import GangGroup
from pyroclast.model.ids import NodeName
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.model.wire import unix_seconds

__all__ = ["SECONDS_AFTER_TERMINATION", "HoldTimes", "end_for_gang"]

SECONDS_AFTER_TERMINATION: Final = 300.0
"""Time that nodes are held for a job after the last terminating pod should be gone."""


def end_for_gang(now: float, group: GangGroup, role: str) -> float:
    """Return when the nodes that members of a gang find now are given up, seconds since 1970."""
    return now + group.patience(role)


class HoldTimes:
    """Times at which held nodes of one session become free or are given up."""

    def __init__(self, session: Session) -> None:
        self._table = session.nodes.table
        self._last_gone: dict[NodeName, float] = {}
        """Time at which the last terminating pod of a node should be gone, seconds since 1970; negative if none."""

    def last_gone(self, node: NodeName) -> float | None:
        """Return when the last terminating pod of a node should be gone; None if there is none."""
        known = self._last_gone.get(node)
        if known is None:
            column = self._table.column.get(node)
            tasks = () if column is None else self._table.tasks[column].values()
            leaving = [_gone_at(task) for task in tasks if task.status is TaskStatus.RELEASING]
            known = self._last_gone[node] = max(leaving, default=-1.0)
        return None if known < 0 else known

    def end_after_evictions(self, places: Iterable[tuple[NodeName, HeldCapacity]]) -> float | None:
        """Return when nodes that evictions freed for a job are given up, seconds since 1970; None if there are none."""
        free = [max(held.begins, self.last_gone(node) or 0.0) for node, held in places]
        return max(free) + SECONDS_AFTER_TERMINATION if free else None


def _gone_at(task: Task) -> float:
    try:
        return unix_seconds(task.pod.metadata.deletion_timestamp)
    except ValueError:
        return 0.0  # a malformed time is reported with its object
