"""Limit plans: a place for one task that its queue's limit keeps back, by evictions on any nodes."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from fractions import Fraction

import numpy as np

from pyroclast.framework.preemption.harm import Unit
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.node_plans import NodeChoice, NodePlans, NodeTrial
from pyroclast.framework.preemption.plans.searches import Searches
from pyroclast.framework.preemption.plans.trimming import Trimmer
from pyroclast.framework.preemption.plans.victims import VictimSelector
from pyroclast.framework.preemption.victim_gangs import can_spare, whole_gang
from pyroclast.framework.preemption.victim_order import in_order
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.model.ids import JobId, QueueName
from pyroclast.model.queues import ROOT_QUEUE, with_ancestors
from pyroclast.model.tasks import Task

__all__ = ["LimitPlans", "Order"]


class Order(Enum):
    """Order in which victims are evicted that free a queue's limit."""

    IN_TURN = "in turn"
    """Tasks that would be placed last are evicted first."""
    LARGEST_FIRST = "largest first"
    """Few victims free much."""
    SMALLEST_FIRST = "smallest first"
    """A queue that may lose no more once it is down to what it deserves loses most in this order."""


class LimitPlans:
    """Frees limits of queues by one rule, in one session."""

    def __init__(
        self,
        session: Session,
        rule: Rule,
        *,
        searches: Searches,
        victims: VictimSelector,
        trimmer: Trimmer,
        on_node: NodePlans,
    ) -> None:
        self._session = session
        self._rule = rule
        self._searches, self._victims, self._trimmer, self._on_node = searches, victims, trimmer, on_node

    def evict_elsewhere(self, attempt: PlanBuilder, task: Task) -> bool:
        """Place a task that its queue's limit keeps back, by evicting on any nodes until its queue takes it.

        On its own node as much is evicted as it takes for its capacity.
        """
        session, rule = self._session, self._rule
        queue = session.queues.by_name[attempt.job.queue]
        if rule.within_job or session.queues.allocatable(queue, task) is None:
            return False
        if not rule.same_queue and not self._ancestors(queue.name):
            return False
        choice: NodeChoice | None = None

        def makes_place(column: int) -> bool:
            nonlocal choice
            with session.statement() as statement:
                if not self._free_node(attempt.on_trial(statement), task, column):
                    return False
            trial = self._least_elsewhere(attempt, task, column)
            choice = None if trial is None else NodeChoice((), column, trial)
            return True  # on other nodes the same victims would free no more of the limit

        any(self._searches.try_each(attempt, self._columns_with_capacity(attempt, task), makes_place))
        return choice is not None and self._on_node.evict_there(attempt, task, choice)

    def _least_elsewhere(self, attempt: PlanBuilder, task: Task, column: int) -> NodeTrial | None:
        """Return the least harmful evictions that free a node and the queue's limit on any nodes.

        The limit is freed first only where the other way fails: a queue that may lose no more once it is down to what
        it deserves can lose its small pods before a large one, and not after it.
        """

        def node(trial: PlanBuilder) -> bool:
            return self._free_node(trial, task, column)

        def limit(order: Order) -> Callable[[PlanBuilder], bool]:
            return lambda trial: self._free_limit(trial, task, order)

        node_first = [(node, limit(order)) for order in (Order.IN_TURN, Order.LARGEST_FIRST)]
        limit_first = [(limit(order), node) for order in Order]
        for ways in (node_first, limit_first):
            found = [trial for each in ways if (trial := self._try_elsewhere(attempt, task, column, each)) is not None]
            if found:
                return min(found, key=lambda trial: trial.harm)
        return None

    def _try_elsewhere(
        self, attempt: PlanBuilder, task: Task, column: int, steps: Sequence[Callable[[PlanBuilder], bool]]
    ) -> NodeTrial | None:
        """Evict on trial by some steps, and give back what is not needed."""
        with self._session.statement() as statement:
            trial = attempt.on_trial(statement)
            if not (all(step(trial) for step in steps) and self._trimmer.fits(trial.job, task, column)):
                return None
            if not self._trimmer.settle(trial, task, column):
                return None
            if not self._trimmer.spare_unneeded(trial):
                return None
            return NodeTrial(self._victims.harm(trial), tuple(trial.units), is_kept=False)

    def _columns_with_capacity(self, attempt: PlanBuilder, task: Task) -> Iterator[int]:
        """Yield the node that has capacity for a task; where there is none those on which evictions might make it."""
        choice = self._session.candidates.of(task).choose(task, attempt.domain)
        if choice is not None:
            yield choice.column
            return
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *self._victims.columns(attempt, task)])
        if columns.size:
            yield from columns[np.lexsort((*reversed(self._on_node.bounds(attempt, task, columns)),))].tolist()

    def _free_node(self, attempt: PlanBuilder, task: Task, column: int) -> bool:
        """Evict on a node until it takes a task, whatever the queue's limit; return whether it does."""
        session = self._session
        if session.candidates.of(task).takes(task, column):
            return True
        in_turn = in_order(
            session, attempt.job, self._victims.proposed(attempt, task, session.nodes.tasks_on(column).values())
        )
        permitted = self._victims.permitted(attempt, task, self._on_node.most_helpful_first(task, column, in_turn))
        evicted = self._victims.evict_in_turn(attempt, task, permitted, self._rule.ask)
        return any(session.candidates.of(task).takes(task, column) for _ in evicted)

    def _free_limit(self, attempt: PlanBuilder, task: Task, order: Order) -> bool:
        """Evict on any nodes until a task's queue takes it; return whether it does."""
        session = self._session
        queue = session.queues.by_name[attempt.job.queue]
        if session.queues.allocatable(queue, task) is None:
            return True
        for unit in self.evict_under_limit(attempt, task, order):
            if not self._searches.count_on_trial(attempt, unit):
                self._searches.gave_up.add(attempt.job.id)
                return False
            if session.queues.allocatable(queue, task) is None:
                return True
        return False

    def evict_under_limit(self, attempt: PlanBuilder, task: Task, order: Order) -> Iterator[Unit]:
        """Evict on any nodes from queues that use a limit of a task's queue, those of the nearest relatives first."""
        rule, own = self._rule, attempt.job.queue
        considered = [job for job in self._victims.order.jobs() if rule.considers_job(attempt.job, job)]
        ancestors = self._ancestors(own)
        groups = [considered]
        if not rule.same_queue:
            lines = {name: self._ancestors(name) for name in {job.queue for job in considered}}
            nearest = {name: next((each for each in ancestors if each in line), None) for name, line in lines.items()}
            groups = [[job for job in considered if nearest[job.queue] == each] for each in ancestors]
        for jobs in groups:
            in_turn = self._victims.order.iterate(attempt.job, jobs, None)
            candidates = [victim for victim in in_turn if self._victims.may_be_asked_about(attempt, task, victim)]
            candidates = self._sorted_by_size(attempt, task, candidates, order)
            yield from self._victims.evict_in_turn(
                attempt, task, self._victims.permitted(attempt, task, candidates), rule.ask
            )

    def _sorted_by_size(self, attempt: PlanBuilder, task: Task, victims: list[Task], order: Order) -> list[Task]:
        """Sort victims by how much each, or its gang, has of what a task requests, in proportion; ties stay in turn."""
        if order is Order.IN_TURN:
            return victims
        nodes = self._session.nodes
        rows = [(row, amount) for row, amount in enumerate(nodes.needs(task.template).amounts) if amount > 0]

        def size_of(victim: Task) -> Fraction:
            request = nodes.needs(victim.template).amounts
            return sum((Fraction(request[row], amount) for row, amount in rows), start=Fraction(0))

        gangs: dict[JobId | None, Fraction] = {}
        for victim in victims if attempt.takes_gangs else ():
            job = self._session.jobs.of(victim)
            if victim.job not in gangs and job is not None and not can_spare(job, victim):
                gangs[victim.job] = sum(map(size_of, whole_gang(job)), start=Fraction(0))
        sizes = {victim.id: gangs.get(victim.job) or size_of(victim) for victim in victims}
        return sorted(victims, key=lambda victim: sizes[victim.id], reverse=order is Order.LARGEST_FIRST)

    def _ancestors(self, queue: QueueName) -> list[QueueName]:
        """Return the queues above a queue whose limits it shares with others, nearest first.

        The root's is the size of the cluster, unless it has one of its own.
        """
        queues = self._session.snapshot.queues
        above = list(with_ancestors(queues, queue))[1:]
        return [name for name in above if name != ROOT_QUEUE or queues[name].capability]
