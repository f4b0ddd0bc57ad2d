"""Reclaim: take room back from other queues that have more than they deserve.

Queues take turns by their order, one job a turn, so that none takes more than it lacks. A job below its minimum gets a
plan that places it, or nothing happens.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from actions.arguments import PlacingArgs
from actions.eviction import DEFAULT_DOMAINS, RUNNING, eligible_tasks, is_starving
from framework import points
from framework.evicting.plans import Planner
from framework.evicting.rules import Looks, Rule
from framework.evicting.where import domains_of
from framework.jobs import SessionJob
from framework.ordering import WorkOrder
from framework.session import Session
from model.tasks import Task

__all__ = ["Reclaim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim:
    """Evict across queues."""

    name: ClassVar[str] = "reclaim"
    args: PlacingArgs = field(default_factory=PlacingArgs)

    def execute(self, session: Session) -> None:
        """Give each starving job a plan, queues taking turns."""
        starving = [job for job in session.admitted_jobs_with_pending_tasks() if is_concerned(session, job)]
        if not starving:
            return
        planner = planner_of(session)
        order = WorkOrder(session, starving)
        while (queue := order.next_queue()) is not None:
            overused = session.overused(queue)
            if overused is not None:
                for waiting in order.rest_of(queue):
                    if not session.is_passed_over(waiting):
                        waiting.refuse(overused)
                continue
            job = order.next_job(queue)
            if job is not None:
                if reclaim_for(session, planner, job):
                    order.rank_anew()
                order.return_queue(queue)


def planner_of(session: Session) -> Planner:
    """Return what finds plans across queues."""

    def may_go(_: SessionJob, victims_job: SessionJob) -> bool:
        return session.queue(victims_job.queue).reclaimable

    return Planner(
        session,
        Rule(
            action=Reclaim.name,
            statuses=RUNNING,
            same_queue=False,
            looks_first=Looks.NAME,
            may_go=may_go,
            alike=session.judges_alike(points.RECLAIMABLE),
            ask=session.reclaimable,
        ),
    )


def is_concerned(session: Session, job: SessionJob) -> bool:
    """Tell whether evictions may be made for a job; sub-groups with a network topology are left to gangreclaim."""
    parts = job.job.group.spec.sub_group_policy
    return all(policy.network_topology is None for policy in parts) and is_starving(session, job)


def reclaim_for(session: Session, planner: Planner, job: SessionJob) -> bool:
    """Place a job's minimum at the cost of other queues, or change nothing; tells whether there is a plan."""
    queue = session.queue(job.queue)
    tasks = eligible_tasks(session, job)
    if not tasks:
        return False

    def permits(task: Task) -> bool:
        return session.preemptive(queue, [task]) is None

    refusal = None if any(map(permits, tasks)) else session.preemptive(queue, tasks[:1])
    placed = refusal is None and any(
        planner.place(
            job,
            tasks,
            permits=permits,
            goes_on=lambda: session.job_starving(job),
            is_enough=lambda: session.job_pipelined(job),
            domain=domain.mask,
        )
        for domain in domains_of(session, job, DEFAULT_DOMAINS)
    )
    if not placed and not session.is_passed_over(job):
        job.refuse(refusal or planner.refusal(job))
    return placed
