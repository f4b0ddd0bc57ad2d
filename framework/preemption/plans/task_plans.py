"""Task plans: a place for one task, on free capacity, or by evictions on its node or elsewhere."""

import numpy as np

from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.limit_plans import LimitPlans
from pyroclast.framework.preemption.plans.node_plans import NodePlans
from pyroclast.framework.preemption.plans.searches import Searches
from pyroclast.framework.preemption.plans.trimming import Trimmer
from pyroclast.framework.preemption.plans.victims import VictimSelector
from pyroclast.framework.preemption.refusals import count_by_reason, no_plan, search_ended, whoever_goes
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["TaskPlans"]


class TaskPlans:
    """Places single tasks by one rule, in one session."""

    def __init__(
        self,
        session: Session,
        rule: Rule,
        *,
        searches: Searches,
        victims: VictimSelector,
        trimmer: Trimmer,
        on_node: NodePlans,
        under_limit: LimitPlans,
    ) -> None:
        self._session = session
        self._rule = rule
        self._searches, self._victims, self._trimmer = searches, victims, trimmer
        self._on_node, self._under_limit = on_node, under_limit

    def place_by_evicting(self, attempt: PlanBuilder, task: Task) -> Refusal | None:
        """Place a task, unless no eviction helps it, or an equal task found no place and nothing changed since.

        Returns:
            The reason that it has no place; None if it has one.
        """
        session = self._session
        if not self._searches.effort(attempt.job).search.may_try():
            self._searches.gave_up.add(attempt.job.id)
            return search_ended(self._rule.action, None)
        refusal = whoever_goes(session, self._rule.action, task)
        if refusal is not None:
            return refusal
        if session.candidates.answers.beyond(task) is not None:
            return self._place_one(attempt, task)
        where = None if attempt.domain is None else attempt.domain.tobytes()
        key = (*self._searches.key(attempt, task), where)
        known = self._searches.failed.get(key)
        if known is None or known[0] != len(session.nodes.log):
            refusal = self._place_one(attempt, task)
            if refusal is None or self._searches.gives_up(attempt.job):
                return refusal
            known = self._searches.failed[key] = (len(session.nodes.log), refusal)
        attempt.unplaced = task, session.queues.kind(task), known[0], where
        return known[1]

    def _place_one(self, attempt: PlanBuilder, task: Task) -> Refusal | None:
        # a task that fits beside its siblings is no reason to rearrange them: allocate places it, with its gang
        if not self._rule.within_job and self.place_without(attempt, task):
            return None
        self._victims.note_vetoes(attempt, task)
        # a plan that evicts whole gangs evicts none for a task for which tasks that can be spared suffice
        modes = self._rule.modes[: 1 + attempt.takes_gangs]
        if self._rule.least_harm:
            attempt.tried.clear()
            choice = self._on_node.least_harmful_node(attempt, task, modes)
            if choice is not None and (choice.trial.is_kept or self._on_node.evict_there(attempt, task, choice)):
                return None
            if choice is None and self._under_limit.evict_elsewhere(attempt, task):
                return None
        elif any(self._on_node.evict_for(attempt, task, takes_gangs=takes_gangs) for takes_gangs in modes):
            return None
        return self._session.candidates.answers.unscored.get(task.id) or self._no_capacity(attempt, task)

    def _no_capacity(self, attempt: PlanBuilder, task: Task) -> Refusal:
        """Return why no evictions free enough capacity for a task on any node, after all nodes were tried."""
        session = self._session
        nodes = np.ones(len(session.nodes), dtype=np.bool_) if attempt.domain is None else attempt.domain
        helped = np.logical_or.reduce(
            session.candidates.answers.shard_groups(session.candidates.answers.permitted_by_facts(task))
        )
        lose = np.logical_or.reduce(self._victims.freed(attempt) > 0, axis=0)
        counts = count_by_reason(nodes, helped, lose, attempt.tried)
        return no_plan(session, self._rule.action, task, counts, counts)

    def place_without(self, attempt: PlanBuilder, task: Task) -> bool:
        """Place a task where capacity is free or being released, by this plan too. Return whether there is a place."""
        session = self._session
        queue = session.queues.by_name[attempt.job.queue]
        if session.queues.allocatable(queue, task) is not None or not session.candidates.has_room(task):
            return False
        choice = session.candidates.of(task).choose(task, attempt.domain)
        return choice is not None and self._trimmer.settle(attempt, task, choice.column)
