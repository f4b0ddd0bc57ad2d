"""Inspecting: an action that looks at a session between the others, tries things, and leaves it as it was."""

import random
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pyroclast.framework.extension.contract import Action
from pyroclast.framework.preemption.victim_gangs import is_intact
from pyroclast.framework.session.session import Session
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Eviction, Plan
from pyroclast.model.queues import with_ancestors
from pyroclast.model.tasks import ALLOCATED_STATUSES, TaskStatus
from tests.laws.clusters import act_at_random, picture
from tests.laws.test_evictions_are_plans import is_placed, works

__all__ = ["WITHOUT_BENEFICIARY", "Headroom", "Inspector", "headroom_of"]

Headroom = dict[str, dict[int, int]]
"""Number of tasks that a queue may take yet, by queue and template."""

WITHOUT_BENEFICIARY = "shuffle"
TAKES_ROOM = ALLOCATED_STATUSES | {TaskStatus.RELEASING}
STEPS = 6
"""Random operations in one go."""


class Inspector(Action):
    """Stands between the actions of one cycle whose outcome is known; the cycle must come to the same end with it."""

    def __init__(self, plans: Sequence[Plan], held: dict[TaskId, NodeName], seed: int) -> None:
        self._plans, self._held = plans, held
        self._chance = random.Random(seed)
        self._looks = 0
        self.broken: list[str] = []
        self.headroom: Headroom = {}
        """What queues have left at the end of the cycle; see `headroom_of`."""

    def execute(self, session: Session) -> None:
        """Look."""
        actions = [name for name in session.extensions.profile.actions if name != "look"]
        following = actions[self._looks] if self._looks < len(actions) else ""
        self._looks += 1
        found = [*wrong_sums(session)]
        plans = [plan for plan in self._plans if plan.action == following and plan.evictions]
        if plans and following != WITHOUT_BENEFICIARY:
            found += self._unneeded(session, plans)
        if self._chance.random() < 0.3 and any(job.tasks for job in session.jobs.all()):
            found += self._not_undone(session)
        if not following:
            self.headroom = headroom_of(session)
        self.broken += [f"before {following or 'the end'}: {each}" for each in found]

    def _not_undone(self, session: Session) -> Iterator[str]:
        """Whatever a statement did is undone to the bit."""
        before = picture(session)
        with session.statement() as statement:
            act_at_random(session, statement, self._chance, STEPS)
        after = picture(session)
        yield from (f"undo left {name} changed" for name in before if before[name] != after[name])

    def _unneeded(self, session: Session, plans: Sequence[Plan]) -> Iterator[str]:
        """No victim can be taken out of a plan, nor all victims of a job, unless a pod loses its place."""
        nominated = {place.task for plan in plans for place in plan.nominations}
        beside = {task: node for task, node in self._held.items() if task not in nominated}
        with session.statement() as whole:
            for plan in plans:
                for spared in _choices(plan):
                    kept = [each for each in plan.evictions if each not in spared]
                    # what is held beside the plans, on free room or on what they leave, may have come before or after
                    if all(self._does(session, plan, kept, held) for held in ({}, beside)):
                        yield f"{plan.action} for {plan.job}: {[each.name for each in spared]} need not have gone"
                if not works(session, whole, plan, plan.evictions):
                    yield f"{plan.action} for {plan.job} cannot be repeated"

    def _does(self, session: Session, plan: Plan, victims: Sequence[Eviction], held: Mapping[TaskId, NodeName]) -> bool:
        """Return whether some victims are enough for a plan, where others hold places, and leave every gang intact."""
        with session.statement() as trial:
            for task in sorted(held.keys() & _pending(session)):
                is_placed(session, trial, task, held[task], evicts=True)
            return works(session, trial, plan, victims) and _all_intact(session, plan)


def _pending(session: Session) -> set[TaskId]:
    return {task.id for job in session.jobs.all() for task in job.in_status(TaskStatus.PENDING)}


def _choices(plan: Plan) -> Iterator[list[Eviction]]:
    """Yield each victim alone, then all of each job that loses several."""
    yield from ([each] for each in plan.evictions)
    for job in sorted({each.job for each in plan.evictions if each.job is not None}):
        of_job = [each for each in plan.evictions if each.job == job]
        if len(of_job) > 1:
            yield of_job


def _all_intact(session: Session, plan: Plan) -> bool:
    """Return whether every job that lost something, but the beneficiary, has its minimums or nothing left."""
    losers: set[JobId] = {each.job for each in plan.evictions if each.job is not None and each.job != plan.job}
    return all((job := session.jobs.get(loser)) is not None and is_intact(job) for loser in losers)


def headroom_of(session: Session) -> Headroom:
    """Return by queue how many tasks of each kind it may take yet; queues count alike however they came to that."""
    kinds = {task.template.number: task for job in session.jobs.all() for task in job.tasks.values()}
    tasks = [kinds[number] for number in sorted(kinds)]
    return {
        name: {task.template.number: session.queues.headroom(session.queues.by_name[name], task, 100) for task in tasks}
        for name in session.queues.by_name
    }


def wrong_sums(session: Session) -> Iterator[str]:
    """Count amounts of nodes, jobs and queues anew from the tasks."""
    by_queue = {name: np.zeros(len(session.resources), dtype=np.int64) for name in session.queues.by_name}
    used = np.zeros((len(session.resources), len(session.nodes)), dtype=np.int64)
    for job in session.jobs.all():
        allocated = np.zeros(len(session.resources), dtype=np.int64)
        for task in job.tasks.values():
            request = session.nodes.needs(task.template).request
            if task.status in ALLOCATED_STATUSES:
                allocated += request
            if task.status in TAKES_ROOM and task.node is not None:
                used[:, session.nodes.table.column[task.node]] += request
        if job.allocated.tolist() != allocated.tolist():
            yield f"{job.id} has {job.allocated.tolist()} allocated, its tasks {allocated.tolist()}"
        for queue in with_ancestors(session.queues.by_name, job.queue):
            by_queue[queue] += allocated
    for name, amounts in session.jobs.allocated_by_queue().items():
        if amounts.tolist() != by_queue[name].tolist():
            yield f"queue {name} has {amounts.tolist()} allocated, its jobs {by_queue[name].tolist()}"
    if session.nodes.columns().used.tolist() != used.tolist():
        yield f"nodes use {session.nodes.columns().used.tolist()}, their tasks {used.tolist()}"
