"""Preempt: place jobs of a queue by evicting less important tasks of the same queue.

Queue by queue, job by job in order. A job below its minimum gets a plan that places it, or nothing happens. Then, in
each such job, more important tasks may replace less important ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyroclast.actions.eviction import RUNNING_OR_BOUND, eligible_tasks, idle_only_tasks, no_eligible_tasks, preemptors
from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Action
from pyroclast.framework.placement.work_order import WorkOrder
from pyroclast.framework.preemption.namespace_turns import MOST_STEPS, NamespaceTurns
from pyroclast.framework.preemption.plans.planner import PreemptionPlanner
from pyroclast.framework.preemption.victim_rules import Looks, Rule, Vetoes
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.queues import Queue

__all__ = ["Preempt", "PreemptArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptArgs:
    """Arguments of preempt."""

    predicateErrorCacheEnable: bool = True  # noqa: N815  # spelled as in the configuration file
    """Accepted for compatibility: verdicts of nodes are always updated, so there is nothing to disable."""
    enableTopologyAwarePreemption: bool = False  # noqa: N815
    """Whether the node with the least harmful victims is chosen, instead of the node with the best score."""
    topologyAwarePreemptWorkerNum: int = 16  # noqa: N815
    """Accepted for compatibility: nodes are compared in one thread."""
    minCandidateNodesPercentage: int = 10  # noqa: N815
    """Accepted for compatibility: all nodes are compared."""
    minCandidateNodesAbsolute: int = 1  # noqa: N815
    """Accepted for compatibility, as above."""
    maxCandidateNodesAbsolute: int = 100  # noqa: N815
    """Accepted for compatibility, as above."""
    leastHarm: bool = True  # noqa: N815
    """Whether the least harmful plan over all nodes is chosen; otherwise the first plan."""
    protectPriority: bool = True  # noqa: N815
    """Whether a pod is never evicted for one of a lower priority, regardless of plugins."""
    namespaceSteps: int = argument("namespaceSteps", MOST_STEPS, least=0)  # noqa: N815
    """Nodes on which evictions may fail in one cycle for the jobs of one namespace, before the search continues in the
    next cycle; 0 for no limit.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempt(Action):
    """Preempt within a queue."""

    name = "preempt"
    args: PreemptArgs = field(default_factory=PreemptArgs)

    def execute(self, session: Session) -> None:
        """Find a plan for each starving job, queue by queue."""
        found = preemptors(session, left_to="gangpreempt", leaves=lambda job: job.has_topology)
        if found.starving:
            turns = NamespaceTurns(session, self.args.namespaceSteps, found.starving)
            self._serve(session, turns, turns.first())
            turns.close()
        found.record_not_eligible(self.name)

    def _serve(self, session: Session, turns: NamespaceTurns, starving: list[SessionJob]) -> None:
        between, inside = (planner(session, self.args, within_job=within_job) for within_job in (False, True))
        order = WorkOrder(session, starving)
        while (queue := order.next_queue()) is not None:
            while (job := order.next_job(queue)) is not None:
                if turns.may_begin(job):
                    with turns.turn(job):
                        preempt_for(session, between, job)
            for job in jobs_of(starving, queue):
                if turns.has_ended(job):
                    turns.begin_within(job)
                    rearrange(session, inside, job)
        for each in (between, inside):
            each.measure()


def planner(session: Session, args: PreemptArgs, *, within_job: bool) -> PreemptionPlanner:
    """Return the planner between jobs of a queue, or inside one job."""
    return PreemptionPlanner(
        session,
        Rule(
            vetoes=Vetoes(Preempt.name),
            statuses=RUNNING_OR_BOUND,
            same_queue=True,
            looks_first=Looks.LEAST_HARM if args.enableTopologyAwarePreemption else Looks.BEST_SCORE,
            least_harm=args.leastHarm,
            protects_priority=args.protectPriority,
            alike=session.evictions.judges_alike(contract.PREEMPTABLE),
            within_job=within_job,
            takes_gangs=not within_job,
            ask=session.evictions.preemptable,
        ),
    )


def jobs_of(jobs: list[SessionJob], queue: Queue) -> Iterator[SessionJob]:
    """Return the jobs of a queue."""
    return (job for job in jobs if job.queue == queue.name)


def preempt_for(session: Session, planner: PreemptionPlanner, job: SessionJob) -> None:
    """Place a job's minimum by evicting other jobs of its queue, or change nothing."""
    tasks = eligible_tasks(session, job)
    if tasks:
        refusal = planner.place(job, tasks, idle_only=idle_only_tasks(session, job))
    else:
        refusal = no_eligible_tasks(session, job)
    if refusal is not None:
        job.refuse_eviction(Preempt.name, refusal)


def rearrange(session: Session, planner: PreemptionPlanner, job: SessionJob) -> None:
    """Replace less important tasks of a job by more important ones, until one cannot be placed."""
    for task in eligible_tasks(session, job):
        if not planner.exchange(job, task):
            return
