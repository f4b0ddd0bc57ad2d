"""Counting: virtual cards of queues, for their status.

For a task with cards, the memory and cores of each of its cards count, instead of the requests of its containers for
these resources. Example: a pod with two cards of 3000 memory each counts 6000.
"""

from pyroclast.framework.session.session import Session
from pyroclast.model.devices.settings import VgpuSettings
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import with_ancestors
from pyroclast.model.resources import MILLI
from pyroclast.model.tasks import ALLOCATED_STATUSES
from pyroclast.plugins.deviceshare.device_allocator import DeviceAllocator

__all__ = ["differences_by_queue"]


def differences_by_queue(
    session: Session, device_allocator: DeviceAllocator, settings: VgpuSettings
) -> dict[QueueName, dict[str, int]]:
    """Return how much more queues use than their tasks request, ancestors included, in thousandths by name."""
    own: dict[QueueName, dict[str, int]] = {}
    names = (settings.resource_memory_name, settings.resource_core_name)
    for column, shelf in device_allocator.shelves.items():
        tasks = session.nodes.tasks_on(column) if shelf.holders else {}
        for task_id, holder in shelf.holders.items():
            task = tasks[task_id]
            job = None if task.job is None else session.snapshot.jobs.get(task.job)
            if job is not None and task.status in ALLOCATED_STATUSES:
                held = (sum(use.asked for use in holder.uses), sum(use.cores for use in holder.uses))
                amounts = own.setdefault(job.queue, {})
                for name, amount in zip(names, held, strict=True):
                    amounts[name] = amounts.get(name, 0) + amount * MILLI - task.template.request.get(name, 0)
    found: dict[QueueName, dict[str, int]] = {}
    for queue, amounts in own.items():
        for ancestor in with_ancestors(session.queues.by_name, queue):
            totals = found.setdefault(ancestor, {})
            for name, more in amounts.items():
                if name:
                    totals[name] = totals.get(name, 0) + more
    return found
