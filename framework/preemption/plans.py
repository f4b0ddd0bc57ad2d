"""Plans: places for the tasks of one job, with capacity made by evictions where it is needed.

First a plan is sought that leaves every victim's gang its minimum; only where there is none, one that takes gangs
whole. Tasks are placed in their order: on capacity that is free or being released where some node takes them, else on
the first node, in the rule's order, where evicting few enough makes a place. All is checked as if the victims were
gone: predicates, amounts, the queue's limits. What was found is then thinned out until no victim can be taken away.

Tasks that differ, or that bear on each other, may find no places in their order although there are some. They are
placed with the most constrained one first then, and last by an assignment (`room`) to the nodes without any victim.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from itertools import islice
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.placement.gangs.search import GangSearch, Place, Within, may_be_missed
from pyroclast.framework.placement.minimums import steps_to_minimum
from pyroclast.framework.preemption.bounds import EvictableRoom
from pyroclast.framework.preemption.harm import (
    ANY_PRIORITY,
    NO_VICTIM,
    Effort,
    Found,
    Harm,
    HarmLimits,
    Unit,
    effort_of,
    least_harmful,
)
from pyroclast.framework.preemption.least_possible_harm import LeastPossibleHarm
from pyroclast.framework.preemption.refusals import (
    ALL_SPARED,
    NO_HELP,
    OUT_OF_TURN,
    QUEUE_FULL,
    TOO_FEW_GO,
    TOO_FEW_TASKS,
    TRIED_BEFORE,
    count_by_reason,
    no_plan,
    search_ended,
    too_few_tasks,
    whoever_goes,
)
from pyroclast.framework.preemption.victim_gangs import (
    Surplus,
    active_count,
    can_spare,
    is_intact,
    is_stopped,
    might_spare,
    whole_gang,
)
from pyroclast.framework.preemption.victim_order import LongOrder, in_order
from pyroclast.framework.preemption.victim_rules import Looks, Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statement import Statement
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId, QueueName, SubJobId, TaskId
from pyroclast.model.native import Disruption
from pyroclast.model.queues import ROOT_QUEUE, with_ancestors
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.model.wire import unix_seconds

__all__ = ["PlanBuilder", "PreemptionPlanner"]

_FIRST_ASKED: Final = 64
_CANDIDATES_PER_STEP = 20
"""Pods that plugins are asked about together, for the time of a step."""
_TIMES_MORE: Final = 3
"""Number of candidates of a whole domain in the first query, and the factor for later ones. Decisions do not depend on
it."""

_MOST_LOOKS: Final = 2_000
"""Maximum number of tasks with a note that the rule protects them, in one session. Decisions do not depend on it."""

_ON_NODE: Final = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND})
"""Statuses of tasks that can be victims."""

_MOST_NODES: Final = 256
"""Nodes on which a place can be made, of which the least harmful one is taken."""


@dataclass(slots=True)
class PlanBuilder:
    """A plan in the making."""

    job: SessionJob
    statement: Statement
    limits: HarmLimits
    domain: BoolArray | None
    units: list[Unit] = field(default_factory=list)
    """Evictions, in order."""
    places: list[tuple[Task, int]] = field(default_factory=list)
    """Tasks of the beneficiary and their columns, in order."""
    why: Refusal | None = None
    """Reason that the first failed task found no place."""
    tried: dict[int, str] = field(default_factory=dict)
    """Reasons that evictions make no place for the current task, by column."""
    unplaced: tuple[Task, tuple[Any, ...], int, bytes | None] | None = None
    """The last task that found no place although evictions might have helped it, its kind, the length of the log of
    nodes at that moment, and the domain."""

    def __post_init__(self) -> None:
        """Keep places of plans that are dropped out of messages."""
        self.statement.notes_places = False

    @property
    def takes_gangs(self) -> bool:
        """Whether whole gangs may be evicted."""
        return self.limits.takes_gangs

    def fails_like(self, task: Task, session: Session) -> bool:
        """Return whether a task can find no place because its like found none, and nothing changed since; cheap."""
        if self.unplaced is None:
            return False
        other, kind, moment, where = self.unplaced
        return (
            task.template is other.template
            and moment == len(session.nodes.log)
            and (task.priority, task.revocable_zone) == (other.priority, other.revocable_zone)
            and kind == session.queues.kind(task)
            and where == (None if self.domain is None else self.domain.tobytes())
            and session.candidates.answers.beyond(task) is None
        )

    def mark(self) -> tuple[int, int, int]:
        """Note how far it is, for `undo_to`."""
        return len(self.statement.operations), len(self.units), len(self.places)

    def undo_to(self, mark: tuple[int, int, int]) -> None:
        """Take back what was evicted and placed since."""
        operations, units, places = mark
        self.statement.undo_to(operations)
        del self.units[units:]
        del self.places[places:]

    def take_over(self, other: "PlanBuilder") -> None:
        """Go on with what another attempt evicted and placed after this one."""
        self.statement.merge(other.statement)
        self.units.extend(other.units)
        self.places.extend(other.places)


@dataclass(frozen=True, slots=True)
class _Choice:
    """A node for a task, with its victims."""

    key: tuple[Any, ...]
    """The less, the better."""
    column: int
    trial: "_Trial"


@dataclass(frozen=True, slots=True)
class _Trial:
    """Result of trial evictions on one node."""

    harm: Harm
    """Its priority is at least the floor of the search."""
    units: tuple[Unit, ...]
    is_kept: bool
    """Whether the plan has these evictions and the place already; else nothing has changed."""


class _Order(Enum):
    """Order in which victims are evicted that free a queue's limit."""

    IN_TURN = "in turn"
    """Tasks that would be placed last are evicted first."""
    LARGEST_FIRST = "largest first"
    """Few victims free much."""
    SMALLEST_FIRST = "smallest first"
    """A queue that may lose no more once it is down to what it deserves loses most in this order."""


@dataclass(frozen=True, slots=True)
class _Least:
    """Lower bound of the harm of a victim."""

    lowest: int
    """The lowest priority of a job that may lose tasks."""
    gang: int
    """Tasks of the smallest gang."""


