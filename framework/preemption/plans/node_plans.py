"""Node plans: a place for one task on one node, by evictions from that node."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from pyroclast.framework.preemption.harm import Harm, HarmLimits, Unit
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.searches import Searches
from pyroclast.framework.preemption.plans.simple_bounds import SimpleBounds
from pyroclast.framework.preemption.plans.trimming import Trimmer
from pyroclast.framework.preemption.plans.victims import VictimSelector, evict_unit
from pyroclast.framework.preemption.refusals import ALL_SPARED, NO_HELP, QUEUE_FULL, TOO_FEW_GO, TRIED_BEFORE
from pyroclast.framework.preemption.victim_order import in_order
from pyroclast.framework.preemption.victim_rules import Looks, Rule
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import IntArray
from pyroclast.model.tasks import Task
from pyroclast.model.wire import unix_seconds

__all__ = ["NodeChoice", "NodePlans", "NodeTrial"]

_MOST_NODES: Final = 256
"""Nodes on which a place can be made, of which the least harmful one is taken."""

_LOWEST: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """A node for a task, with its victims."""

    key: tuple[Any, ...]
    """The less, the better."""
    column: int
    trial: "NodeTrial"


@dataclass(frozen=True, slots=True)
class NodeTrial:
    """Result of trial evictions on one node."""

    harm: Harm
    """Its priority is at least the floor of the search."""
    units: tuple[Unit, ...]
    is_kept: bool
    """Whether the plan has these evictions and the place already; else nothing has changed."""


class NodePlans:
    """Finds nodes on which evictions make a place, by one rule, in one session."""

    def __init__(
        self,
        session: Session,
        rule: Rule,
        *,
        searches: Searches,
        victims: VictimSelector,
        trimmer: Trimmer,
        bounds: SimpleBounds,
    ) -> None:
        self._session = session
        self._rule = rule
        self._searches, self._victims, self._trimmer, self._bounds = searches, victims, trimmer, bounds
        self._compares_nodes = rule.looks_first is Looks.LEAST_HARM
        self.attempts = 0
        """Nodes on which victims were looked for."""
        self.last_victims = 0
        """Victims that were permitted on the last one."""

    def evict_for(self, attempt: PlanBuilder, task: Task, *, takes_gangs: bool) -> bool:
        """Place a task on the first node on which evictions make a place. Return whether there is one."""
        limits, attempt.limits = attempt.limits, attempt.limits._replace(takes_gangs=takes_gangs)
        attempt.tried.clear()
        columns: Iterable[int] = (column for each in self._victims.columns(attempt, task) for column in each.tolist())
        if self._rule.looks_first is Looks.LEAST_HARM:
            columns = self._by_harm(attempt, task, columns)
        is_placed = any(self._searches.try_each(attempt, columns, lambda column: self._evict_on(attempt, task, column)))
        attempt.limits = limits
        return is_placed

    def _by_harm(self, attempt: PlanBuilder, task: Task, columns: Iterable[int]) -> Iterator[int]:
        """Yield the node that would suffer least, after trying all of them, then the next."""
        tried = []

        def note_harm(column: int) -> bool:
            with self._session.statement() as statement:
                trial = attempt.on_trial(statement)
                if not self._evict_on(trial, task, column):
                    return False
                self._trimmer.spare_unneeded(trial)
                tried.append((_harm_of_node([victim for unit in trial.units for victim in unit]), column))
                return True

        for _ in self._searches.try_each(attempt, columns, note_harm):
            pass
        return (column for _, column in sorted(tried))

    def _evict_on(self, attempt: PlanBuilder, task: Task, column: int) -> bool:
        """Evict as few as needed from a node, first victim first, until a task can be placed there.

        Where gangs spare few, and those few free nothing of what the task lacks, others of them may: then once more,
        those first that free most of it.
        """
        on_node = self._session.nodes.tasks_on(column).values()
        in_turn = in_order(self._session, attempt.job, self._victims.proposed(attempt, task, on_node))
        permitted = self._victims.permitted(attempt, task, in_turn)
        self.attempts += 1
        self.last_victims = len(permitted)
        if not permitted:
            attempt.tried[column] = ALL_SPARED
            return False
        if self._evict_until_it_fits(attempt, task, column, permitted):
            return True
        by_help = self.most_helpful_first(task, column, in_turn) if len(permitted) < len(in_turn) else in_turn
        if by_help == in_turn:
            return False
        return self._evict_until_it_fits(attempt, task, column, self._victims.permitted(attempt, task, by_help))

    def _evict_until_it_fits(self, attempt: PlanBuilder, task: Task, column: int, permitted: Sequence[Task]) -> bool:
        mark = attempt.mark()
        for _ in self._victims.evict_in_turn(attempt, task, permitted, self._rule.ask):
            if self._trimmer.fits(attempt.job, task, column):
                if self._trimmer.settle(attempt, task, column):
                    return True
                break
        else:
            attempt.tried[column] = self._still_in_the_way(task, column)
        attempt.undo_to(mark)
        return False

    def _still_in_the_way(self, task: Task, column: int) -> str:
        """Return what keeps a task from a node after all permitted evictions."""
        session, candidates = self._session, self._session.candidates.of(task)
        if candidates.takes(task, column):
            return QUEUE_FULL
        if not candidates.fits_future[column]:
            return TOO_FEW_GO
        here = np.zeros(len(session.nodes), dtype=np.bool_)
        here[column] = True
        return next(iter(session.candidates.explain(task, here).counts), NO_HELP)

    def least_harmful_node(self, attempt: PlanBuilder, task: Task, modes: Sequence[bool]) -> NodeChoice | None:
        """Return the node where the victims matter least, beside those that the plan has."""
        best: NodeChoice | None = None
        before = self._victims.harm(attempt)
        floor = max(before.highest, attempt.limits.floor)
        for takes_gangs in modes:
            limits = attempt.limits._replace(takes_gangs=takes_gangs, floor=floor)
            if limits != attempt.limits and self._searches.has_failed(attempt.within(limits), task):
                continue
            if best is not None:
                if best.key[0] <= floor:
                    break
                limits = limits._replace(highest=min(limits.highest, best.key[0] - 1))
            best = self._least_on_nodes(attempt, task, limits) or best
        return best

    def _least_on_nodes(self, attempt: PlanBuilder, task: Task, limits: HarmLimits) -> NodeChoice | None:
        """Try nodes, those first whose bound is lowest; keep what meets its bound, since no other can be better."""
        within = attempt.within(limits)
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *self._victims.columns(within, task)])
        if not columns.size:
            return None
        bounds = self.bounds(within, task, columns)
        best: NodeChoice | None = None
        successes, effort = 0, self._searches.effort(attempt.job)
        for position in map(int, np.lexsort((*reversed(bounds),))):  # most often the first one is the least harmful
            least = (*(int(each[position]) for each in bounds), position)
            if best is not None and (best.key[:3] < least[:3] or successes >= _MOST_NODES):
                break
            if best is not None and not self._compares_nodes and best.key <= least:
                break
            if not effort.search.may_try():
                break
            if effort.search.passes_over():
                attempt.tried.setdefault(int(columns[position]), TRIED_BEFORE)
                continue
            enough = None if self._compares_nodes else Harm(*least[:3])
            trial = self._least_on(within, task, int(columns[position]), enough)
            if trial is None:
                effort.note_in_vain()
                continue
            effort.note_success(is_kept=trial.is_kept)
            successes += 1
            tie = _harm_of_node([each for unit in trial.units for each in unit]) if self._compares_nodes else ()
            key = (*trial.harm, *tie, position)
            if best is None or key < best.key:
                best = NodeChoice(key, int(columns[position]), trial)
            if trial.is_kept:
                break
        return best

    def bounds(self, attempt: PlanBuilder, task: Task, columns: IntArray) -> list[IntArray]:
        """Return by column at least how high, how many gangs and how many victims it takes; never too much."""
        session, needs = self._session, self._session.nodes.needs(task.template)
        future = session.reserved.future_room(task, columns)
        lacking = np.maximum(needs.thresholds - future, 0)
        least = self._bounds.least_of(attempt.job)
        largest = self._victims.freed_at_once(attempt)
        victims = np.zeros(columns.size, dtype=np.int64)
        rows = np.flatnonzero(lacking.any(axis=1))  # most often one or two of many, and divisions are slow
        if rows.size:
            victims = np.max(-(-lacking[rows] // np.maximum(largest[rows], 1)[:, None]), axis=0)
        gangs = np.zeros(columns.size, dtype=np.int64)
        if attempt.takes_gangs:
            spared = self._victims.freed(attempt.within(attempt.limits._replace(takes_gangs=False)))[:, columns]
            gangs = np.logical_or.reduce(needs.thresholds > future + spared, axis=0).astype(np.int64)
            victims = np.where(gangs, np.maximum(victims, least.gang), victims)
        highest = np.full(columns.size, max(attempt.limits.floor, least.lowest), dtype=np.int64)
        return [highest, gangs, victims]

    def _least_on(self, attempt: PlanBuilder, task: Task, column: int, enough: Harm | None) -> NodeTrial | None:
        """Return the least harmful evictions on a node for a task; those that harm no more than `enough` are kept."""
        session = self._session
        on_node = session.nodes.tasks_on(column).values()
        in_turn = in_order(session, attempt.job, self._victims.proposed(attempt, task, on_node))
        if self._rule.same_queue and attempt.job.pending_best_effort:
            # best-effort members of the job can evict no other pods than these
            in_turn.sort(key=lambda victim: victim.template.best_effort)
        self.attempts += 1
        self._searches.effort(attempt.job).steps += 1
        by_priority = {victim.id: self._victims.importance(victim) for victim in in_turn}
        for highest in sorted({max(attempt.limits.floor, each) for each in by_priority.values()}):
            candidates = [victim for victim in in_turn if by_priority[victim.id] <= highest]
            if not self._could_fit(task, column, candidates):
                continue
            within = attempt.within(attempt.limits._replace(highest=highest))
            best: NodeTrial | None = None
            for order in self._orders(task, column, candidates):
                trial = self._try_on(within, task, column, order, enough)
                if trial is not None and (best is None or trial.harm < best.harm):
                    best = trial
                if best is not None and best.is_kept:
                    break
            if best is not None:
                return best
        permitted = self._victims.permitted(attempt, task, in_turn)
        attempt.tried.setdefault(column, TOO_FEW_GO if permitted else ALL_SPARED)
        return None

    def _could_fit(self, task: Task, column: int, victims: Sequence[Task]) -> bool:
        """Return whether amounts would suffice without some victims."""
        nodes = self._session.nodes
        room = self._session.reserved.future_room(task, np.array([column]))[:, 0]
        for victim in victims:
            room += nodes.needs(victim.template).request
        return bool((nodes.needs(task.template).thresholds[:, 0] <= room).all())

    def _orders(self, task: Task, column: int, in_turn: list[Task]) -> Iterator[list[Task]]:
        """Yield the orders in which victims on a node are tried: that of evictions, and the most helpful first."""
        yield in_turn
        by_help = self.most_helpful_first(task, column, in_turn)
        if by_help != in_turn:
            yield by_help

    def most_helpful_first(self, task: Task, column: int, victims: Sequence[Task]) -> list[Task]:
        """Sort victims on a node by how much of what a task lacks there each would free."""
        nodes = self._session.nodes
        room = self._session.reserved.future_room(task, np.array([column]))[:, 0]
        lacking = nodes.needs(task.template).thresholds[:, 0] - room
        rows = [(row, amount) for row, amount in enumerate(lacking.tolist()) if amount > 0]

        def help_of(victim: Task) -> Fraction:
            request = nodes.needs(victim.template).amounts
            return sum((Fraction(min(request[row], amount), amount) for row, amount in rows), start=Fraction(0))

        return sorted(victims, key=help_of, reverse=True)

    def _try_on(
        self, attempt: PlanBuilder, task: Task, column: int, order: Sequence[Task], enough: Harm | None
    ) -> NodeTrial | None:
        """Evict from a node in one order on trial, and give back what is not needed."""
        permitted = self._victims.permitted(attempt, task, order)
        self.last_victims = len(permitted)
        if not permitted:
            return None
        with self._session.statement() as statement:
            trial = attempt.on_trial(statement)
            if not self._evict_until_it_fits(trial, task, column, permitted):
                return None
            if not self._trimmer.spare_unneeded(trial):
                return None
            harm = self._victims.harm(trial)
            harm = harm._replace(highest=max(harm.highest, attempt.limits.floor))
            units = tuple(trial.units)
            is_kept = enough is not None and harm <= enough
            if is_kept:
                attempt.take_over(trial)
            return NodeTrial(harm, units, is_kept)

    def evict_there(self, attempt: PlanBuilder, task: Task, choice: NodeChoice) -> bool:
        """Do what was found on trial."""
        mark = attempt.mark()
        for unit in choice.trial.units:
            if not evict_unit(self._session, attempt.statement, unit, self._rule.action):
                attempt.undo_to(mark)
                return False
            attempt.units.append(unit)
        if self._trimmer.settle(attempt, task, choice.column):
            return True
        attempt.undo_to(mark)
        return False


def _harm_of_node(victims: Sequence[Task]) -> tuple[int, int, int, float]:
    """Rank the victims on one node: the least harmful smallest.

    As kube-scheduler does: the lowest of the highest priorities, then the lowest sum (each counts from the lowest
    possible priority, so that more victims are worse), then the fewest, then those that started last.
    No victims is the least harm.
    """
    highest = max((victim.priority for victim in victims), default=-_LOWEST)
    started = min((_start_of(victim) for victim in victims if victim.priority == highest), default=math.inf)
    return highest, sum(victim.priority + _LOWEST for victim in victims), len(victims), -started


def _start_of(task: Task) -> float:
    """Return when a pod started, seconds since 1970; one that has not counts as the last."""
    started = task.pod.status.start_time
    try:
        return unix_seconds(started) if started else math.inf
    except ValueError:  # an unreadable time counts as no time
        return math.inf
