"""Plans for whole gangs: victims are chosen over a whole domain of nodes, least important first.

`plans` tries nodes one after the other. Here all possible victims of a domain are in one order, and victims are evicted
until the gang's minimum fits inside the domain. Evictions that are not needed are undone.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension.contract import GangEviction
from pyroclast.framework.preemption.domains import VictimDomain, masks_for, numbers_for
from pyroclast.framework.preemption.harm import HarmLimits
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.planner import PreemptionPlanner
from pyroclast.framework.preemption.refusals import (
    ALL_SPARED,
    NO_ROOM,
    NO_VICTIMS,
    OUT_OF_TURN,
    TOO_FEW_GO,
    no_domain,
    no_plan,
    too_few_tasks,
    whoever_goes,
)
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.model.arrays import IntArray
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["GangEviction", "GangPlanner"]

_PATIENCE: Final = 4
"""After a failed trial a quarter more victims are taken before the next one, so that trials stay few."""


class _Trials:
    """When a gang is placed on trial, as victims are taken one unit after the other.

    If few victims are not enough, the search starts again with more, without the failed trials.
    """

    def __init__(self, lacking: IntArray) -> None:
        self._lacking_at_first = self._lacking = lacking
        """Resources that the smallest choice of tasks lacks, base units, shape (R,)."""
        self._units = self._untried = self._failed = 0

    def begin(self) -> None:
        """Start again, with no unit evicted."""
        self._lacking = self._lacking_at_first
        self._units = self._untried = 0

    def is_due(self, freed: IntArray) -> bool:
        """Count a unit and what it frees, shape (R,). Return whether a trial is due that has not failed before."""
        self._units += 1
        self._untried += 1
        self._lacking = self._lacking - freed
        if not (self._is_enough and self._untried * _PATIENCE >= self._units):
            return False
        self._untried = 0
        is_new = self._units > self._failed
        self._failed = max(self._failed, self._units)
        return is_new

    @property
    def is_one_left(self) -> bool:
        """Whether all that could be taken has not been tried yet."""
        return self._untried > 0 and self._is_enough

    @property
    def _is_enough(self) -> bool:
        return bool((self._lacking <= 0).all())


class GangPlanner:
    """Finds plans for whole gangs by one rule."""

    def __init__(self, session: Session, rule: Rule) -> None:
        self._session = session
        self._rule = rule
        self._planner = PreemptionPlanner(session, rule)
        self.action = rule.action
        self._failed: dict[tuple[Any, ...], tuple[int, str]] = {}
        """Failed searches by domain: the length of the log of nodes at that moment, and the reason."""

    def place(
        self,
        job: SessionJob,
        tasks: Sequence[Task],
        domains: Sequence[VictimDomain],
        *,
        goes_on: Callable[[], bool],
        idle_only: Sequence[Task] = (),
    ) -> Refusal | None:
        """Place a job's minimum in one of some domains, as one plan, and commit it.

        Args:
            job: The beneficiary.
            tasks: Its pending tasks for which pods can be evicted, first to be placed first.
            domains: Domains that it may use, best first.
            goes_on: Whether the minimum still lacks tasks.
            idle_only: Its other pending tasks. If the minimum needs them, they are placed first, without evictions.

        Returns:
            None if it has places; otherwise the reason, and nothing has changed.
        """
        refusal = self._place(job, tasks, domains, goes_on, ())
        return self._place(job, tasks, domains, goes_on, idle_only) if refusal is not None and idle_only else refusal

    def _place(
        self,
        job: SessionJob,
        tasks: Sequence[Task],
        domains: Sequence[VictimDomain],
        goes_on: Callable[[], bool],
        idle_only: Sequence[Task],
    ) -> Refusal | None:
        refusal = self._in_vain(job, tasks, len(idle_only))
        if refusal is not None:
            return refusal
        if len(domains) > 1 and self._place_unharmed(job, [*idle_only, *tasks], domains, goes_on):
            return None
        if not domains:
            return no_domain(self._rule.action)
        find = self._place_least_harmful if self._rule.least_harm else self._place_first
        found = find(job, tasks, domains, goes_on, idle_only)
        if found is None:
            return None
        if len(tasks) < _lacks(job):
            return too_few_tasks(self.action, len(tasks))
        return self._planner.refusal_of(job, no_plan(self._session, self._rule.action, tasks[0], found, {}))

    def _place_first(
        self,
        job: SessionJob,
        tasks: Sequence[Task],
        domains: Sequence[VictimDomain],
        goes_on: Callable[[], bool],
        idle_only: Sequence[Task],
    ) -> list[str] | None:
        """Commit the first plan; or return why there is none in the domains."""
        found: list[str] = []
        for takes_gangs in self._rule.modes:
            found.clear()
            for domain in domains:
                with self._session.statement() as statement:
                    attempt = PlanBuilder(job, statement, HarmLimits(takes_gangs), domain.mask)
                    self._planner.victims.note_vetoes(attempt, tasks[0])
                    if idle_only:
                        is_made = self._evict_by_node(attempt, domain, [*idle_only, *tasks], goes_on, idle_only)
                        why = None if is_made else TOO_FEW_GO
                    else:
                        why = self._make_room_unless_in_vain(attempt, domain, tasks, goes_on)
                    if why is None and self._planner.finish(attempt):
                        return None
                    found.append(why or OUT_OF_TURN)
        return found

    def _place_least_harmful(
        self,
        job: SessionJob,
        tasks: Sequence[Task],
        domains: Sequence[VictimDomain],
        goes_on: Callable[[], bool],
        idle_only: Sequence[Task],
    ) -> list[str] | None:
        """Commit the least harmful plan; or return why there is none in the domains."""
        found: list[str] = []

        where = {id(domain.mask): domain for domain in domains}

        def in_turn(attempt: PlanBuilder, order: Sequence[Task]) -> bool:
            self._planner.victims.note_vetoes(attempt, order[0])
            why = self._make_room_unless_in_vain(attempt, where[id(attempt.domain)], order, goes_on)
            is_settled = why is None and self._planner.settles(attempt)
            if not is_settled:
                found.append(why or OUT_OF_TURN)
            return is_settled

        def by_node(attempt: PlanBuilder, order: Sequence[Task]) -> bool:
            domain = where[id(attempt.domain)]
            is_made = self._evict_by_node(attempt, domain, [*idle_only, *order], goes_on, idle_only)
            if idle_only and not is_made:
                found.append(TOO_FEW_GO)
            return is_made and self._planner.settles(attempt)

        def domains_in(attempt: PlanBuilder, part: SubJob) -> list[int]:
            return numbers_for(self._session, part, where[id(attempt.domain)])

        masks = [domain.mask for domain in domains]
        ways = self._planner.ways_to_fill(job, by_node, tasks, domains=domains_in)
        if not idle_only:  # evicted first, pods might make room for tasks for which none is evicted
            ways = [*ways, lambda attempt: in_turn(attempt, tasks)]
        return None if self._planner.place_least_harmful(job, masks, *ways) else found

    def _in_vain(self, job: SessionJob, tasks: Sequence[Task], others: int) -> Refusal | None:
        """Return why too few tasks for a job's minimum could run after any evictions; None if enough could.

        Args:
            job: The job.
            tasks: Its tasks for which pods can be evicted.
            others: Number of its tasks that can use idle capacity alone.
        """
        if len(tasks) + others < _lacks(job):
            return too_few_tasks(self.action, len(tasks))
        able, needed, why = 0, max(self._needed(job, tasks) - others, 1), None
        for task in tasks:
            refusal = whoever_goes(self._session, self.action, task)
            able += refusal is None
            why = why or refusal
            if able >= needed:
                return None
        return why

    def _place_unharmed(
        self, job: SessionJob, tasks: Sequence[Task], domains: Sequence[VictimDomain], goes_on: Callable[[], bool]
    ) -> bool:
        """Place the minimum in the first domain that needs no victim. A better one is not worth its search."""
        for domain in domains:
            with self._session.statement() as statement:
                attempt = PlanBuilder(job, statement, HarmLimits(takes_gangs=False), domain.mask)
                if self._place_all(attempt, domain, tasks, goes_on):
                    return self._planner.finish(attempt)
        return False

    def _make_room_unless_in_vain(
        self, attempt: PlanBuilder, domain: VictimDomain, tasks: Sequence[Task], goes_on: Callable[[], bool]
    ) -> str | None:
        """Make room, or return why not. Skip it if an equal gang failed in this domain and nothing changed."""
        session, job = self._session, attempt.job
        if job.has_sub_group_policy or job.pending_best_effort or any(map(session.candidates.answers.beyond, tasks)):
            return self._make_room(attempt, domain, tasks, goes_on)
        like = tuple((task.template.number, task.priority, task.role, session.queues.kind(task)) for task in tasks)
        roles = tuple((role, least, job.role_count(role)) for role, least in job.job.min_by_role.items())
        minimum = (job.min_available - job.ready_count, roles)
        where = domain.number, job.topology_key
        key, moment = (*self._planner.searches.key(attempt, tasks[0]), where, like, minimum), len(session.nodes.log)
        known = self._failed.get(key)
        if known is not None and known[0] == moment:
            return known[1]
        why = self._make_room(attempt, domain, tasks, goes_on)
        if why is not None:
            attempt.statement.undo_to(0)
            self._failed[key] = (len(session.nodes.log), why)
        return why

    def _make_room(
        self, attempt: PlanBuilder, domain: VictimDomain, tasks: Sequence[Task], goes_on: Callable[[], bool]
    ) -> str | None:
        """Evict until the minimum has its places, over the whole domain or node by node; None, or why it gets none."""
        if self._place_all(attempt, domain, tasks, goes_on):
            return None
        freed_at_most = self._planner.victims.freed(attempt)
        inside = freed_at_most if domain.mask is None else freed_at_most[:, domain.mask]
        if not self._could_hold(attempt, tasks, freed_at_most):
            return NO_ROOM if inside.any() else NO_VICTIMS
        why = self._evict_in_turn(attempt, domain, tasks, goes_on)
        if why is not None:
            attempt.undo_to((0, 0, 0))
            if self._evict_by_node(attempt, domain, tasks, goes_on):
                return None
        return why if why != ALL_SPARED or inside.any() else NO_VICTIMS

    def _evict_in_turn(
        self, attempt: PlanBuilder, domain: VictimDomain, tasks: Sequence[Task], goes_on: Callable[[], bool]
    ) -> str | None:
        """Evict one unit after the other, whichever its node."""
        trials = _Trials(self._lacking(attempt, tasks))
        for victims, is_last in self._planner.victims.permitted_in_turn(attempt, tasks[0]):
            trials.begin()
            ask = self._rule.ask if is_last or self._rule.ask_first is None else self._rule.ask_first
            for unit in self._planner.victims.evict_in_turn(attempt, tasks[0], victims, ask):
                freed = np.sum([self._session.nodes.needs(task.template).request for task in unit], axis=0)
                if trials.is_due(freed) and self._place_all(attempt, domain, tasks, goes_on):
                    return None
            if is_last:
                if trials.is_one_left and self._place_all(attempt, domain, tasks, goes_on):
                    return None
                return TOO_FEW_GO if victims else ALL_SPARED
            attempt.statement.undo_to(0)
            attempt.units.clear()
        return ALL_SPARED

    def _evict_by_node(
        self,
        attempt: PlanBuilder,
        domain: VictimDomain,
        tasks: Sequence[Task],
        goes_on: Callable[[], bool],
        idle_only: Sequence[Task] = (),
    ) -> bool:
        """Evict for one task after the other, where its place is to be.

        In the order of all victims those may come first that free nothing where it is lacking, and use up what their
        gangs can spare.
        """
        modest = {task.id for task in idle_only}

        def place(task: Task) -> bool:
            if task.id in modest:
                return self._places_without(attempt, task)
            return self._planner.tasks.place_by_evicting(attempt, task) is None

        self._planner.fill(attempt, tasks, goes_on, place, masks=lambda part: masks_for(self._session, part, domain))
        return bool(attempt.places) and not goes_on() and self._planner.completes(attempt)

    def _could_hold(self, attempt: PlanBuilder, tasks: Sequence[Task], freed: IntArray | int = 0) -> bool:
        """Return whether the domain's nodes, with more capacity or as they are, may have enough places."""
        session = self._session
        future = session.nodes.columns().future_idle + freed
        room = np.maximum(future if attempt.domain is None else future[:, attempt.domain], 0)
        least = np.min([session.nodes.needs(task.template).request for task in tasks], axis=0)
        asked = least > 0
        places = (room[asked] // least[asked, None]).min(axis=0).sum()
        return bool(places >= self._needed(attempt.job, tasks))

    def _needed(self, job: SessionJob, tasks: Sequence[Task]) -> int:
        """Return how many tasks at least must be placed for the minimum."""
        return min(len(tasks), max(job.min_available - job.ready_count - job.pending_best_effort, 1))

    def _lacking(self, attempt: PlanBuilder, tasks: Sequence[Task]) -> IntArray:
        """Return what the smallest choice of tasks lacks at least in the whole domain, shape (R,)."""
        session = self._session
        inside = attempt.domain
        future = session.nodes.columns().future_idle
        room = np.maximum(future if inside is None else future[:, inside], 0).sum(axis=1)
        requests = np.sort([session.nodes.needs(task.template).request for task in tasks], axis=0)
        lacking: IntArray = requests[: self._needed(attempt.job, tasks)].sum(axis=0) - room
        return lacking

    def _place_all(
        self, attempt: PlanBuilder, domain: VictimDomain, tasks: Sequence[Task], goes_on: Callable[[], bool]
    ) -> bool:
        """Place tasks on the domain's nodes until the minimum is reached; undo it where it is not."""
        if not self._could_hold(attempt, tasks):
            return False
        mark = attempt.mark()

        def place(task: Task) -> bool:
            return self._places_without(attempt, task)

        self._planner.fill(attempt, tasks, goes_on, place, masks=lambda part: masks_for(self._session, part, domain))
        if attempt.places and not goes_on() and self._planner.completes(attempt):
            return True
        attempt.undo_to(mark)
        return False

    def _places_without(self, attempt: PlanBuilder, task: Task) -> bool:
        """Place a task without evictions, and return whether it has a place."""
        return self._session.candidates.pre_predicate(task) is None and self._planner.tasks.place_without(attempt, task)


def _lacks(job: SessionJob) -> int:
    """Return how many members a job's minimum lacks; pipelined and pending best-effort ones count."""
    return job.min_available - job.ready_count - job.waiting_count - job.pending_best_effort
