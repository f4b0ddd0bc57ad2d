"""Device claims by queue: the devices that claims of placed tasks request, counted once for a queue and each ancestor.

Shared by quotas and by what a session writes into the status of queues.
"""

from collections.abc import Iterator
from typing import Final

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.model.device_claims import ClaimCount, Demand, pod_demand
from pyroclast.model.ids import QueueName, TaskId
from pyroclast.model.queues import with_ancestors
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task

__all__ = ["claimed_by_queue", "demand_of", "placed_with_claims"]

_DEMANDS: Final = ScratchKey("demands of device claims")
"""Key of the session's scratch: claims stay what they are as long as the session is open."""


def demand_of(session: Session, task: Task) -> Demand:
    """Return what the claims of a task ask for."""
    if not task.pod.spec.resource_claims:
        return {}
    known: dict[TaskId, Demand] = session.scratch.setdefault(_DEMANDS, {})
    demand = known.get(task.id)
    if demand is None:
        demand = known[task.id] = pod_demand(task.pod, session.snapshot.objects.resource_claims)
    return demand


def placed_with_claims(session: Session) -> Iterator[tuple[QueueName, Task]]:
    """Iterate over the tasks with claims that hold a place at this moment, with the queues of their jobs."""
    for task in session.snapshot.tasks_with_claims:
        job = None if task.job is None else session.snapshot.jobs.get(task.job)
        if job is None:
            continue
        looked_at = session.jobs.known().get(job.id)
        now = task if looked_at is None else looked_at.tasks[task.id]
        if now.status in ALLOCATED_STATUSES and session.snapshot.has_node_of(task):
            yield job.queue, now


def claimed_by_queue(session: Session) -> dict[QueueName, dict[str, int]]:
    """Add up what is claimed by queue, ancestors included, thousandths; without queues that claim nothing."""
    counts: dict[QueueName, ClaimCount] = {}
    for queue, task in placed_with_claims(session):
        for name in with_ancestors(session.queues.by_name, queue):
            counts.setdefault(name, ClaimCount()).add(demand_of(session, task))
    return {name: count.totals for name, count in counts.items()}
