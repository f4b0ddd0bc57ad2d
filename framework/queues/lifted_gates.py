"""Lifted gates: tasks whose scheduling gate their queue took off keep their room in it until they are placed.

Otherwise another job of the queue takes the room while nodes for them are being made, and more gates come off than the
queue has room for. Only the queue itself keeps it, not those above.
"""

from collections.abc import Callable

from pyroclast.framework.extension.contract import Change, Verb
from pyroclast.framework.session.session import Session
from pyroclast.model.ids import TaskId
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["LiftedGates"]


class LiftedGates:
    """The tasks that wait for a place after their queue let them in, of earlier cycles and of this one."""

    def __init__(self, session: Session, reserve: Callable[[Task, int], None]) -> None:
        """Reserve room for the tasks of earlier cycles.

        Args:
            session: The session.
            reserve: Reserves room for a task (+1) in its queue, or gives it back (-1).
        """
        self._session = session
        self._reserve = reserve
        self._noted = 0
        """Number of the gates lifted in this session that are counted."""
        self._waiting = _let_in(session)
        for task in self._waiting.values():
            reserve(task, 1)

    def __contains__(self, task: Task) -> bool:
        """Return whether room is reserved for a task."""
        return task.id in self._waiting

    def __bool__(self) -> bool:
        """Return whether room is reserved for any task."""
        return bool(self._waiting)

    def refresh(self) -> None:
        """Reserve room for tasks whose gate was lifted since the last time."""
        lifted = self._session.report.gates_lifted
        if len(lifted) == self._noted:
            return
        for task in lifted[self._noted :]:
            self._waiting[task.id] = task
            self._reserve(task, 1)
        self._noted = len(lifted)

    def count(self, change: Change, sign: int) -> None:
        """Give room back for tasks that are placed (+1), or reserve it again where that is undone (-1)."""
        if self._waiting and change.verb is not Verb.EVICT:
            for task in change.tasks:
                if task.id in self._waiting:
                    self._reserve(task, -sign)


def _let_in(session: Session) -> dict[TaskId, Task]:
    """Return the pending tasks without gates that had one of the queue; none where the scheduler takes no gates off."""
    if not session.snapshot.lifts_queue_gates:
        return {}
    return {
        task.id: task
        for job in session.snapshot.jobs.values()
        if session.snapshot.job_table.counts[TaskStatus.PENDING, job.column]
        for task in job.tasks.values()
        if task.status is TaskStatus.PENDING and not task.gated and task.lets_queue_decide
    }
