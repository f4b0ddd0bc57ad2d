"""Gangreclaim: take room back for whole gangs from other queues that have more than they deserve.

Each queue has one turn, its jobs go in order. A gang gets all of its minimum in one topology domain, or
nothing happens.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from actions.eviction import RUNNING
from actions.gang_eviction import GangEvictionArgs, evict_for, planner_of, starving_in_turn, waiting_tasks
from framework.jobs import SessionJob
from framework.session import Session

__all__ = ["GangReclaim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GangReclaim:
    """Evict across queues for whole gangs."""

    name: ClassVar[str] = "gangreclaim"
    args: GangEvictionArgs = field(default_factory=GangEvictionArgs)

    def execute(self, session: Session) -> None:
        """Give each starving job a plan, queue by queue."""
        planner = planner_of(
            session,
            self.args,
            action=self.name,
            statuses=RUNNING,
            is_reclaim=True,
            may_go=lambda _, victims_job: may_lose(session, victims_job),
        )
        for job in starving_in_turn(session):
            queue = session.queue(job.queue)  # its use grows with each plan
            refusal = session.overused(queue) or session.preemptive(queue, waiting_tasks(session, job))
            if refusal is None:
                evict_for(session, planner, job, self.args)
            elif not session.is_passed_over(job):
                job.refuse(refusal)


def may_lose(session: Session, victims_job: SessionJob) -> bool:
    """Tell whether a job may lose tasks to other queues: where neither its PodGroup nor its queue forbids it."""
    return victims_job.job.preemptable is not False and session.queue(victims_job.queue).reclaimable
