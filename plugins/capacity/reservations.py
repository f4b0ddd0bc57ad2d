"""Reservations: tasks whose scheduling gate was taken off because their queue has room keep that room until placed.

Otherwise another job of the queue takes the room while nodes for them are being made. Only the queue itself keeps it,
not those above.
"""

from framework.session import Session
from model.ids import TaskId
from model.tasks import Task, TaskStatus

__all__ = ["reserving_tasks"]


def reserving_tasks(session: Session) -> dict[TaskId, Task]:
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
