"""Gangpreempt: make room for whole gangs by evicting less important work of the same queue.

Each queue has one turn, its jobs go in order. A gang gets all of its minimum in one topology domain, or
nothing happens.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from actions.eviction import RUNNING_OR_BOUND
from actions.gang_eviction import GangEvictionArgs, evict_for, planner_of, starving_in_turn
from framework.jobs import SessionJob
from framework.session import Session

__all__ = ["GangPreempt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GangPreempt:
    """Evict inside a queue for whole gangs."""

    name: ClassVar[str] = "gangpreempt"
    args: GangEvictionArgs = field(default_factory=GangEvictionArgs)

    def execute(self, session: Session) -> None:
        """Give each starving job a plan, queue by queue."""
        planner = planner_of(
            session, self.args, action=self.name, statuses=RUNNING_OR_BOUND, is_reclaim=False, may_go=is_less_important
        )
        for job in starving_in_turn(session):
            evict_for(session, planner, job, self.args)


def is_less_important(beneficiary: SessionJob, victims_job: SessionJob) -> bool:
    """Tell whether a job may lose tasks to another one: not itself, nor where its PodGroup forbids it."""
    return (
        victims_job is not beneficiary
        and victims_job.job.preemptable is not False
        and victims_job.priority < beneficiary.priority
    )
