"""Backfill: place best-effort tasks on any node that accepts another pod.

Queue by queue and job by job. A job's best-effort tasks are bound if its minimum runs with them; tasks that no node
accepts do not count.
"""

from dataclasses import dataclass, field

from pyroclast.actions.arguments import PlacingArgs
from pyroclast.framework.extension.contract import Action
from pyroclast.framework.placement.placing import complete, complete_deferred
from pyroclast.framework.placement.topology.required import unserved_topology
from pyroclast.framework.placement.work_order import WorkOrder
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob

__all__ = ["Backfill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill(Action):
    """Place best-effort tasks."""

    name = "backfill"
    args: PlacingArgs = field(default_factory=PlacingArgs)

    def execute(self, session: Session) -> None:
        """Place the best-effort tasks of each job."""
        order = WorkOrder(
            session, (job for job in session.jobs.with_pending_tasks() if has_best_effort_work(session, job))
        )
        while (queue := order.next_queue()) is not None:
            while (job := order.next_job(queue)) is not None:
                complete(session, job)
        complete_deferred(session)


def has_best_effort_work(session: Session, job: SessionJob) -> bool:
    """Return whether a job has best-effort tasks to place and may be tried."""
    if not job.pending_best_effort or job.is_pending or session.jobs.job_valid(job) is not None:
        return False
    refusal = unserved_topology(session, job)
    if refusal is not None:
        job.refuse(refusal)
    return refusal is None