class PreemptionPlanner:
    """Finds plans by one rule, in one session."""

    def __init__(self, session: Session, rule: Rule) -> None:
        self._session = session
        self._rule = rule
        self._attempts = 0
        self._failed: dict[tuple[Any, ...], tuple[int, Refusal]] = {}
        """Failed searches by domain: the length of the log of nodes at that moment, and the reason."""
        self._looks = _MOST_LOOKS
        self._gangs: dict[tuple[Any, ...], tuple[int, Unit | None]] = {}
        """Gangs that may be evicted whole, by beneficiary, and the length of the log of nodes at that moment."""
        self._last_victims = 0
        self._least: dict[QueueName, _Least] = {}
        self._known_jobs: list[tuple[QueueName, int, int]] | None = None
        """Queue, priority and least size as a gang of each job that may lose tasks."""
        self._gave_up: set[JobId] = set()
        """Jobs for which a search for an assignment ended before it was through."""
        self._compares_nodes = rule.looks_first is Looks.LEAST_HARM
        self._order = LongOrder(session, rule.statuses)
        self._all = EvictableRoom(session, rule.statuses, self._might_lose)
        self._sparing = (
            self._all  # a job may exchange any of its own tasks, whether it can spare them or not
            if rule.within_job
            else EvictableRoom(session, rule.statuses, lambda job: self._might_lose(job) and might_spare(job))
        )
        self._least_possible = LeastPossibleHarm(session, rule, self._might_lose)

    def _effort(self, job: SessionJob) -> Effort:
        return effort_of(self._session.scratch, job.job.namespace)

    def _might_lose(self, job: SessionJob) -> bool:
        """Return whether a job can lose tasks. For other queues the answer does not depend on the beneficiary."""
        return self._rule.same_queue or self._rule.spares(self._rule.vetoes, job, job) is None

    # Whole jobs -------------------------------------------------------------------------------------------------------

    def place(
        self,
        job: SessionJob,
        tasks: Sequence[Task],
        *,
        idle_only: Sequence[Task] = (),
        refused: Callable[[Task], Refusal | None] = lambda _: None,
        domains: Sequence[BoolArray | None] = (None,),
    ) -> Refusal | None:
        """Place what makes a job ready as one plan, and commit it.

        Args:
            job: The beneficiary.
            tasks: Its pending tasks for which pods can be evicted, first to be placed first.
            idle_only: Its other pending tasks. They are placed first, without evictions.
            refused: Why a task may cause no evictions at all; None if it may.
            domains: At least one set of nodes that may be used together, shape (N,), best first; all nodes if None.

        Returns:
            None if there is a plan, else why not, of the first domain. Where not, nothing has changed; nor where it
            needs no evictions and the action allocate is still to come, which binds what this could only hold.
        """
        why: list[Refusal] = []
        has_considered_all = False
        modest = {task.id for task in idle_only}

        def fill(attempt: PlanBuilder, order: Sequence[Task]) -> bool:
            nonlocal has_considered_all

            def place(task: Task) -> bool:
                if task.id in modest:
                    return self._session.candidates.pre_predicate(task) is None and self.place_without(attempt, task)
                if attempt.why is not None and attempt.fails_like(task, self._session):
                    return False
                refusal = refused(task) or self.place_by_evicting(attempt, task)
                attempt.why = attempt.why or refusal
                return refusal is None

            if self._reaches_minimum(attempt, [*idle_only, *order], place) and self.settles(attempt):
                return True
            # plans that spare all gangs come first, and do not consider pods that their gangs cannot spare
            is_first_of_all = attempt.takes_gangs and not has_considered_all
            why.insert(0 if is_first_of_all else len(why), attempt.why or self._too_few(attempt, order))
            has_considered_all |= attempt.takes_gangs
            return False

        if not self._rule.least_harm:
            is_placed = any(self._place_first(job, each, lambda attempt: fill(attempt, tasks)) for each in domains)
            return None if is_placed else why[0]
        ways = self.ways_to_fill(job, fill, tasks, refused=refused)
        return None if self.place_least_harmful(job, domains, *ways) else self.refusal_of(job, why[0])

    def ways_to_fill(
        self,
        job: SessionJob,
        fill: Callable[[PlanBuilder, Sequence[Task]], bool],
        tasks: Sequence[Task],
        *,
        refused: Callable[[Task], Refusal | None] = lambda _: None,
        domains: Callable[[PlanBuilder, SubJob], Sequence[int]] | None = None,
    ) -> list[Callable[[PlanBuilder], bool]]:
        """Return ways to make a plan: with tasks in their order, and where this may miss one by an assignment.

        Args:
            job: The beneficiary.
            fill: Makes a plan with tasks in some order, beside what the attempt has already.
            tasks: Its pending tasks, first to be placed first.
            refused: Why a task may cause no evictions at all; None if it may.
            domains: In which domains a sub-job may run, by number, best first; in the attempt's where None.
        """
        self._gave_up.discard(job.id)

        def in_order(attempt: PlanBuilder) -> bool:
            return fill(attempt, tasks)

        def reordered(attempt: PlanBuilder) -> bool:
            return fill(attempt, self._most_constrained_first(attempt, tasks))

        def assigned(attempt: PlanBuilder) -> bool:
            parts = job.sub_jobs.values() if domains is not None and job.has_sub_group_policy else ()
            options = {part.id: domains(attempt, part) for part in parts} if domains is not None else {}
            places = self._assigned(attempt, [task for task in tasks if refused(task) is None], options)
            placed = {task.id for task, _ in places}
            return self._place_there(attempt, places) and fill(
                attempt, [task for task in tasks if task.id not in placed]
            )

        is_uniform = len({task.template.number for task in tasks}) <= 1
        if not may_be_missed(self._session, job, tasks, is_uniform=is_uniform):
            return [in_order]

        def otherwise(attempt: PlanBuilder) -> bool:
            for way in (assigned,) if is_uniform else (reordered, assigned):
                if way(attempt):
                    return True
                attempt.undo_to((0, 0, 0))
            return False

        return [in_order, otherwise]

    def refusal_of(self, job: SessionJob, why: Refusal) -> Refusal:
        """Return why a job has no plan: because there is none in order, or because the search for one gave up."""
        return search_ended(self._rule.action, why) if job.id in self._gave_up else why

    def _assigned(
        self, attempt: PlanBuilder, tasks: Sequence[Task], domains: Mapping[SubJobId, Sequence[int]]
    ) -> list[tuple[Task, int]]:
        """Return the places of the minimum after all permitted evictions; empty if there are none.

        The session is unchanged afterwards.
        """
        session, job = self._session, attempt.job
        if not tasks:
            return []
        with session.statement(trial=True) as statement:
            trial = replace_limits(attempt, attempt.limits)
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
        self._effort(job).steps += found.steps
        if not places and not (found.is_exhaustive and is_whole):
            self._gave_up.add(job.id)
        return [(place.task, place.column) for place in places]

    def _evict_all(self, trial: PlanBuilder, tasks: Sequence[Task]) -> tuple[IntArray, bool]:
        """Evict all permitted victims from nodes that tasks could use.

        Returns:
            The number of victims on each node, shape (N,), and whether these are all.
        """
        session, effort = self._session, self._effort(trial.job)
        victims = np.zeros(len(session.nodes), dtype=np.int64)
        columns: dict[int, Task] = {}
        for task in {session.candidates.number(task): task for task in reversed(tasks)}.values():
            columns.update((column, task) for each in self._columns(trial, task) for column in each.tolist())
        for column, task in sorted(columns.items()):
            if effort.on_trial <= 0:
                return victims, False
            on_node = session.nodes.tasks_on(column).values()
            in_turn = in_order(session, trial.job, self._proposed(trial, task, on_node))
            for unit in self.evict_in_turn(trial, task, self._permitted(trial, task, in_turn), self._rule.ask):
                # searches with a protected victim have a budget of their own
                effort.on_trial -= 0 if trial.limits.repeats else len(unit)
                self._count_by_node(unit, victims)
        return victims, True

    def _is_kept_by_queue(self, job: SessionJob, search: GangSearch, tasks: Sequence[Task]) -> bool:
        """Return whether the queue's limit, which victims on any node free, keeps a gang from places."""
        session, queue = self._session, self._session.queues.by_name[job.queue]
        return search.is_kept_by_queue or any(session.queues.allocatable(queue, task) is not None for task in tasks)

    def _evict_all_under_limit(self, trial: PlanBuilder, task: Task, victims: IntArray) -> bool:
        """Evict all permitted victims that use a limit of the queue, and count them. Return whether these are all."""
        effort = self._effort(trial.job)
        for unit in self._evict_under_limit(trial, task, _Order.IN_TURN):
            effort.on_trial -= 0 if trial.limits.repeats else len(unit)
            self._count_by_node(unit, victims)
            if effort.on_trial <= 0:
                return False
        return True

    def _count_by_node(self, unit: Unit, victims: IntArray) -> None:
        for victim in unit:
            assert victim.node is not None, "a victim has a node"
            victims[self._session.nodes.table.column[victim.node]] += 1

    def _place_there(self, attempt: PlanBuilder, places: Sequence[tuple[Task, int]]) -> bool:
        """Evict for tasks where each has its place; return whether all are placed, which are some."""
        domain = attempt.domain
        for task, column in places:
            attempt.domain = np.zeros(len(self._session.nodes), dtype=np.bool_)
            attempt.domain[column] = True
            if self.place_by_evicting(attempt, task) is not None:
                break
        attempt.domain = domain
        return bool(places) and len(attempt.places) == len(places)

    def _most_constrained_first(self, attempt: PlanBuilder, tasks: Sequence[Task]) -> list[Task]:
        """Sort tasks: those with the fewest nodes first, of equals those with the largest share of the cluster."""
        session = self._session
        room = session.nodes.columns().future_idle + self.freed(attempt)
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

    def _place_first(self, job: SessionJob, domain: BoolArray | None, fill: Callable[[PlanBuilder], bool]) -> bool:
        """Commit the first plan; return whether there is one."""
        for takes_gangs in self._rule.modes:
            with self._session.statement() as statement:
                attempt = PlanBuilder(job, statement, HarmLimits(takes_gangs), domain)
                if fill(attempt):
                    self.keep(attempt)
                    return True
        return False

    def place_least_harmful(
        self, job: SessionJob, domains: Sequence[BoolArray | None], *fills: Callable[[PlanBuilder], bool]
    ) -> bool:
        """Commit the least harmful plan in any of some domains; return whether there is one.

        Args:
            job: The beneficiary.
            domains: Domains that it may use, best first.
            fills: Ways to make a plan, each of which tries one and returns whether it succeeded.
        """
        effort = self._effort(job)
        masks = [each for each in domains if each is not None]
        where = None if len(masks) < len(domains) else np.logical_or.reduce(masks)

        def search(limits: HarmLimits) -> Found | None:
            best: Found | None = None
            for domain in domains:
                for fill in fills:
                    found = self._try(PlanBuilder(job, self._session.statement(), limits, domain), fill)
                    if found is not None and found.is_committed:
                        return found
                    if found is None or (best is not None and found.rank >= best.rank):
                        continue
                    best = found
                    if meets_bound(best, limits):
                        return best if limits.repeats else replace(best, is_least=True)
            if best is not None and not limits.repeats:
                effort.search.goes_on()
            return best

        def bound(found: Found, limits: HarmLimits) -> Harm | None:
            return self._least_possible.of_plan(job, [task for task, _ in found.places], where, limits, effort)

        def meets_bound(found: Found, limits: HarmLimits) -> bool:
            if found.is_partial:
                return False  # a plan with more places may be more harmful
            within = HarmLimits(self._rule.modes[-1], protected=limits.protected, only=limits.only)
            least = bound(found, within)
            return least is not None and found.harm._replace(stopped=0) <= least

        cut_short = effort.cut_short
        best = least_harmful(self._rule.modes, search, bound, effort)
        if effort.cut_short > cut_short:
            self._note_cut_short()
        if best is None or best.is_committed:
            return best is not None
        with self._session.statement() as statement:
            attempt = PlanBuilder(
                job, statement, HarmLimits(takes_gangs=True), best.domain, list(best.units), list(best.places)
            )
            if not self._replay(attempt, attempt.units):
                return False
            self.keep(attempt)
        return True

    def _note_cut_short(self) -> None:
        """Count a plan beside which less harmful ones may exist, since the search for them gave up."""
        self._session.report.sample("least_harm_searches_cut_short_total", 1, kind="counter", action=self._rule.action)

    def _try(self, attempt: PlanBuilder, fill: Callable[[PlanBuilder], bool]) -> Found | None:
        """Make a plan on trial; one that cannot be less harmful is committed, else nothing has changed afterwards."""
        with attempt.statement:
            if not fill(attempt):
                return None
            last = self._last_of_stopped(attempt)
            harm = self._harm(attempt)._replace(stopped=len(last))
            # one with a protected victim is compared with the plan that has it
            is_least = not attempt.limits.repeats and not last and self._is_least(attempt, harm)
            if is_least:
                self.keep(attempt)
            return Found(
                harm,
                is_least=is_least,
                is_partial=attempt.why is not None and attempt.job.counts[TaskStatus.PENDING] > 0,
                is_committed=is_least,
                domain=attempt.domain,
                units=tuple(attempt.units),
                places=tuple(attempt.places),
                last=last,
            )

    def _last_of_stopped(self, attempt: PlanBuilder) -> tuple[TaskId, ...]:
        """Return one victim of each elastic job that an attempt stops. To be asked before it is undone."""
        lost = {task.job: task.id for unit in attempt.units for task in unit}
        jobs = ((self._session.jobs.get(job_id), task) for job_id, task in lost.items() if job_id is not None)
        return tuple(task for job, task in jobs if job is not None and job is not attempt.job and is_stopped(job))

    def _harm(self, attempt: PlanBuilder) -> Harm:
        return Harm.of(attempt.units, self._importance)

    def _importance(self, task: Task) -> int:
        job = self._session.jobs.of(task)
        return 0 if job is None else self._rule.importance(task, job)

    def _is_least(self, attempt: PlanBuilder, harm: Harm) -> bool:
        """Return whether no plan for the job can be less harmful, as far as is easily seen."""
        if not harm.victims:
            return True
        if attempt.why is not None:
            return False  # with other victims the task that was refused may have a place as well
        least = self._least_of(attempt.job)
        if harm.highest > least.lowest:
            return False
        if harm.gangs:
            return harm.gangs == 1 and harm.victims == least.gang
        return harm.victims == 1 or harm.victims <= self._fewest_victims(attempt)

    def _fewest_victims(self, attempt: PlanBuilder) -> int:
        """Return a lower bound of the number of victims of any plan for the tasks that the job needs.

        Of equal tasks each node has places for so many without evictions, and one more victim makes so many more at
        most. Where all of unlike tasks are needed, the free capacity and the victims must be as large as these
        together.
        """
        session, job = self._session, attempt.job
        tasks = [task for task, _ in attempt.places]
        needed = min(job.min_available - job.ready_count - job.waiting_count + len(tasks), len(tasks))
        is_uniform = all(task.template is tasks[0].template for task in tasks)
        if needed <= 0 or not (is_uniform or (needed == len(tasks) and not job.counts[TaskStatus.PENDING])):
            return 1
        requests = [session.nodes.needs(task.template).request for task in tasks]
        room, largest = self._before(attempt)
        asked = np.flatnonzero(np.sum(requests, axis=0) > 0)
        room, largest = room[asked], largest[asked]
        if not is_uniform:
            lacking = np.sum(requests, axis=0)[asked] - room.sum(axis=1)
            return int((-(-lacking // np.maximum(largest, 1))).max(initial=1))
        request = requests[0][asked]
        free = int((room // request[:, None]).min(axis=0).sum())
        by_one = int((-(-largest // request)).max(initial=1))
        return -(-(needed - free) // by_one)

    def _before(self, attempt: PlanBuilder) -> tuple[IntArray, IntArray]:
        """Return the capacity that a plan found on each node, shape (R, N), and the most that one victim frees."""
        nodes = self._session.nodes
        room, largest = nodes.columns().future_idle.copy(), self._all.largest()
        for victim in (victim for unit in attempt.units for victim in unit):
            assert victim.node is not None, "a victim has a node"
            freed = nodes.needs(victim.template).request
            room[:, nodes.table.column[victim.node]] -= freed
            largest = np.maximum(largest, freed)
        for task, column in attempt.places:
            room[:, column] += nodes.needs(task.template).request
        return np.maximum(room, 0), largest

    def place_unharmed(
        self,
        job: SessionJob,
        tasks: Sequence[Task],
        *,
        refused: Callable[[Task], Refusal | None],
        domain: BoolArray | None,
    ) -> bool:
        """Do the same if no eviction is needed. Return whether there is such a plan."""
        with self._session.statement() as statement:
            attempt = PlanBuilder(job, statement, HarmLimits(takes_gangs=False), domain)

            def place(task: Task) -> bool:
                is_free = refused(task) is None and self._session.candidates.pre_predicate(task) is None
                return is_free and self.place_without(attempt, task)

            if self._reaches_minimum(attempt, tasks, place):
                return self.finish(attempt)
        return False

    def exchange(self, job: SessionJob, task: Task) -> bool:
        """Place one task in the places of less important tasks of its own job. Return whether there is such a plan."""

        def fill(attempt: PlanBuilder) -> bool:
            return self.place_by_evicting(attempt, task) is None and self.settles(attempt)

        return (
            self.place_least_harmful(job, [None], fill) if self._rule.least_harm else self._place_first(job, None, fill)
        )

    def _reaches_minimum(self, attempt: PlanBuilder, tasks: Sequence[Task], place: Callable[[Task], bool]) -> bool:
        """Place what makes a job ready, and more as long as it starves. Return whether that is worth a plan."""
        session, job = self._session, attempt.job
        known: tuple[int, bool] = (-1, False)

        def goes_on() -> bool:  # asked before each task, but most find no place, which changes nothing
            nonlocal known
            moment = len(session.nodes.log)
            if known[0] != moment:
                known = moment, session.jobs.job_starving(job) or not session.jobs.job_pipelined(job)
            return known[1]

        self.fill(attempt, tasks, goes_on, place)
        return bool(attempt.places) and session.jobs.job_pipelined(job) and self.completes(attempt)

    def fill(
        self,
        attempt: PlanBuilder,
        tasks: Sequence[Task],
        goes_on: Callable[[], bool],
        place: Callable[[Task], bool],
        masks: Callable[[SubJob], Sequence[BoolArray | None]] | None = None,
    ) -> None:
        """Place the tasks that make a job ready, with substitutes for those that find no place; then further tasks.

        Args:
            attempt: The plan in the making.
            tasks: Pending tasks of the job, first to be placed first.
            goes_on: Whether more is to be placed.
            place: Places a task on the attempt's nodes, and returns whether it did.
            masks: The nodes on which a sub-job may run, best first; the attempt's where None.
        """
        job, domain, left = attempt.job, attempt.domain, {task.id: task for task in tasks}
        where = masks or (lambda _: [domain])
        is_chosen_anew = True
        while is_chosen_anew:
            is_chosen_anew = False
            for part, step in steps_to_minimum(self._session, job, left.values()):
                if not goes_on():
                    break
                if step[0].id not in left:
                    continue  # it was to go to a sub-job that could not be made up
                if self._is_made_up(part):
                    tried = _place_each(attempt, step, place, where(part))
                else:
                    members = {task.id: task for task in (*step, *left.values()) if part.holds(task.id)}
                    tried = self._make_up(attempt, part, list(members.values()), place, where(part))
                for task_id in tried:
                    del left[task_id]
                if not all(tried.values()):
                    is_chosen_anew = True
                    if any(tried.values()):  # what follows was chosen beside others than these
                        break
        for task in left.values():
            part_of = job.part_of(task)
            if part_of is not None and self._is_made_up(part_of) and goes_on():
                _place_each(attempt, [task], place, where(part_of))
        attempt.domain = domain

    def _make_up(
        self,
        attempt: PlanBuilder,
        part: SubJob,
        tasks: Sequence[Task],
        place: Callable[[Task], bool],
        where: Sequence[BoolArray | None],
    ) -> dict[TaskId, bool]:
        """Place tasks of a sub-job on the first nodes that complete it. Return whether each tried task has a place."""
        for attempt.domain in where:
            mark = attempt.mark()
            tried: dict[TaskId, bool] = {}
            for task in tasks:
                if not self._is_made_up(part):
                    tried[task.id] = place(task)
            if self._is_made_up(part):
                return tried
            attempt.undo_to(mark)
        return dict.fromkeys((task.id for task in tasks), False)

    def _is_made_up(self, part: SubJob) -> bool:
        """Return whether further tasks of a sub-job may be placed one by one."""
        return not part.job.has_sub_group_policy or self._session.jobs.sub_job_pipelined(part)

    def _too_few(self, attempt: PlanBuilder, tasks: Sequence[Task]) -> Refusal:
        """Return the reason that a job gets no plan with places for all its tasks."""
        if not attempt.job.waits_for_best_effort:
            return too_few_tasks(self._rule.action, len(tasks))
        message = "no node is suitable for a best-effort member, without which the minimum is not reached"
        return Refusal(plugin=self._rule.action, reason=TOO_FEW_TASKS, message=message)

    def completes(self, attempt: PlanBuilder) -> bool:
        """Place best-effort members if the minimum counts on them, and return whether all have a place."""
        job = attempt.job
        for task in self._session.jobs.pending_tasks(job) if job.waits_for_best_effort else ():
            if job.counts_as_placed(task) and not task.gated:
                self.place_without(attempt, task)
            if not job.waits_for_best_effort:
                break
        return not job.waits_for_best_effort

    def finish(self, attempt: PlanBuilder) -> bool:
        """Give back the victims that are not needed, and commit what is left as a plan. Return whether there is one."""
        if not self.settles(attempt):
            return False
        self.keep(attempt)
        return True

    def settles(self, attempt: PlanBuilder) -> bool:
        """Give back the victims that are not needed; return whether all tasks get their places then."""
        if not (self._spare_unneeded(attempt) and self._is_had_in_turn(attempt)):
            count = {OUT_OF_TURN: len({column for _, column in attempt.places})}
            attempt.why = no_plan(self._session, self._rule.action, attempt.places[0][0], count, count)
            return False
        return True

    def _is_had_in_turn(self, attempt: PlanBuilder) -> bool:
        """Return whether its tasks get their places one by one after all evictions, as they are bound.

        Else undo the plan. Where a ledger chooses for a task, a card for example, it may choose with all victims gone
        what was not free when the task was placed, and what only another of them can use.
        """
        if not attempt.units or not any(self._session.extensions.chooses_for(task) for task, _ in attempt.places):
            return True
        attempt.statement.undo_to(0)
        if self._replay(attempt, attempt.units):
            return True
        attempt.statement.undo_to(0)
        return False

    def keep(self, attempt: PlanBuilder) -> None:
        """Commit a plan that evicts, or hold one that does not."""
        statement = attempt.statement
        if not attempt.units:
            if not self._is_bound_later(attempt):
                statement.hold()
            return
        for operation in statement.operations:
            # also places on capacity that was free: one plan waits, and is kept capacity for, together
            operation.evicts_for = operation.change.verb is not Verb.EVICT
        statement.commit()

    def _is_bound_later(self, attempt: PlanBuilder) -> bool:
        """Return whether another action binds what needs no evictions: held now it would never be bound.

        Allocate does where it is still to come; what asks for nothing at all is for backfill alone.
        """
        allocate_follows = "allocate" in self._session.following_actions
        return allocate_follows or all(task.template.best_effort for task, _ in attempt.places)

    def _least_of(self, job: SessionJob) -> "_Least":
        """Return the lowest priority and the smallest gang among the jobs that may lose tasks to a job."""
        if self._rule.within_job:
            return _Least(min((task.priority for task in whole_gang(job)), default=NO_VICTIM), 1)
        known = self._least.get(job.queue)
        if known is None:
            known = self._least[job.queue] = self._find_least(job.queue)
        return known

    def _find_least(self, queue: QueueName) -> "_Least":
        """Return the bound for the whole session: a gang that is evicted whole has its minimum, or never had it."""
        if self._known_jobs is None:
            self._known_jobs = [(each.queue, each.priority, _gang_size(each)) for each in self._order.jobs()]
        jobs = [each for each in self._known_jobs if (each[0] == queue) is self._rule.same_queue]
        lowest = min((priority for _, priority, _ in jobs), default=NO_VICTIM)
        return _Least(lowest, min((size for *_, size in jobs if size), default=1))

    def freed_at_once(self, attempt: PlanBuilder) -> IntArray:
        """Return the most that the eviction of one task frees, base units, shape (R,)."""
        room = self._all if attempt.takes_gangs else self._sparing
        return room.largest()

    def measure(self) -> None:
        """Report on how many nodes victims were looked for, and how many were permitted on the last one."""
        if self._attempts:
            self._session.report.sample("pod_preemption_victims", self._last_victims)
            self._session.report.sample("total_preemption_attempts", self._attempts, kind="counter")

    # One task ---------------------------------------------------------------------------------------------------------

    def place_by_evicting(self, attempt: PlanBuilder, task: Task) -> Refusal | None:
        """Place a task, unless no eviction helps it, or an equal task found no place and nothing changed since.

        Returns:
            The reason that it has no place; None if it has one.
        """
        session = self._session
        if not self._effort(attempt.job).search.may_try():
            self._gave_up.add(attempt.job.id)
            return search_ended(self._rule.action, None)
        refusal = whoever_goes(session, self._rule.action, task)
        if refusal is not None:
            return refusal
        if session.candidates.answers.beyond(task) is not None:
            return self._place_one(attempt, task)
        where = None if attempt.domain is None else attempt.domain.tobytes()
        key = (*self.key(attempt, task), where)
        known = self._failed.get(key)
        if known is None or known[0] != len(session.nodes.log):
            refusal = self._place_one(attempt, task)
            if refusal is None or self._gives_up(attempt.job):
                return refusal
            known = self._failed[key] = (len(session.nodes.log), refusal)
        attempt.unplaced = task, session.queues.kind(task), known[0], where
        return known[1]

    def _has_failed(self, attempt: PlanBuilder, task: Task) -> bool:
        """Return whether a task or its like found no place within the same limits, and nothing changed since."""
        if self._session.candidates.answers.beyond(task) is not None:
            return False
        where = None if attempt.domain is None else attempt.domain.tobytes()
        known = self._failed.get((*self.key(attempt, task), where))
        return known is not None and known[0] == len(self._session.nodes.log)

    def _gives_up(self, job: SessionJob) -> bool:
        """Return whether the search for a job's plan has ended, because too many nodes failed."""
        if self._effort(job).search.is_stopped:
            self._gave_up.add(job.id)
            return True
        return False

    def key(self, attempt: PlanBuilder, task: Task) -> tuple[Any, ...]:
        """Name all of a task and its job that the search for victims depends on."""
        job, rule = attempt.job, self._rule
        # a job that could lose tasks to its like, but not to itself, is like no other
        may_lose = rule.same_queue and any(job.counts[status] for status in rule.statuses)
        is_like_others = rule.alike and not may_lose and not self._session.held.has_lost(job.id)
        own = job.allocated.tobytes() if is_like_others else job.id
        return (
            *(attempt.limits, task.template.number, task.priority, task.revocable_zone),
            *(job.queue, job.priority, own, job.job.revocable_zone, self._session.queues.kind(task)),
        )

    def _place_one(self, attempt: PlanBuilder, task: Task) -> Refusal | None:
        # a task that fits beside its siblings is no reason to rearrange them: allocate places it, with its gang
        if not self._rule.within_job and self.place_without(attempt, task):
            return None
        self.note_vetoes(attempt, task)
        # a plan that evicts whole gangs evicts none for a task for which tasks that can be spared suffice
        modes = self._rule.modes[: 1 + attempt.takes_gangs]
        if self._rule.least_harm:
            attempt.tried.clear()
            choice = self._least_harmful_node(attempt, task, modes)
            if choice is not None and (choice.trial.is_kept or self._evict_there(attempt, task, choice)):
                return None
            if choice is None and self._evict_elsewhere(attempt, task):
                return None
        elif any(self._evict_for(attempt, task, takes_gangs=takes_gangs) for takes_gangs in modes):
            return None
        return self._session.candidates.answers.unscored.get(task.id) or self._no_room(attempt, task)

    def _evict_for(self, attempt: PlanBuilder, task: Task, *, takes_gangs: bool) -> bool:
        """Place a task on the first node on which evictions make a place. Return whether there is one."""
        limits, attempt.limits = attempt.limits, attempt.limits._replace(takes_gangs=takes_gangs)
        attempt.tried.clear()
        columns: Iterable[int] = (column for each in self._columns(attempt, task) for column in each.tolist())
        if self._rule.looks_first is Looks.LEAST_HARM:
            columns = self._by_harm(attempt, task, columns)
        is_placed = any(self._try_each(attempt, columns, lambda column: self._evict_on(attempt, task, column)))
        attempt.limits = limits
        return is_placed

    def _try_each(
        self, attempt: PlanBuilder, columns: Iterable[int], succeeds: Callable[[int], bool]
    ) -> Iterator[bool]:
        """Try nodes until the search for a job ends; yield whether each was a success."""
        effort = self._effort(attempt.job)
        for column in columns:
            if not effort.search.may_try():
                return
            if effort.search.passes_over():
                attempt.tried.setdefault(column, TRIED_BEFORE)
                continue
            if succeeds(column):
                effort.note_success(is_kept=True)
                yield True
            else:
                effort.note_in_vain()
                yield False

    def _least_harmful_node(self, attempt: PlanBuilder, task: Task, modes: Sequence[bool]) -> _Choice | None:
        """Return the node where the victims matter least, beside those that the plan has."""
        best: _Choice | None = None
        before = self._harm(attempt)
        floor = max(before.highest, attempt.limits.floor)
        for takes_gangs in modes:
            limits = attempt.limits._replace(takes_gangs=takes_gangs, floor=floor)
            if limits != attempt.limits and self._has_failed(replace_limits(attempt, limits), task):
                continue
            if best is not None:
                if best.key[0] <= floor:
                    break
                limits = limits._replace(highest=min(limits.highest, best.key[0] - 1))
            best = self._least_on_nodes(attempt, task, limits) or best
        return best

    def _least_on_nodes(self, attempt: PlanBuilder, task: Task, limits: HarmLimits) -> _Choice | None:
        """Try nodes, those first whose bound is lowest; keep what meets its bound, since no other can be better."""
        within = replace_limits(attempt, limits)
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *self._columns(within, task)])
        if not columns.size:
            return None
        bounds = self._bounds(within, task, columns)
        best: _Choice | None = None
        successes, effort = 0, self._effort(attempt.job)
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
            tie = harm_of_node([each for unit in trial.units for each in unit]) if self._compares_nodes else ()
            key = (*trial.harm, *tie, position)
            if best is None or key < best.key:
                best = _Choice(key, int(columns[position]), trial)
            if trial.is_kept:
                break
        return best

    def _bounds(self, attempt: PlanBuilder, task: Task, columns: IntArray) -> list[IntArray]:
        """Return by column at least how high, how many gangs and how many victims it takes; never too much."""
        session, needs = self._session, self._session.nodes.needs(task.template)
        future = session.reserved.future_room(task, columns)
        lacking = np.maximum(needs.thresholds - future, 0)
        least = self._least_of(attempt.job)
        largest = self.freed_at_once(attempt)
        victims = np.zeros(columns.size, dtype=np.int64)
        rows = np.flatnonzero(lacking.any(axis=1))  # most often one or two of many, and divisions are slow
        if rows.size:
            victims = np.max(-(-lacking[rows] // np.maximum(largest[rows], 1)[:, None]), axis=0)
        gangs = np.zeros(columns.size, dtype=np.int64)
        if attempt.takes_gangs:
            spared = self.freed(replace_limits(attempt, attempt.limits._replace(takes_gangs=False)))[:, columns]
            gangs = np.logical_or.reduce(needs.thresholds > future + spared, axis=0).astype(np.int64)
            victims = np.where(gangs, np.maximum(victims, least.gang), victims)
        highest = np.full(columns.size, max(attempt.limits.floor, least.lowest), dtype=np.int64)
        return [highest, gangs, victims]

    def _least_on(self, attempt: PlanBuilder, task: Task, column: int, enough: Harm | None) -> _Trial | None:
        """Return the least harmful evictions on a node for a task; those that harm no more than `enough` are kept."""
        session = self._session
        on_node = session.nodes.tasks_on(column).values()
        in_turn = in_order(session, attempt.job, self._proposed(attempt, task, on_node))
        if self._rule.same_queue and attempt.job.pending_best_effort:
            # best-effort members of the job can evict no other pods than these
            in_turn.sort(key=lambda victim: victim.template.best_effort)
        self._attempts += 1
        self._effort(attempt.job).steps += 1
        by_priority = {victim.id: self._importance(victim) for victim in in_turn}
        for highest in sorted({max(attempt.limits.floor, each) for each in by_priority.values()}):
            candidates = [victim for victim in in_turn if by_priority[victim.id] <= highest]
            if not self._could_fit(task, column, candidates):
                continue
            within = replace_limits(attempt, attempt.limits._replace(highest=highest))
            best: _Trial | None = None
            for order in self._orders(task, column, candidates):
                trial = self._try_on(within, task, column, order, enough)
                if trial is not None and (best is None or trial.harm < best.harm):
                    best = trial
                if best is not None and best.is_kept:
                    break
            if best is not None:
                return best
        permitted = self._permitted(attempt, task, in_turn)
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
        by_help = self._most_helpful_first(task, column, in_turn)
        if by_help != in_turn:
            yield by_help

    def _try_on(
        self, attempt: PlanBuilder, task: Task, column: int, order: Sequence[Task], enough: Harm | None
    ) -> _Trial | None:
        """Evict from a node in one order on trial, and give back what is not needed."""
        permitted = self._permitted(attempt, task, order)
        self._last_victims = len(permitted)
        if not permitted:
            return None
        with self._session.statement() as statement:
            trial = _on_trial(attempt, statement)
            if not self._evict_until_it_fits(trial, task, column, permitted):
                return None
            if not self._spare_unneeded(trial):
                return None
            harm = self._harm(trial)
            harm = harm._replace(highest=max(harm.highest, attempt.limits.floor))
            units = tuple(trial.units)
            is_kept = enough is not None and harm <= enough
            if is_kept:
                attempt.take_over(trial)
            return _Trial(harm, units, is_kept)

    def _evict_there(self, attempt: PlanBuilder, task: Task, choice: _Choice) -> bool:
        """Do what was found on trial."""
        mark = attempt.mark()
        for unit in choice.trial.units:
            if not _evict(self._session, attempt.statement, unit, self._rule.action):
                attempt.undo_to(mark)
                return False
            attempt.units.append(unit)
        if self._settle(attempt, task, choice.column):
            return True
        attempt.undo_to(mark)
        return False

    def _evict_elsewhere(self, attempt: PlanBuilder, task: Task) -> bool:
        """Place a task that its queue's limit keeps back, by evicting on any nodes until its queue takes it.

        On its own node as much is evicted as it takes for its capacity.
        """
        session, rule = self._session, self._rule
        queue = session.queues.by_name[attempt.job.queue]
        if rule.within_job or session.queues.allocatable(queue, task) is None:
            return False
        if not rule.same_queue and not self._ancestors(queue.name):
            return False
        choice: _Choice | None = None

        def makes_room(column: int) -> bool:
            nonlocal choice
            with session.statement() as statement:
                if not self._make_room_on(_on_trial(attempt, statement), task, column):
                    return False
            trial = self._least_elsewhere(attempt, task, column)
            choice = None if trial is None else _Choice((), column, trial)
            return True  # on other nodes the same victims would free no more of the limit

        any(self._try_each(attempt, self._columns_with_room(attempt, task), makes_room))
        return choice is not None and self._evict_there(attempt, task, choice)

    def _least_elsewhere(self, attempt: PlanBuilder, task: Task, column: int) -> _Trial | None:
        """Return the least harmful evictions that make room on a node and free the queue's limit on any nodes.

        The limit is freed first only where the other way fails: a queue that may lose no more once it is down to what
        it deserves can lose its small pods before a large one, and not after it.
        """

        def room(trial: PlanBuilder) -> bool:
            return self._make_room_on(trial, task, column)

        def limit(order: _Order) -> Callable[[PlanBuilder], bool]:
            return lambda trial: self._free_limit(trial, task, order)

        room_first = [(room, limit(order)) for order in (_Order.IN_TURN, _Order.LARGEST_FIRST)]
        limit_first = [(limit(order), room) for order in _Order]
        for ways in (room_first, limit_first):
            found = [trial for each in ways if (trial := self._try_elsewhere(attempt, task, column, each)) is not None]
            if found:
                return min(found, key=lambda trial: trial.harm)
        return None

    def _try_elsewhere(
        self, attempt: PlanBuilder, task: Task, column: int, steps: Sequence[Callable[[PlanBuilder], bool]]
    ) -> _Trial | None:
        """Evict on trial by some steps, and give back what is not needed."""
        with self._session.statement() as statement:
            trial = _on_trial(attempt, statement)
            if not (all(step(trial) for step in steps) and self._fits(trial.job, task, column)):
                return None
            if not self._settle(trial, task, column):
                return None
            if not self._spare_unneeded(trial):
                return None
            return _Trial(self._harm(trial), tuple(trial.units), is_kept=False)

    def _columns_with_room(self, attempt: PlanBuilder, task: Task) -> Iterator[int]:
        """Yield the node that has capacity for a task; where there is none those on which evictions might make it."""
        choice = self._session.candidates.of(task).choose(task, attempt.domain)
        if choice is not None:
            yield choice.column
            return
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *self._columns(attempt, task)])
        if columns.size:
            yield from columns[np.lexsort((*reversed(self._bounds(attempt, task, columns)),))].tolist()

    def _make_room_on(self, attempt: PlanBuilder, task: Task, column: int) -> bool:
        """Evict on a node until it takes a task, whatever the queue's limit; return whether it does."""
        session = self._session
        if session.candidates.of(task).takes(task, column):
            return True
        in_turn = in_order(session, attempt.job, self._proposed(attempt, task, session.nodes.tasks_on(column).values()))
        permitted = self._permitted(attempt, task, self._most_helpful_first(task, column, in_turn))
        evicted = self.evict_in_turn(attempt, task, permitted, self._rule.ask)
        return any(session.candidates.of(task).takes(task, column) for _ in evicted)

    def _free_limit(self, attempt: PlanBuilder, task: Task, order: _Order) -> bool:
        """Evict on any nodes until a task's queue takes it; return whether it does."""
        session, effort = self._session, self._effort(attempt.job)
        queue = session.queues.by_name[attempt.job.queue]
        if session.queues.allocatable(queue, task) is None:
            return True
        for unit in self._evict_under_limit(attempt, task, order):
            # searches with a protected victim have a budget of their own
            effort.on_trial -= 0 if attempt.limits.repeats else len(unit)
            if effort.on_trial <= 0:
                self._gave_up.add(attempt.job.id)
                return False
            if session.queues.allocatable(queue, task) is None:
                return True
        return False

    def _evict_under_limit(self, attempt: PlanBuilder, task: Task, order: _Order) -> Iterator[Unit]:
        """Evict on any nodes from queues that use a limit of a task's queue, those of the nearest relatives first."""
        rule, own = self._rule, attempt.job.queue
        considered = [job for job in self._order.jobs() if rule.considers_job(attempt.job, job)]
        ancestors = self._ancestors(own)
        groups = [considered]
        if not rule.same_queue:
            lines = {name: self._ancestors(name) for name in {job.queue for job in considered}}
            nearest = {name: next((each for each in ancestors if each in line), None) for name, line in lines.items()}
            groups = [[job for job in considered if nearest[job.queue] == each] for each in ancestors]
        for jobs in groups:
            in_turn = self._order.iterate(attempt.job, jobs, None)
            candidates = [victim for victim in in_turn if self._may_be_asked_about(attempt, task, victim)]
            candidates = self._sorted_by_size(attempt, task, candidates, order)
            yield from self.evict_in_turn(attempt, task, self._permitted(attempt, task, candidates), rule.ask)

    def _ancestors(self, queue: QueueName) -> list[QueueName]:
        """Return the queues above a queue whose limits it shares with others, nearest first.

        The root's is the size of the cluster, unless it has one of its own.
        """
        queues = self._session.snapshot.queues
        above = list(with_ancestors(queues, queue))[1:]
        return [name for name in above if name != ROOT_QUEUE or queues[name].capability]

    def _no_room(self, attempt: PlanBuilder, task: Task) -> Refusal:
        """Return why no evictions free enough capacity for a task on any node, after all nodes were tried."""
        session = self._session
        nodes = np.ones(len(session.nodes), dtype=np.bool_) if attempt.domain is None else attempt.domain
        helped = np.logical_or.reduce(
            session.candidates.answers.shard_groups(session.candidates.answers.permitted_by_facts(task))
        )
        lose = np.logical_or.reduce(self.freed(attempt) > 0, axis=0)
        counts = count_by_reason(nodes, helped, lose, attempt.tried)
        return no_plan(session, self._rule.action, task, counts, counts)

    def note_vetoes(self, attempt: PlanBuilder, task: Task) -> None:
        """Note the tasks that the rule protects, also on nodes without other candidates.

        The number of these tasks is limited for all searches of a session together.
        """
        if self._looks <= 0 or self._rule.within_job:
            return
        helped = self._session.candidates.answers.permitted_by_facts(task)
        for column in np.flatnonzero(helped if attempt.domain is None else helped & attempt.domain).tolist():
            on_node = self._session.nodes.tasks_on(column)
            self._proposed(attempt, task, on_node.values())
            self._looks -= len(on_node)
            if self._looks <= 0:
                return

    def place_without(self, attempt: PlanBuilder, task: Task) -> bool:
        """Place a task where capacity is free or being released, by this plan too. Return whether there is a place."""
        session = self._session
        queue = session.queues.by_name[attempt.job.queue]
        if session.queues.allocatable(queue, task) is not None or not session.candidates.has_room(task):
            return False
        choice = session.candidates.of(task).choose(task, attempt.domain)
        return choice is not None and self._settle(attempt, task, choice.column)

    def _by_harm(self, attempt: PlanBuilder, task: Task, columns: Iterable[int]) -> Iterator[int]:
        """Yield the node that would suffer least, after trying all of them, then the next."""
        tried = []

        def note_harm(column: int) -> bool:
            with self._session.statement() as statement:
                trial = _on_trial(attempt, statement)
                if not self._evict_on(trial, task, column):
                    return False
                self._spare_unneeded(trial)
                tried.append((harm_of_node([victim for unit in trial.units for victim in unit]), column))
                return True

        for _ in self._try_each(attempt, columns, note_harm):
            pass
        return (column for _, column in sorted(tried))

    def freed(self, attempt: PlanBuilder) -> IntArray:
        """Return how much capacity evictions could free on each node at most, base units, shape (R, N)."""
        room = self._all if attempt.takes_gangs else self._sparing
        queue = attempt.job.queue
        return room.of_queue(queue) if self._rule.same_queue else room.of_others(queue)

    def _columns(self, attempt: PlanBuilder, task: Task) -> Iterator[IntArray]:
        """Yield nodes on which evictions might make a place, in the rule's order, in groups one after the other."""
        session, rule = self._session, self._rule
        freed = self.freed(attempt)
        needs = session.nodes.needs(task.template)
        future = session.reserved.future_room(task)
        possible = np.logical_and.reduce(needs.thresholds <= future + freed, axis=0)
        possible &= freed.any(axis=0)
        if rule.within_job:
            possible &= self._nodes_of(attempt.job)
        permitted = session.candidates.answers.permitted_by_facts(task)
        if attempt.domain is not None:
            permitted = permitted & attempt.domain
        if not (possible & permitted).any():
            return  # candidates and their scores cost many times as much
        for group in session.candidates.answers.shard_groups(permitted):
            # scores are compared among all nodes that evictions could ever help, whatever pods can be evicted now
            by_score = rule.looks_first is Looks.BEST_SCORE and (group & possible).any()
            columns = session.candidates.of(task).ranked(task, group) if by_score else np.flatnonzero(group)
            yield columns[possible[columns]]

    def _nodes_of(self, job: SessionJob) -> BoolArray:
        nodes = self._session.nodes
        mask = np.zeros(len(nodes), dtype=np.bool_)
        for task in whole_gang(job):
            column = nodes.table.column.get(task.node) if task.node is not None else None
            if column is not None:
                mask[column] = True
        return mask

    def _evict_on(self, attempt: PlanBuilder, task: Task, column: int) -> bool:
        """Evict as few as needed from a node, first victim first, until a task can be placed there.

        Where gangs spare few, and those few free nothing of what the task lacks, others of them may: then once more,
        those first that free most of it.
        """
        on_node = self._session.nodes.tasks_on(column).values()
        in_turn = in_order(self._session, attempt.job, self._proposed(attempt, task, on_node))
        permitted = self._permitted(attempt, task, in_turn)
        self._attempts += 1
        self._last_victims = len(permitted)
        if not permitted:
            attempt.tried[column] = ALL_SPARED
            return False
        if self._evict_until_it_fits(attempt, task, column, permitted):
            return True
        by_help = self._most_helpful_first(task, column, in_turn) if len(permitted) < len(in_turn) else in_turn
        if by_help == in_turn:
            return False
        return self._evict_until_it_fits(attempt, task, column, self._permitted(attempt, task, by_help))

    def _most_helpful_first(self, task: Task, column: int, victims: Sequence[Task]) -> list[Task]:
        """Sort victims on a node by how much of what a task lacks there each would free."""
        nodes = self._session.nodes
        room = self._session.reserved.future_room(task, np.array([column]))[:, 0]
        lacking = nodes.needs(task.template).thresholds[:, 0] - room
        rows = [(row, amount) for row, amount in enumerate(lacking.tolist()) if amount > 0]

        def help_of(victim: Task) -> Fraction:
            request = nodes.needs(victim.template).amounts
            return sum((Fraction(min(request[row], amount), amount) for row, amount in rows), start=Fraction(0))

        return sorted(victims, key=help_of, reverse=True)

    def _sorted_by_size(self, attempt: PlanBuilder, task: Task, victims: list[Task], order: _Order) -> list[Task]:
        """Sort victims by how much each, or its gang, has of what a task requests, in proportion; ties stay in turn."""
        if order is _Order.IN_TURN:
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
        return sorted(victims, key=lambda victim: sizes[victim.id], reverse=order is _Order.LARGEST_FIRST)

    def _evict_until_it_fits(self, attempt: PlanBuilder, task: Task, column: int, permitted: Sequence[Task]) -> bool:
        mark = attempt.mark()
        for _ in self.evict_in_turn(attempt, task, permitted, self._rule.ask):
            if self._fits(attempt.job, task, column):
                if self._settle(attempt, task, column):
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

    def _permitted(self, attempt: PlanBuilder, task: Task, in_turn: Sequence[Task]) -> list[Task]:
        """Return the candidates that may be evicted for a task, by their gangs and the plugins."""
        sparable = list(self._sparable(attempt, task, in_turn))
        return self._rule.ask(task, sparable) if sparable else []

    def _proposed(self, attempt: PlanBuilder, task: Task, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks that plugins are queried about, and record a veto for those that the rule protects."""
        session, rule = self._session, self._rule
        proposed = []
        for victim in tasks:
            job = session.jobs.of(victim) if victim.status in _ON_NODE else None
            if job is None or not rule.concerns(attempt.job, job):
                continue
            if not self._is_within(attempt, victim, job):
                continue
            veto = rule.veto(attempt.job, task, victim, job)
            if veto is None:
                proposed.append(victim)
            else:
                session.evictions.note_veto(victim.id, task, veto)
        return proposed

    def _is_within(self, attempt: PlanBuilder, victim: Task, job: SessionJob) -> bool:
        limits = attempt.limits
        if not limits.permits(victim.id):
            return False
        return limits.highest == ANY_PRIORITY or self._rule.importance(victim, job) <= limits.highest

    def _sparable(self, attempt: PlanBuilder, task: Task, candidates: Iterable[Task]) -> Iterator[Task]:
        """Exclude candidates that their gangs cannot spare, if no gang is evicted whole.

        They cannot be evicted even with permission, and would use up the allowance that counting plugins give their
        queue.
        """
        surplus: dict[JobId, Surplus] = {}
        active: dict[JobId, int] = {}
        for victim in candidates:
            job = self._session.jobs.of(victim)
            assert job is not None, "a victim has a job"
            if attempt.takes_gangs or job is attempt.job:
                yield victim
                continue
            if job.id not in surplus:
                surplus[job.id], active[job.id] = Surplus(job), active_count(job)
            if active[job.id] == 1 or surplus[job.id].take(victim):
                active[job.id] -= 1
                yield victim
            else:
                self._note_kept(attempt, task, victim)

    def permitted_in_turn(self, attempt: PlanBuilder, task: Task) -> Iterator[tuple[list[Task], bool]]:
        """Yield growing lists of victims for a task in a plan's whole domain, first victim first.

        Asked as long as the plan is empty, and again only when it is so again. Each answer begins with the one before,
        and has a flag that is true for the last answer.
        """
        rule = self._rule
        domain = None if attempt.domain is None or attempt.domain.all() else attempt.domain
        jobs = [job for job in self._jobs_in(domain) if rule.considers_job(attempt.job, job)]
        in_turn = self._order.iterate(attempt.job, jobs, domain)
        if rule.protects_priority or attempt.limits != HarmLimits(attempt.takes_gangs):
            in_turn = (victim for victim in in_turn if self._may_be_asked_about(attempt, task, victim))
        candidates = self._sparable(attempt, task, in_turn)
        asked: list[Task] = []
        more = _FIRST_ASKED if rule.ask_first is not None else None
        while True:
            fresh = list(islice(candidates, more))
            asked += fresh
            self._effort(attempt.job).steps += len(asked) // _CANDIDATES_PER_STEP
            is_last = more is None or len(fresh) < more
            victims = rule.ask(task, asked) if is_last or rule.ask_first is None else rule.ask_first(task, asked)
            if victims or is_last:
                yield victims, is_last
            if is_last:
                return
            more = _TIMES_MORE * len(asked)

    def _may_be_asked_about(self, attempt: PlanBuilder, task: Task, victim: Task) -> bool:
        job, rule = self._session.jobs.of(victim), self._rule
        if job is None or not self._is_within(attempt, victim, job):
            return False
        return not (rule.protects_priority and rule.outranks(victim, job, task, attempt.job))

    def _jobs_in(self, domain: BoolArray | None) -> Iterable[SessionJob]:
        """Return the jobs that may have victims on the nodes of a domain."""
        session = self._session
        if domain is None:
            return self._order.jobs()
        tasks = (task for column in np.flatnonzero(domain).tolist() for task in session.nodes.tasks_on(column).values())
        ids = dict.fromkeys(task.job for task in tasks if task.status in self._rule.statuses)
        return [job for each in ids if each is not None and (job := session.jobs.get(each)) is not None]

    def evict_in_turn(
        self,
        attempt: PlanBuilder,
        task: Task,
        permitted: Sequence[Task],
        ask: Callable[[Task, Sequence[Task]], list[Task]],
    ) -> Iterator[Unit]:
        """Evict the unit of each permitted victim, first victim first, and yield each evicted unit.

        Each was permitted as one task, beside those before it. If a gang is evicted whole instead of one of its tasks,
        it may use up the allowance of others, so `ask` is called again for these.
        """
        left = deque(permitted)
        while left:
            unit = self._unit_of(attempt, task, left.popleft())
            if unit is None or not _evict(self._session, attempt.statement, unit, self._rule.action):
                continue
            attempt.units.append(unit)
            self._effort(attempt.job).steps += len(unit)
            yield unit
            if len(unit) > 1:
                gone = {each.id for each in unit}
                others = [each for each in left if each.id not in gone]
                left = deque(ask(task, others) if others else ())

    def _unit_of(self, attempt: PlanBuilder, task: Task, victim: Task) -> Unit | None:
        """Return the unit that is evicted with a victim; None if it must not be, or is already evicted."""
        session = self._session
        job = session.jobs.of(victim)
        assert job is not None, "a victim has a job"
        victim = job.tasks[victim.id]
        if victim.status not in self._rule.statuses:
            return None
        is_exchange = job is attempt.job and job.disruption is not Disruption.ALL
        if is_exchange or can_spare(job, victim):
            return (victim,)
        gang = self._gang_of(attempt, task, job) if attempt.takes_gangs else None
        if gang is None:
            self._note_kept(attempt, task, victim)
        return gang

    def _note_kept(self, attempt: PlanBuilder, task: Task, victim: Task) -> None:
        """Record for a candidate that its gang stays together, unless gangs can still be evicted whole."""
        if attempt.takes_gangs is self._rule.modes[-1]:
            self._session.evictions.note_veto(victim.id, task, self._rule.vetoes.together)

    def _gang_of(self, attempt: PlanBuilder, task: Task, job: SessionJob) -> Unit | None:
        """Return a whole gang if all of it may be evicted. The answer is cached while nothing changes."""
        key, moment = (*self.key(attempt, task), job.id), len(self._session.nodes.log)
        known = self._gangs.get(key)
        if known is None or known[0] != moment:
            known = self._gangs[key] = (moment, self._ask_for_gang(attempt, task, job))
        return known[1]

    def _ask_for_gang(self, attempt: PlanBuilder, task: Task, job: SessionJob) -> Unit | None:
        gang = in_order(self._session, attempt.job, whole_gang(job))
        if any(each.node not in self._session.nodes.table.column for each in gang):
            return None  # its node is deleted, or is another scheduler's: the gang would not be evicted whole
        if len(self._proposed(attempt, task, gang)) < len(gang):
            return None
        if self._rule.same_queue and not self._rule.within_queue and job.priority >= attempt.job.priority:
            # among equal priorities shares decide, and they must permit the whole gang: otherwise gangs would evict
            # each other in turn
            return tuple(gang) if len(self._rule.ask(task, gang)) == len(gang) else None
        # a gang is one unit: whether its first task may be evicted decides, so each task is validated as if it were the
        # first. Plugins that count victims receive the whole gang
        return tuple(gang) if all(self._rule.ask(task, [each], gang=gang) for each in gang) else None

    def _fits(self, job: SessionJob, task: Task, column: int) -> bool:
        session = self._session
        if not session.candidates.of(task).takes(task, column):
            return False
        return session.queues.allocatable(session.queues.by_name[job.queue], task) is None

    def _settle(self, attempt: PlanBuilder, task: Task, column: int) -> bool:
        if attempt.statement.pipeline(attempt.job, [task], [column]) is not None:
            return False
        attempt.places.append((task, column))
        return True

    # Thinning out -----------------------------------------------------------------------------------------------------

    def _spare_unneeded(self, attempt: PlanBuilder) -> bool:
        """Give back units, last evicted first, as long as everything keeps its place.

        Return False if a plugin fails on the way, so that the attempt comes to nothing.
        """
        for unit in reversed(list(attempt.units)):
            if not self._may_be_unneeded(attempt, unit):
                continue
            kept = [each for each in attempt.units if each is not unit]
            done = list(attempt.statement.operations)
            attempt.statement.undo_to(0)
            if self._replay(attempt, kept):
                attempt.units = kept
            else:
                attempt.statement.undo_to(0)
                # in the same order: the choice of a ledger for a task, a card for example, depends on the earlier
                # evictions
                if attempt.statement.redo(done) is not None:
                    return False
        return True

    def _may_be_unneeded(self, attempt: PlanBuilder, unit: Unit) -> bool:
        """Return whether nodes would still have capacity with a unit back on them; cheap, and never wrong with a no."""
        nodes = self._session.nodes
        used = {column: task for task, column in attempt.places}
        back: dict[int, IntArray] = {}
        for task in unit:
            assert task.node is not None, "a victim has a node"
            column = nodes.table.column[task.node]
            if column in used:
                request = nodes.needs(task.template).request
                back[column] = back[column] + request if column in back else request
        for column, request in back.items():
            free = nodes.future_idle_on(column) - request
            if (free[nodes.needs(used[column].template).checked] < 0).any():
                return False
        return True

    def _replay(self, attempt: PlanBuilder, units: Sequence[Unit]) -> bool:
        """Evict units and place all tasks where they were, checking everything again."""
        session, statement = self._session, attempt.statement
        for unit in units:
            if not _evict(session, statement, unit, self._rule.action):
                return False
        # a gang that is evicted whole in two units must not lose one of them alone
        if not self._are_intact(attempt, units):
            return False
        return all(
            self._fits(attempt.job, task, column) and statement.pipeline(attempt.job, [task], [column]) is None
            for task, column in attempt.places
        )

    def _are_intact(self, attempt: PlanBuilder, units: Sequence[Unit]) -> bool:
        lost: dict[JobId | None, list[Task]] = {}
        for unit in units:
            lost.setdefault(unit[0].job, []).extend(unit)
        jobs = ((self._session.jobs.of(tasks[0]), tasks) for tasks in lost.values())
        return all(job is attempt.job or (job is not None and is_intact(job, tasks)) for job, tasks in jobs)


def _place_each(
    attempt: PlanBuilder, tasks: Sequence[Task], place: Callable[[Task], bool], where: Sequence[BoolArray | None]
) -> dict[TaskId, bool]:
    """Place tasks one by one, each on the first nodes that accept it. Return whether each tried task has a place."""
    tried = {}
    for task in tasks:
        for attempt.domain in where:
            tried[task.id] = place(task)
            if tried[task.id]:
                break
    return tried


def _gang_size(job: SessionJob) -> int:
    """Return the least number of tasks that are evicted with a whole job; 0 if it is never evicted whole."""
    if not (job.min_available > 1 or job.checks_roles or job.min_sub_jobs):
        return 0
    return max(min(active_count(job), job.min_available), 2)


def _on_trial(attempt: PlanBuilder, statement: Statement) -> PlanBuilder:
    """Return an empty attempt by another statement, within the same limits."""
    return PlanBuilder(attempt.job, statement, attempt.limits, attempt.domain, tried=attempt.tried)


def replace_limits(attempt: PlanBuilder, limits: HarmLimits) -> PlanBuilder:
    """Return an attempt within other limits that shares what was found with a given one."""
    return PlanBuilder(
        attempt.job, attempt.statement, limits, attempt.domain, attempt.units, attempt.places, tried=attempt.tried
    )


def harm_of_node(victims: Sequence[Task]) -> tuple[int, int, int, float]:
    """Rank the victims on one node: the least harmful smallest.

    As kube-scheduler does: the lowest of the highest priorities, then the lowest sum (each counts from the lowest
    possible priority, so that more victims are worse), then the fewest, then those that started last.
    No victims is the least harm.
    """
    highest = max((victim.priority for victim in victims), default=-_LOWEST)
    started = min((start_of(victim) for victim in victims if victim.priority == highest), default=math.inf)
    return highest, sum(victim.priority + _LOWEST for victim in victims), len(victims), -started


def start_of(task: Task) -> float:
    """Return when a pod started, seconds since 1970; one that has not counts as the last."""
    started = task.pod.status.start_time
    try:
        return unix_seconds(started) if started else math.inf
    except ValueError:  # an unreadable time counts as no time
        return math.inf


_LOWEST: Final = 1 << 31


def _evict(session: Session, statement: Statement, unit: Unit, action: str) -> bool:
    """Evict all tasks of a unit, or none of them."""
    before = len(statement.operations)
    for task in unit:
        job = session.jobs.of(task)
        assert job is not None, "a victim has a job"
        if statement.evict(job, job.tasks[task.id], action) is not None:
            statement.undo_to(before)
            return False
    return True
