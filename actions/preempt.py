"""Preempt: make room for jobs of a queue by evicting less important work of the same queue.

Queue by queue, job by job in order. A job below its minimum gets a plan that places it, or nothing happens. Then, in
each such job, more important tasks may take the places of less important ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from actions.eviction import RUNNING_OR_BOUND, eligible_tasks, is_starving
from framework import points
from framework.evicting.plans import Planner
from framework.evicting.rules import Looks, Rule
from framework.jobs import SessionJob
from framework.ordering import WorkOrder
from framework.session import Session
from model.queues import Queue

__all__ = ["Preempt", "PreemptArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptArgs:
    """Arguments of preempt."""

    predicateErrorCacheEnable: bool = True  # noqa: N815  # spelled as in the configuration file
    """Accepted for compatibility: verdicts of nodes are always kept true, so there is nothing to switch off."""
    enableTopologyAwarePreemption: bool = False  # noqa: N815
    """Whether the node is chosen whose victims matter least, instead of the node with the best score."""
    topologyAwarePreemptWorkerNum: int = 16  # noqa: N815
    """Accepted for compatibility: nodes are compared in one thread."""
    minCandidateNodesPercentage: int = 10  # noqa: N815
    """Accepted for compatibility: all nodes are compared, not a share of them."""
    minCandidateNodesAbsolute: int = 1  # noqa: N815
    """Accepted for compatibility, as above."""
    maxCandidateNodesAbsolute: int = 100  # noqa: N815
    """Accepted for compatibility, as above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempt:
    """Evict inside a queue."""

    name: ClassVar[str] = "preempt"
    args: PreemptArgs = field(default_factory=PreemptArgs)

    def execute(self, session: Session) -> None:
        """Give each starving job a plan, queue by queue."""
        starving = [job for job in session.admitted_jobs_with_pending_tasks() if is_concerned(session, job)]
        if not starving:
            return
        least_harm = self.args.enableTopologyAwarePreemption
        between, inside = (
            planner(session, within_job=within_job, least_harm=least_harm) for within_job in (False, True)
        )
        order = WorkOrder(session, starving)
        while (queue := order.next_queue()) is not None:
            while (job := order.next_job(queue)) is not None:
                preempt_for(session, between, job)
            for job in jobs_of(starving, queue):
                rearrange(session, inside, job)
        for each in (between, inside):
            each.measure()


def planner(session: Session, *, within_job: bool, least_harm: bool) -> Planner:
    """Return what finds plans between jobs of a queue, or inside one job."""

    def may_go(beneficiary: SessionJob, victims_job: SessionJob) -> bool:
        return (beneficiary is victims_job) is within_job

    return Planner(
        session,
        Rule(
            action=Preempt.name,
            statuses=RUNNING_OR_BOUND,
            same_queue=True,
            looks_first=Looks.LEAST_HARM if least_harm else Looks.BEST_SCORE,
            may_go=may_go,
            alike=session.judges_alike(points.PREEMPTABLE),
            within_job=within_job,
            ask=session.preemptable,
        ),
    )


def is_concerned(session: Session, job: SessionJob) -> bool:
    """Tell whether evictions may be made for a job; those with a network topology are left to the gang actions."""
    return not job.has_topology and is_starving(session, job)


def jobs_of(jobs: list[SessionJob], queue: Queue) -> Iterator[SessionJob]:
    """Return the jobs of a queue."""
    return (job for job in jobs if job.queue == queue.name)


def preempt_for(session: Session, planner: Planner, job: SessionJob) -> None:
    """Place a job's minimum at the cost of other jobs of its queue, or change nothing."""
    tasks = eligible_tasks(session, job)
    if not tasks:
        return
    placed = planner.place(
        job, tasks, goes_on=lambda: session.job_starving(job), is_enough=lambda: session.job_pipelined(job)
    )
    if not placed and not session.is_passed_over(job):
        job.refuse(planner.refusal(job))


def rearrange(session: Session, planner: Planner, job: SessionJob) -> None:
    """Place tasks of a job in the places of its less important ones, one by one, until one finds no place."""
    for task in eligible_tasks(session, job):
        if not planner.place(job, [task], goes_on=lambda: True, is_enough=lambda: True):
            return
