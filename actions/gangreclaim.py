"""Gangreclaim: place whole gangs by evicting tasks of queues that exceed their deserved amount.

Each queue has one turn, its jobs go in order. A gang gets all of its minimum in one topology domain, or
nothing happens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyroclast.actions.eviction import RUNNING, preemptors, queue_refusals
from pyroclast.actions.gang_eviction import GangEvictionArgs, evict_for, in_turn, planner_of, waiting_tasks
from pyroclast.framework.extension.contract import Action
from pyroclast.framework.placement.gangs.choices import choices_of_members
from pyroclast.framework.preemption.rules import Vetoes
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
        found = preemptors(session)
        for job in in_turn(session, found.starving, self.args.namespaceSteps):
            queue = session.queues.by_name[job.queue]  # its usage grows with each plan
            tasks = waiting_tasks(session, job)
            kept = session.queues.overused(queue) or (kept_back(session, job, tasks) if tasks else None)
            refusal = kept or evict_for(session, planner, job, self.args)
            if refusal is not None:
                job.refuse_eviction(self.name, refusal)
        found.record_not_eligible(self.name, refused=queue_refusals(session))


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
