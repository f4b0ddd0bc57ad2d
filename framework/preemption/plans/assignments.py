"""Assignments: places for unlike tasks together, on the nodes as they would be without any victim.

Tasks that differ, or that bear on each other, may find no places in their order although there are some.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pyroclast.framework.placement.gangs.search import GangSearch, Place, Within
from pyroclast.framework.preemption.harm import Unit
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.limit_plans import LimitPlans, Order
from pyroclast.framework.preemption.plans.searches import Searches
from pyroclast.framework.preemption.plans.task_plans import TaskPlans
from pyroclast.framework.preemption.plans.victims import VictimSelector
from pyroclast.framework.preemption.victim_order import in_order
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import SubJobId
from pyroclast.model.tasks import Task

__all__ = ["Assignments"]


class Assignments:
    """Finds places for all tasks of a job at once, by one rule, in one session."""

    def __init__(
        self,
        session: Session,
        rule: Rule,
        *,
        searches: Searches,
        victims: VictimSelector,
        under_limit: LimitPlans,
        tasks: TaskPlans,
    ) -> None:
        self._session = session
        self._rule = rule
        self._searches, self._victims, self._under_limit, self._tasks = searches, victims, under_limit, tasks

    def assigned(
        self, attempt: PlanBuilder, tasks: Sequence[Task], domains: Mapping[SubJobId, Sequence[int]]
    ) -> list[tuple[Task, int]]:
        """Return the places of the minimum after all permitted evictions; empty if there are none.

        The session is unchanged afterwards.
        """
        session, job = self._session, attempt.job
        if not tasks:
            return []
        with session.statement(trial=True) as statement:
            trial = attempt.within(attempt.limits)
            trial.statement, trial.units, trial.places = statement, [], []
            victims, is_whole = self._evict_all(trial, tasks)
            inside = np.ones(victims.size, dtype=np.bool_) if attempt.domain is None else attempt.domain

            def search() -> tuple[GangSearch, list[Place]]:
                within = Within(nodes=inside, scores=-victims.astype(np.float64), domains=domains)
                search = GangSearch(session, job, tasks, within=within)
                return search, search.run(on_idle=False)

            found, places = search()
            if not places and self._is_kept_by_queue(job, found, tasks):
                is_whole &= self._evict_all_under_limit(trial, tasks[0], victims)
                found, places = search()
        self._searches.effort(job).steps += found.steps
        if not places and not (found.is_exhaustive and is_whole):
            self._searches.gave_up.add(job.id)
        return [(place.task, place.column) for place in places]

    def _evict_all(self, trial: PlanBuilder, tasks: Sequence[Task]) -> tuple[IntArray, bool]:
        """Evict all permitted victims from nodes that tasks could use.

        Returns:
            The number of victims on each node, shape (N,), and whether these are all.
        """
        session, effort = self._session, self._searches.effort(trial.job)
        victims = np.zeros(len(session.nodes), dtype=np.int64)
        columns: dict[int, Task] = {}
        for task in {session.candidates.number(task): task for task in reversed(tasks)}.values():
            columns.update((column, task) for each in self._victims.columns(trial, task) for column in each.tolist())
        for column, task in sorted(columns.items()):
            if effort.on_trial <= 0:
                return victims, False
            on_node = session.nodes.tasks_on(column).values()
            in_turn = in_order(session, trial.job, self._victims.proposed(trial, task, on_node))
            for unit in self._victims.evict_in_turn(
                trial, task, self._victims.permitted(trial, task, in_turn), self._rule.ask
            ):
                self._searches.count_on_trial(trial, unit)
                self._count_by_node(unit, victims)
        return victims, True

    def _is_kept_by_queue(self, job: SessionJob, search: GangSearch, tasks: Sequence[Task]) -> bool:
        """Return whether the queue's limit, which victims on any node free, keeps a gang from places."""
        session, queue = self._session, self._session.queues.by_name[job.queue]
        return search.is_kept_by_queue or any(session.queues.allocatable(queue, task) is not None for task in tasks)

    def _evict_all_under_limit(self, trial: PlanBuilder, task: Task, victims: IntArray) -> bool:
        """Evict all permitted victims that use a limit of the queue, and count them. Return whether these are all."""
        for unit in self._under_limit.evict_under_limit(trial, task, Order.IN_TURN):
            self._count_by_node(unit, victims)
            if not self._searches.count_on_trial(trial, unit):
                return False
        return True

    def _count_by_node(self, unit: Unit, victims: IntArray) -> None:
        for victim in unit:
            assert victim.node is not None, "a victim has a node"
            victims[self._session.nodes.table.column[victim.node]] += 1

    def place_there(self, attempt: PlanBuilder, places: Sequence[tuple[Task, int]]) -> bool:
        """Evict for tasks where each has its place; return whether all are placed, which are some."""
        domain = attempt.domain
        for task, column in places:
            attempt.domain = np.zeros(len(self._session.nodes), dtype=np.bool_)
            attempt.domain[column] = True
            if self._tasks.place_by_evicting(attempt, task) is not None:
                break
        attempt.domain = domain
        return bool(places) and len(attempt.places) == len(places)

    def most_constrained_first(self, attempt: PlanBuilder, tasks: Sequence[Task]) -> list[Task]:
        """Sort tasks: those with the fewest nodes first, of equals those with the largest share of the cluster."""
        session = self._session
        room = session.nodes.columns().future_idle + self._victims.freed(attempt)
        total = np.maximum(session.total, 1)

        def rank(task: Task) -> tuple[int, float]:
            needs = session.nodes.needs(task.template)
            permitted = session.candidates.answers.permitted_by_facts(task)
            fits = np.logical_and.reduce(needs.thresholds <= room, axis=0) & permitted
            fits = fits if attempt.domain is None else fits & attempt.domain
            return int(np.count_nonzero(fits)), -float((needs.request / total).max())

        number_of = session.candidates.number
        ranks = {number_of(task): rank(task) for task in tasks}
        return sorted(tasks, key=lambda task: ranks[number_of(task)])
