"""Reclaim: take resources back from other queues that exceed their deserved amount.

Queues take turns in order, one job per turn, so that none takes more than it lacks. A job below its minimum gets a plan
that places it, or nothing happens. Where a plugin divides the inside of queues among owners, such as elastic quotas, a
job first reclaims from other owners in its own queue.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from pyroclast.actions.arguments import PlacingArgs
from pyroclast.actions.eviction import (
    DEFAULT_DOMAINS,
    RUNNING,
    eligible_tasks,
    idle_only_tasks,
    no_eligible_tasks,
    preemptors,
    queue_refusals,
)
from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Action
from pyroclast.framework.placement.work_order import WorkOrder
from pyroclast.framework.preemption.domains import domains_of
from pyroclast.framework.preemption.namespace_turns import MOST_STEPS, NamespaceTurns
from pyroclast.framework.preemption.plans.planner import PreemptionPlanner
from pyroclast.framework.preemption.refusals import no_domain
from pyroclast.framework.preemption.victim_rules import Looks, Rule, Vetoes
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["Reclaim", "ReclaimArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimArgs(PlacingArgs):
    """Arguments of reclaim."""

    leastHarm: bool = True  # noqa: N815  # spelled as in the configuration file
    """Whether the least harmful plan over all nodes and queues is chosen; otherwise the first plan."""
    protectDeserved: bool = True  # noqa: N815
    """Whether a queue within its deserved amount loses nothing, regardless of the tier that decides."""
    namespaceSteps: int = argument("namespaceSteps", MOST_STEPS, least=0)  # noqa: N815
    """Nodes on which evictions may fail in one cycle for the jobs of one namespace, before the search continues in the
    next cycle; 0 for no limit.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim(Action):
    """Reclaim across queues."""

    name = "reclaim"
    args: ReclaimArgs = field(default_factory=ReclaimArgs)

    def execute(self, session: Session) -> None:
        """Find a plan for each starving job; queues take turns."""
        found = preemptors(session, left_to="gangreclaim", leaves=has_topology_of_parts)
        if found.starving:
            turns = NamespaceTurns(session, self.args.namespaceSteps, found.starving)
            self._serve(session, turns, turns.first())
            turns.close()
        found.record_not_eligible(self.name, refused=queue_refusals(session))

    def _serve(self, session: Session, turns: NamespaceTurns, starving: list[SessionJob]) -> None:
        planner = planner_of(session, self.args)
        inside = planner_within_queues(session, self.args)
        order = WorkOrder(session, starving)
        while (queue := order.next_queue()) is not None:
            overused = session.queues.overused(queue)
            if overused is not None and inside is None:
                for waiting in order.rest_of(queue):
                    waiting.refuse_eviction(self.name, overused)
                continue
            job = order.next_job(queue)
            if job is not None:
                if turns.may_begin(job):
                    with turns.turn(job):
                        has_plan = reclaim_within_queue(session, inside, job) or reclaim_for(
                            session, planner, job, overused
                        )
                    if has_plan:
                        order.rank_anew()
                order.return_queue(queue)


def planner_of(session: Session, args: ReclaimArgs) -> PreemptionPlanner:
    """Return the planner across queues."""

    def spares(vetoes: Vetoes, _: SessionJob, victims_job: SessionJob) -> Refusal | None:
        return None if session.queues.by_name[victims_job.queue].reclaimable else vetoes.queue_kept

    return PreemptionPlanner(
        session,
        Rule(
            vetoes=Vetoes(Reclaim.name),
            statuses=RUNNING,
            same_queue=False,
            looks_first=Looks.NAME,
            least_harm=args.leastHarm,
            spares=spares,
            alike=session.evictions.judges_alike(contract.RECLAIMABLE),
            ask=partial(session.evictions.reclaimable, protects_deserved=args.protectDeserved),
        ),
    )


def planner_within_queues(session: Session, args: ReclaimArgs) -> PreemptionPlanner | None:
    """Return the planner between owners in one queue; None if no plugin divides queues."""
    if not session.evictions.divides_queues(contract.RECLAIMABLE):
        return None
    return PreemptionPlanner(
        session,
        Rule(
            vetoes=Vetoes(Reclaim.name),
            statuses=RUNNING,
            same_queue=True,
            within_queue=True,
            looks_first=Looks.NAME,
            least_harm=args.leastHarm,
            alike=session.evictions.judges_alike(contract.RECLAIMABLE),
            ask=partial(session.evictions.reclaimable, within_queue=True),
        ),
    )


def has_topology_of_parts(job: SessionJob) -> bool:
    """Return whether sub-groups of a job have a network topology; gangreclaim serves such jobs."""
    return any(policy.network_topology is not None for policy in job.job.group.spec.sub_group_policy)


def reclaim_within_queue(session: Session, planner: PreemptionPlanner | None, job: SessionJob) -> bool:
    """Place a job's minimum by evicting tasks of other owners in its queue, or change nothing.

    Returns:
        Whether there is a plan. If not, the job gets no reason here: that of `reclaim_for` follows.
    """
    tasks = eligible_tasks(session, job)
    if planner is None or not session.evictions.may_reclaim_within_queue(contract.RECLAIMABLE, tasks):
        return False
    return place_in_a_domain(session, planner, job, tasks, lambda _: None) is None


def reclaim_for(session: Session, planner: PreemptionPlanner, job: SessionJob, overused: Refusal | None = None) -> bool:
    """Place a job's minimum by evicting tasks of other queues, or change nothing. Return whether there is a plan.

    Args:
        session: The session.
        planner: The planner across queues.
        job: The job.
        overused: Why the queue may not reclaim at all; None if it may.
    """
    if overused is not None:
        job.refuse_eviction(Reclaim.name, overused)
        return False
    queue = session.queues.by_name[job.queue]
    tasks = eligible_tasks(session, job)
    first = session.queues.preemptive(queue, [tasks[0]]) if tasks else no_eligible_tasks(session, job)
    if not tasks or (
        first is not None and all(session.queues.preemptive(queue, [task]) is not None for task in tasks[1:])
    ):
        refusal = first
    else:
        refusal = plan_for(session, planner, job, tasks)
        if refusal is None:
            return True
    if refusal is not None:
        job.refuse_eviction(Reclaim.name, refusal)
    return False


def plan_for(session: Session, planner: PreemptionPlanner, job: SessionJob, tasks: list[Task]) -> Refusal | None:
    """Place a job's minimum with victims of other queues. Return None, or why there is no plan."""
    queue = session.queues.by_name[job.queue]
    return place_in_a_domain(session, planner, job, tasks, lambda task: session.queues.preemptive(queue, [task]))


def place_in_a_domain(
    session: Session,
    planner: PreemptionPlanner,
    job: SessionJob,
    tasks: list[Task],
    refused: Callable[[Task], Refusal | None],
) -> Refusal | None:
    """Place a job's minimum in the domain with the least harm. Return None, or why there is no plan.

    A domain that needs no victim comes before one that does.

    Args:
        session: The session.
        planner: The planner.
        job: The job.
        tasks: Its eligible tasks.
        refused: Returns why a task may cause no evictions at all; None if it may.
    """
    domains, idle_only = domains_of(session, job, DEFAULT_DOMAINS), idle_only_tasks(session, job)
    for domain in domains if len(domains) > 1 else ():
        if planner.place_unharmed(job, [*idle_only, *tasks], refused=refused, domain=domain.mask):
            return None
    if not domains:
        return no_domain(Reclaim.name)
    masks = [domain.mask for domain in domains]
    return planner.place(job, tasks, idle_only=idle_only, refused=refused, domains=masks)
