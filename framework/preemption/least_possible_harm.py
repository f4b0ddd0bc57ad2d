"""Least possible harm: the harm bound of a job's plan, from the tasks of one session that a rule might evict.

The tasks are listed once and kept true by the session's log of touched columns.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.preemption.harm import NO_VICTIM, Effort, Harm, HarmLimits
from pyroclast.framework.preemption.harm_bounds import SINGLE, Evictable, least_harm
from pyroclast.framework.preemption.victim_gangs import active_count, might_spare
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.tasks import Task, TaskStatus, TaskTemplate

__all__ = ["LeastPossibleHarm"]

_TASKS_PER_STEP: Final = 1000
"""Evictable tasks that are added up in the time of a step."""
_MOST_BENEFICIARIES: Final = 16
"""Beneficiaries for which is kept which jobs may lose tasks to them; without effect on decisions."""
_NO_JOB: Final = -1
_MOST_REQUESTS: Final = 8
"""Different requests of a job for which bounds are taken apart."""


class LeastPossibleHarm:
    """Harm bounds by one rule, in one session."""

    def __init__(self, session: Session, rule: Rule, might_lose: Callable[[SessionJob], bool]) -> None:
        """Prepare.

        Args:
            session: The session.
            rule: Which tasks may be evicted.
            might_lose: Whether a job might lose tasks; a wrong yes makes bounds low, a wrong no makes them false.
        """
        self._session = session
        self._rule = rule
        self._might_lose = might_lose
        self._listed: _Listed | None = None

    def of_plan(
        self, job: SessionJob, placed: Sequence[Task], where: BoolArray | None, limits: HarmLimits, effort: Effort
    ) -> Harm | None:
        """Return a harm below which no plan within limits has as many places as one that is known.

        To be asked while no statement is open.

        Args:
            job: The beneficiary.
            placed: Its tasks that the known plan places.
            where: The nodes that may be used, shape (N,); all if None.
            limits: What a plan may evict.
            effort: Counts the steps.

        Returns:
            The bound; None if there is no such plan.
        """
        tasks = [task for task in job.in_status(TaskStatus.PENDING) if not task.template.best_effort]
        needed = sum(not task.template.best_effort for task in placed)
        if not needed:
            return Harm(NO_VICTIM, 0, 0)
        if self._listed is None:
            self._listed = _Listed(self._session, self._rule, self._might_lose)
        columns = np.flatnonzero(self._permitted(tasks, where))
        evictable = self._listed.evictable(job, columns, limits)
        room = self._session.reserved.future_room_of_any(tasks, columns).T
        requests: IntArray = np.array([self._session.nodes.needs(task.template).request for task in tasks])
        asked = _asked(requests, needed)
        effort.steps += 1 + len(asked) * evictable.columns.size // _TASKS_PER_STEP
        bounds = [least_harm(room, evictable, request, count) for request, count in asked]
        if len(asked) > 1:
            bounds.append(_in_sum(room, evictable, requests.sum(axis=0)))
        known = [each for each in bounds if each is not None]
        return max(known) if len(known) == len(bounds) else None

    def _permitted(self, tasks: Sequence[Task], where: BoolArray | None) -> BoolArray:
        """Return the nodes that any of some tasks might use, shape (N,)."""
        like = {self._session.candidates.number(task): task for task in tasks}.values()
        permitted: BoolArray = np.logical_or.reduce(
            [self._session.candidates.answers.permitted_by_facts(each) for each in like]
        )
        return permitted if where is None else permitted & where


def _asked(requests: IntArray, needed: int) -> list[tuple[IntArray, int]]:
    """Return what each of how many places must hold at least, for some of a job's tasks, requests of shape (T, R).

    Where all tasks get places: for each kind of task as many as ask for no less of anything.
    """
    if needed < len(requests):
        return [(requests.min(axis=0), needed)]
    kinds = np.unique(requests, axis=0)[-_MOST_REQUESTS:]
    return [(kind, int((requests >= kind).all(axis=1).sum())) for kind in kinds]


def _in_sum(room: IntArray, evictable: Evictable, request: IntArray) -> Harm | None:
    """Return the bound of a plan that needs one place for all its tasks, if all nodes were one."""
    merged = Evictable(
        columns=np.zeros_like(evictable.columns),
        freed=evictable.freed,
        importance=evictable.importance,
        gangs=evictable.gangs,
        sizes=evictable.sizes,
    )
    return least_harm(np.maximum(room, 0).sum(axis=0)[None], merged, request, 1)


class _Listed:
    """The tasks of a session that a rule might evict, as arrays."""

    def __init__(self, session: Session, rule: Rule, might_lose: Callable[[SessionJob], bool]) -> None:
        self._session = session
        self._rule = rule
        self._ids: list[TaskId] = []
        self._jobs: list[SessionJob] = []
        self._cursor = len(session.nodes.log)
        columns: list[int] = []
        of_job: list[int] = []
        of_template: list[int] = []
        importance: list[int] = []
        templates: dict[TaskTemplate, int] = {}
        numbers: dict[JobId | None, int] = {None: _NO_JOB}
        for column in range(len(session.nodes)):
            for task in session.nodes.tasks_on(column).values():
                if task.status not in rule.statuses or not task.preemptable:
                    continue
                number = numbers.get(task.job)
                if number is None:
                    number = numbers[task.job] = self._number_of(task, might_lose)
                if number == _NO_JOB:
                    continue
                self._ids.append(task.id)
                columns.append(column)
                of_job.append(number)
                of_template.append(templates.setdefault(task.template, len(templates)))
                importance.append(rule.importance(task, self._jobs[number]))
        requests = [session.nodes.needs(template).request for template in templates]
        self._columns: IntArray = np.array(columns, dtype=np.int64)
        self._starts = np.searchsorted(self._columns, np.arange(len(session.nodes) + 1))
        self._freed: IntArray = np.array(requests, dtype=np.int64).reshape(-1, len(session.resources))[of_template]
        self._importance: IntArray = np.array(importance, dtype=np.int64)
        self._of_job: IntArray = np.array(of_job, dtype=np.int64)
        self._is_there: BoolArray = np.ones(len(columns), dtype=np.bool_)
        self._changes = [-1] * len(self._jobs)
        self._might_spare: BoolArray = np.zeros(len(self._jobs), dtype=np.bool_)
        self._sizes: IntArray = np.zeros(len(self._jobs), dtype=np.int64)
        self._concerned: dict[tuple[QueueName, JobId | None], BoolArray] = {}

    def _number_of(self, task: Task, might_lose: Callable[[SessionJob], bool]) -> int:
        job = self._session.jobs.of(task)
        if job is None or not might_lose(job):
            return _NO_JOB
        self._jobs.append(job)
        return len(self._jobs) - 1

    def evictable(self, beneficiary: SessionJob, columns: IntArray, limits: HarmLimits) -> Evictable:
        """Return the possible victims for a job on some nodes, with new numbers."""
        self._refresh()
        number = np.full(len(self._session.nodes), -1, dtype=np.int64)
        number[columns] = np.arange(columns.size)
        is_single = self._might_spare | self._rule.within_job
        chosen = self._is_there & self._jobs_concerned(beneficiary)[self._of_job] & (number[self._columns] >= 0)
        chosen &= self._importance <= limits.highest
        if not limits.takes_gangs:
            chosen &= is_single[self._of_job]
        if limits.repeats:
            chosen &= np.fromiter(map(limits.permits, self._ids), np.bool_, len(self._ids))
        of_job = self._of_job[chosen]
        return Evictable(
            columns=number[self._columns[chosen]],
            freed=self._freed[chosen],
            importance=self._importance[chosen],
            gangs=np.where(is_single[of_job], SINGLE, of_job),
            sizes=self._sizes,
        )

    def _jobs_concerned(self, beneficiary: SessionJob) -> BoolArray:
        """Return which jobs may lose tasks to a job, shape (J,)."""
        key = (beneficiary.queue, beneficiary.id if self._rule.same_queue else None)
        known = self._concerned.get(key)
        if known is None:
            if len(self._concerned) >= _MOST_BENEFICIARIES:
                self._concerned.clear()
            concerned = [self._rule.concerns(beneficiary, job) for job in self._jobs]
            known = self._concerned[key] = np.array(concerned, dtype=np.bool_)
        return known

    def _refresh(self) -> None:
        """Follow what has changed since the last question."""
        nodes, log = self._session.nodes, self._session.nodes.log
        for column in sorted(set(log[self._cursor :])):
            on_node = nodes.tasks_on(column)
            for position in range(self._starts[column], self._starts[column + 1]):
                task = on_node.get(self._ids[position])
                self._is_there[position] = task is not None and task.status in self._rule.statuses
        self._cursor = len(log)
        for number, job in enumerate(self._jobs):
            if self._changes[number] != job.changes:
                self._changes[number] = job.changes
                self._might_spare[number] = might_spare(job)
                self._sizes[number] = active_count(job)
