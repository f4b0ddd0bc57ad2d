"""Shared code of gangpreempt and gangreclaim: arguments, order of jobs, tasks of a gang, and its plan."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pyroclast.actions.eviction import DEFAULT_DOMAINS, eligible_tasks, idle_only_tasks, no_eligible_tasks
from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.placement.minimums import in_front, needed_tasks
from pyroclast.framework.placement.work_order import WorkOrder
from pyroclast.framework.preemption.domains import domains_of
from pyroclast.framework.preemption.gang_plans import GangEviction, GangPlanner
from pyroclast.framework.preemption.namespace_turns import MOST_STEPS, NamespaceTurns
from pyroclast.framework.preemption.victim_rules import Looks, Rule, Vetoes
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["GangEvictionArgs", "evict_for", "in_turn", "planner_of", "waiting_tasks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GangEvictionArgs:
    """Arguments of actions that evict for whole gangs."""

    maxDomains: int = DEFAULT_DOMAINS  # noqa: N815  # spelled as in the configuration file
    """Maximum number of topology domains that are searched for victims, best first; 0 or less means 8."""
    allowWholeBundle: bool = True  # noqa: N815
    """Whether a gang may be evicted whole if no plan preserves the minimum of every gang."""
    leastHarm: bool = True  # noqa: N815
    """Whether the least harmful plan over all domains is chosen; otherwise the first plan."""
    namespaceSteps: int = argument("namespaceSteps", MOST_STEPS, least=0)  # noqa: N815
    """Nodes on which evictions may fail in one cycle for the jobs of one namespace, before the search continues in the
    next cycle; 0 for no limit.
    """

    @property
    def most_domains(self) -> int:
        """The effective number of domains."""
        return self.maxDomains if self.maxDomains > 0 else DEFAULT_DOMAINS


def in_turn(session: Session, jobs: Iterable[SessionJob], most_steps: int) -> Iterator[SessionJob]:
    """Yield jobs for which evictions are permitted: each queue has one turn, its jobs are in order.

    Work before the next job is requested counts for the share of its namespace.
    """
    turns = NamespaceTurns(session, most_steps, jobs)
    order = WorkOrder(session, turns.first())
    while (queue := order.next_queue()) is not None:
        plans = len(session.plans)
        while (job := order.next_job(queue)) is not None:
            if turns.may_begin(job):
                with turns.turn(job):
                    yield job
        if len(session.plans) > plans:
            order.rank_anew()
    turns.close()


def waiting_tasks(session: Session, job: SessionJob) -> list[Task]:
    """Return the tasks for which evictions are permitted, needed ones first, without best-effort tasks.

    A task that no empty node could hold is not needed: either other tasks make the gang ready, or none do.
    """
    tasks = [task for task in eligible_tasks(session, job) if not task.template.best_effort]
    return in_front(needed_tasks(session, job, filter(session.candidates.fits_empty_nodes, tasks)), tasks)


def planner_of(
    session: Session,
    args: GangEvictionArgs,
    *,
    action: str,
    statuses: frozenset[TaskStatus],
    is_reclaim: bool,
    protects: bool,
    spares: Callable[[Vetoes, SessionJob, SessionJob], Refusal | None],
    within_queue: bool = False,
) -> GangPlanner:
    """Return the planner for gangs by an action's rule.

    Args:
        session: The session.
        args: Arguments of the action.
        action: Its name.
        statuses: Statuses of possible victims.
        is_reclaim: Whether capacity is taken from owners with more than their share, else from less important pods.
        protects: Whether priority, or the deserved amounts of queues, are protected in every tier.
        spares: Returns why a job (third) is protected from another (second); None if its tasks are candidates.
        within_queue: For a reclaim: whether the owners divide the gang's queue; else they are queues.
    """

    def ask(
        task: Task, candidates: Sequence[Task], *, gang: Sequence[Task] = (), first_tier: bool = False
    ) -> list[Task]:
        job = session.jobs.of(task)
        assert job is not None, "a task to be placed has a job"
        context = GangEviction(job=job, task=task, is_reclaim=is_reclaim, within_queue=within_queue)
        return session.evictions.evictable(
            context, task, candidates, gang=gang, first_tier=first_tier, protects_deserved=protects
        )

    return GangPlanner(
        session,
        Rule(
            vetoes=Vetoes(action),
            statuses=statuses,
            same_queue=not is_reclaim or within_queue,
            within_queue=within_queue,
            looks_first=Looks.NAME,
            least_harm=args.leastHarm,
            protects_priority=protects and not is_reclaim,
            spares=spares,
            alike=session.evictions.judges_alike(contract.UNIFIED_EVICTABLE),
            takes_gangs=args.allowWholeBundle,
            ask=ask,
            ask_first=partial(ask, first_tier=True)
            if session.evictions.judges_in_turn(contract.UNIFIED_EVICTABLE)
            else None,
        ),
    )


def evict_for(session: Session, planner: GangPlanner, job: SessionJob, args: GangEvictionArgs) -> Refusal | None:
    """Place a job's minimum in one of its domains with evictions, or change nothing and return why."""
    tasks = waiting_tasks(session, job)
    if not tasks:
        return no_eligible_tasks(session, job)
    domains = domains_of(session, job, args.most_domains)
    idle_only = [task for task in idle_only_tasks(session, job) if not task.template.best_effort]

    has_succeeded = bool(job.ready_count + job.departed.succeeded)

    def goes_on() -> bool:  # members that succeeded can meet the minimum while nothing of the job runs
        rests = has_succeeded and not job.allocated_count + job.waiting_count
        return rests or not session.jobs.job_pipelined(job)

    return planner.place(job, tasks, domains, goes_on=goes_on, idle_only=idle_only)
