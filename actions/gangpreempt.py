"""Gangpreempt: place whole gangs by evicting less important tasks of the same queue.

Each queue has one turn, its jobs are served in order. A gang gets all of its minimum in one topology domain, or
nothing happens.
"""

from dataclasses import dataclass, field

from pyroclast.actions.eviction import RUNNING_OR_BOUND, preemptors
from pyroclast.actions.gang_eviction import GangEvictionArgs, evict_for, in_turn, planner_of
from pyroclast.framework.extension.contract import Action
from pyroclast.framework.preemption.victim_rules import Vetoes
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.refusals import Refusal

__all__ = ["GangPreempt", "GangPreemptArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GangPreemptArgs(GangEvictionArgs):
    """Arguments of gangpreempt."""

    protectPriority: bool = True  # noqa: N815  # spelled as in the configuration file
    """Whether a pod with a higher priority is protected even if its job's priority is lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangPreempt(Action):
    """Preempt within a queue for whole gangs."""

    name = "gangpreempt"
    args: GangPreemptArgs = field(default_factory=GangPreemptArgs)

    def execute(self, session: Session) -> None:
        """Find a plan for each starving job, queue by queue."""
        planner = planner_of(
            session,
            self.args,
            action=self.name,
            statuses=RUNNING_OR_BOUND,
            is_reclaim=False,
            protects=self.args.protectPriority,
            spares=spares,
        )
        found = preemptors(session)
        for job in in_turn(session, found.starving, self.args.namespaceSteps):
            refusal = evict_for(session, planner, job, self.args)
            if refusal is not None:
                job.refuse_eviction(self.name, refusal)
        found.record_not_eligible(self.name)


def spares(vetoes: Vetoes, beneficiary: SessionJob, victims_job: SessionJob) -> Refusal | None:
    """Protect jobs of equal or higher priority, and jobs whose PodGroup is not preemptable."""
    if victims_job.job.preemptable is False:
        return vetoes.group_marked
    return None if victims_job.priority < beneficiary.priority else vetoes.no_less_important
