"""Enqueue: let pending jobs pass the gate of their queue.

Queues take turns; in a queue jobs are asked in their order. A job without minimum resources passes; any other passes
when the plugins vote for it. A job that is refused waits for the next cycle and holds up nobody.
"""

from typing import ClassVar

from framework.ordering import WorkOrder
from framework.session import Session

__all__ = ["Enqueue"]


class Enqueue:
    """Admit pending jobs."""

    name: ClassVar[str] = "enqueue"

    def execute(self, session: Session) -> None:
        """Ask for each pending job whether it may be worked on."""
        order = WorkOrder(session, session.jobs_at_the_gate())
        while (queue := order.next_queue()) is not None:
            job = order.next_job(queue)
            if job is None:
                continue
            refusals = [] if job.job.min_resources is None else session.job_enqueueable(job)
            if refusals:
                for refusal in refusals:
                    if job.refuse(refusal):
                        session.group_event(job, "Normal", "Unschedulable", refusal.message)
            else:
                session.job_enqueued(job)
            order.return_queue(queue)
