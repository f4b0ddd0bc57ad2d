"""What the books of deviceshare hold, for tests of every family."""

from pyroclast.framework.session.session import Session
from pyroclast.model.devices.cards import Holder, State
from pyroclast.model.ids import TaskId
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.deviceshare.device_allocator import DeviceAllocator


def standing(books: DeviceAllocator) -> dict[int, tuple[State, dict[TaskId, Holder]]]:
    """All that the books hold."""
    return {column: (shelf.state(), dict(shelf.holders)) for column, shelf in books.shelves.items()}


def pending(session: Session) -> list[Task]:
    """Pending tasks of all jobs."""
    jobs = (session.jobs.get(job_id) for job_id in session.snapshot.jobs)
    return [task for job in jobs if job is not None for task in job.in_status(TaskStatus.PENDING)]
