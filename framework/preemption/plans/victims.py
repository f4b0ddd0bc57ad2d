"""Victims: the tasks that may be evicted for a task, in their order, and their evictions.

A victim that its gang can spare is evicted alone. Otherwise its whole gang is evicted, or none of it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from pyroclast.framework.preemption.bounds import EvictableRoom
from pyroclast.framework.preemption.harm import ANY_PRIORITY, Harm, HarmLimits, Unit
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.searches import Searches
from pyroclast.framework.preemption.victim_gangs import Surplus, active_count, can_spare, might_spare, whole_gang
from pyroclast.framework.preemption.victim_order import LongOrder, in_order
from pyroclast.framework.preemption.victim_rules import Looks, Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId
from pyroclast.model.native import Disruption
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["VictimSelector", "evict_unit"]

_FIRST_ASKED: Final = 64
"""Number of candidates of a whole domain in the first query. Decisions do not depend on it."""

_CANDIDATES_PER_STEP: Final = 20
"""Pods that plugins are asked about together, for the time of a step."""

_TIMES_MORE: Final = 3
"""Factor of the number of candidates for later queries. Decisions do not depend on it."""

_MOST_LOOKS: Final = 2_000
"""Maximum number of tasks with a note that the rule protects them, in one session. Decisions do not depend on it."""

_ON_NODE: Final = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND})
"""Statuses of tasks that can be victims."""


class VictimSelector:
    """Tasks that may be evicted by one rule, in one session."""

    def __init__(self, session: Session, rule: Rule, searches: Searches) -> None:
        self._session = session
        self._rule = rule
        self._searches = searches
        self._looks = _MOST_LOOKS
        self._gangs: dict[tuple[Any, ...], tuple[int, Unit | None]] = {}
        """Gangs that may be evicted whole, by beneficiary, and the length of the log of nodes at that moment."""
        self.order = LongOrder(session, rule.statuses)
        self.all_room = EvictableRoom(session, rule.statuses, self.might_lose)
        self._sparing_room = (
            self.all_room  # a job may exchange any of its own tasks, whether it can spare them or not
            if rule.within_job
            else EvictableRoom(session, rule.statuses, lambda job: self.might_lose(job) and might_spare(job))
        )

    def might_lose(self, job: SessionJob) -> bool:
        """Return whether a job can lose tasks. For other queues the answer does not depend on the beneficiary."""
        return self._rule.same_queue or self._rule.spares(self._rule.vetoes, job, job) is None

    def freed(self, attempt: PlanBuilder) -> IntArray:
        """Return how much capacity evictions could free on each node at most, base units, shape (R, N)."""
        room = self.all_room if attempt.takes_gangs else self._sparing_room
        queue = attempt.job.queue
        return room.of_queue(queue) if self._rule.same_queue else room.of_others(queue)

    def freed_at_once(self, attempt: PlanBuilder) -> IntArray:
        """Return the most that the eviction of one task frees, base units, shape (R,)."""
        room = self.all_room if attempt.takes_gangs else self._sparing_room
        return room.largest()

    def columns(self, attempt: PlanBuilder, task: Task) -> Iterator[IntArray]:
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

    def note_vetoes(self, attempt: PlanBuilder, task: Task) -> None:
        """Note the tasks that the rule protects, also on nodes without other candidates.

        The number of these tasks is limited for all searches of a session together.
        """
        if self._looks <= 0 or self._rule.within_job:
            return
        helped = self._session.candidates.answers.permitted_by_facts(task)
        for column in np.flatnonzero(helped if attempt.domain is None else helped & attempt.domain).tolist():
            on_node = self._session.nodes.tasks_on(column)
            self.proposed(attempt, task, on_node.values())
            self._looks -= len(on_node)
            if self._looks <= 0:
                return

    def permitted(self, attempt: PlanBuilder, task: Task, in_turn: Sequence[Task]) -> list[Task]:
        """Return the candidates that may be evicted for a task, by their gangs and the plugins."""
        sparable = list(self._sparable(attempt, task, in_turn))
        return self._rule.ask(task, sparable) if sparable else []

    def proposed(self, attempt: PlanBuilder, task: Task, tasks: Iterable[Task]) -> list[Task]:
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
        in_turn = self.order.iterate(attempt.job, jobs, domain)
        if rule.protects_priority or attempt.limits != HarmLimits(attempt.takes_gangs):
            in_turn = (victim for victim in in_turn if self.may_be_asked_about(attempt, task, victim))
        candidates = self._sparable(attempt, task, in_turn)
        asked: list[Task] = []
        more = _FIRST_ASKED if rule.ask_first is not None else None
        while True:
            fresh = list(islice(candidates, more))
            asked += fresh
            self._searches.effort(attempt.job).steps += len(asked) // _CANDIDATES_PER_STEP
            is_last = more is None or len(fresh) < more
            victims = rule.ask(task, asked) if is_last or rule.ask_first is None else rule.ask_first(task, asked)
            if victims or is_last:
                yield victims, is_last
            if is_last:
                return
            more = _TIMES_MORE * len(asked)

    def may_be_asked_about(self, attempt: PlanBuilder, task: Task, victim: Task) -> bool:
        """Return whether plugins are queried about a victim, by the limits of the plan and its priority."""
        job, rule = self._session.jobs.of(victim), self._rule
        if job is None or not self._is_within(attempt, victim, job):
            return False
        return not (rule.protects_priority and rule.outranks(victim, job, task, attempt.job))

    def _jobs_in(self, domain: BoolArray | None) -> Iterable[SessionJob]:
        """Return the jobs that may have victims on the nodes of a domain."""
        session = self._session
        if domain is None:
            return self.order.jobs()
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
            if unit is None or not evict_unit(self._session, attempt.statement, unit, self._rule.action):
                continue
            attempt.units.append(unit)
            self._searches.effort(attempt.job).steps += len(unit)
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
        key, moment = (*self._searches.key(attempt, task), job.id), len(self._session.nodes.log)
        known = self._gangs.get(key)
        if known is None or known[0] != moment:
            known = self._gangs[key] = (moment, self._ask_for_gang(attempt, task, job))
        return known[1]

    def _ask_for_gang(self, attempt: PlanBuilder, task: Task, job: SessionJob) -> Unit | None:
        gang = in_order(self._session, attempt.job, whole_gang(job))
        if any(each.node not in self._session.nodes.table.column for each in gang):
            return None  # its node is deleted, or is another scheduler's: the gang would not be evicted whole
        if len(self.proposed(attempt, task, gang)) < len(gang):
            return None
        if self._rule.same_queue and not self._rule.within_queue and job.priority >= attempt.job.priority:
            # among equal priorities shares decide, and they must permit the whole gang: otherwise gangs would evict
            # each other in turn
            return tuple(gang) if len(self._rule.ask(task, gang)) == len(gang) else None
        # a gang is one unit: whether its first task may be evicted decides, so each task is validated as if it were the
        # first. Plugins that count victims receive the whole gang
        return tuple(gang) if all(self._rule.ask(task, [each], gang=gang) for each in gang) else None

    def harm(self, attempt: PlanBuilder) -> Harm:
        """Return the harm of what an attempt evicts."""
        return Harm.of(attempt.units, self.importance)

    def importance(self, task: Task) -> int:
        """Return the priority of a victim by the rule."""
        job = self._session.jobs.of(task)
        return 0 if job is None else self._rule.importance(task, job)


def evict_unit(session: Session, statement: Statement, unit: Unit, action: str) -> bool:
    """Evict all tasks of a unit, or none of them."""
    before = len(statement.operations)
    for task in unit:
        job = session.jobs.of(task)
        assert job is not None, "a victim has a job"
        if statement.evict(job, job.tasks[task.id], action) is not None:
            statement.undo_to(before)
            return False
    return True
