"""Gangreclaim: place whole gangs by evicting tasks of queues that exceed their deserved amount.

Each queue has one turn, its jobs are served in order. A gang gets all of its minimum in one topology domain, or
nothing happens. Where a plugin divides the inside of queues among owners, such as elastic quotas, a gang first reclaims
from other owners in its own queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyroclast.actions.eviction import RUNNING, preemptors, queue_refusals
from pyroclast.actions.gang_eviction import GangEvictionArgs, evict_for, in_turn, planner_of, waiting_tasks
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Action
from pyroclast.framework.placement.gangs.choices import choices_of_members
from pyroclast.framework.preemption.gang_plans import GangPlanner
from pyroclast.framework.preemption.victim_rules import Vetoes
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["GangReclaim", "GangReclaimArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GangReclaimArgs(GangEvictionArgs):
    """Arguments of gangreclaim."""

    protectDeserved: bool = True  # noqa: N815  # spelled as in the configuration file
    """Whether a queue within its deserved amount loses nothing, regardless of the tier that decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangReclaim(Action):
    """Reclaim across queues for whole gangs."""

    name = "gangreclaim"
    args: GangReclaimArgs = field(default_factory=GangReclaimArgs)

    def execute(self, session: Session) -> None:
        """Find a plan for each starving job, queue by queue."""
        planner = planner_of(
            session,
            self.args,
            action=self.name,
            statuses=RUNNING,
            is_reclaim=True,
            protects=self.args.protectDeserved,
            spares=lambda vetoes, _, victims_job: spares(session, vetoes, victims_job),
        )
        inside = planner_within_queues(session, self.args)
        found = preemptors(session)
        for job in in_turn(session, found.starving, self.args.namespaceSteps):
            if reclaim_within_queue(session, inside, job, self.args):
                continue
            queue = session.queues.by_name[job.queue]  # its usage grows with each plan
            tasks = waiting_tasks(session, job)
            kept = session.queues.overused(queue) or (kept_back(session, job, tasks) if tasks else None)
            refusal = kept or evict_for(session, planner, job, self.args)
            if refusal is not None:
                job.refuse_eviction(self.name, refusal)
        found.record_not_eligible(self.name, refused=queue_refusals(session))


def planner_within_queues(session: Session, args: GangReclaimArgs) -> GangPlanner | None:
    """Return the planner between owners in one queue; None if no plugin divides queues."""
    if not session.evictions.divides_queues(contract.UNIFIED_EVICTABLE):
        return None
    return planner_of(
        session,
        args,
        action=GangReclaim.name,
        statuses=RUNNING,
        is_reclaim=True,
        protects=False,
        spares=lambda vetoes, _, victims_job: vetoes.group_marked if victims_job.job.preemptable is False else None,
        within_queue=True,
    )


def reclaim_within_queue(
    session: Session, planner: GangPlanner | None, job: SessionJob, args: GangEvictionArgs
) -> bool:
    """Place a gang by evicting tasks of other owners in its queue, or change nothing. Return whether it has places."""
    tasks = waiting_tasks(session, job)
    if planner is None or not session.evictions.may_reclaim_within_queue(contract.UNIFIED_EVICTABLE, tasks):
        return False
    return bool(tasks) and evict_for(session, planner, job, args) is None


def kept_back(session: Session, job: SessionJob, tasks: Sequence[Task]) -> Refusal | None:
    """Refuse if a job's queue may reclaim neither for all of its tasks nor for those that it needs."""
    queue = session.queues.by_name[job.queue]
    refusal = session.queues.preemptive(queue, tasks)
    if refusal is None:
        return None
    needed = choices_of_members(session, job, [task for task in tasks if session.candidates.fits_empty_nodes(task)])
    return None if any(session.queues.preemptive(queue, each) is None for each in needed) else refusal


def spares(session: Session, vetoes: Vetoes, victims_job: SessionJob) -> Refusal | None:
    """Protect jobs whose PodGroup or queue forbids reclaim by other queues."""
    if victims_job.job.preemptable is False:
        return vetoes.group_marked
    return None if session.queues.by_name[victims_job.queue].reclaimable else vetoes.queue_kept
