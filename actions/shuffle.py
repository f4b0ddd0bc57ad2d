"""Shuffle: evict running tasks that should move, without a preemptor.

Strategies (plugins) choose tasks. Protection such as disruption budgets outranks them. A gang stays at or above its
minimums, or is evicted whole if the strategy permits it. A cycle evicts at most the configured number. The evictions of
a strategy are one plan that names it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pyroclast.actions.eviction import RUNNING, RUNNING_OR_BOUND
from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension.contract import Action, Move
from pyroclast.framework.preemption.victim_gangs import can_spare, whole_gang
from pyroclast.framework.preemption.victim_order import in_order
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statement import Statement
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Shuffle", "ShuffleArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffleArgs:
    """Arguments of shuffle."""

    max_evictions: int = argument("maxEvictions", 0, least=0)
    """Maximum number of evictions in one cycle; 0 for no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(Action):
    """Evict the tasks that strategies choose."""

    name = "shuffle"
    arguments = ShuffleArgs
    args: ShuffleArgs = field(default_factory=ShuffleArgs)

    def execute(self, session: Session) -> None:
        """Evict tasks, with one plan for each strategy."""
        moves = session.evictions.moves(running_tasks(session))
        left: float = self.args.max_evictions or math.inf
        for _, named in groupby(moves, key=lambda move: (move.strategy, move.budget)):
            left -= evict(session, list(named), left)


def running_tasks(session: Session) -> list[Task]:
    """Return all running tasks on nodes of this session, sorted by job id."""
    column = session.nodes.table.column
    return [task for job in session.jobs.all() for task in job.in_status(*RUNNING) if task.node in column]


def evict(session: Session, moves: Sequence[Move], most: float) -> int:
    """Evict the tasks of one strategy as one plan. Return the number of evictions."""
    with session.statement() as statement:
        for move in moves:
            if len(statement.operations) >= most:
                break
            unit = unit_of(session, move)
            if unit and len(statement.operations) + len(unit) <= most and session.evictions.may_move(unit):
                evict_unit(session, statement, unit, move)
        count = len(statement.operations)
        if count:
            statement.commit()
    return count


def unit_of(session: Session, move: Move) -> list[Task]:
    """Return a task, or the task and the rest of its gang, which are evicted together; empty if none may be."""
    job = session.jobs.of(move.task)
    task = None if job is None else job.tasks.get(move.task.id)
    if job is None or task is None or not can_leave(session, task, RUNNING):
        return []
    if can_spare(job, task):
        return [task]
    if move.takes_gangs:
        rest = in_order(session, job, (each for each in whole_gang(job) if each is not task))
        is_free = all(each.preemptable and can_leave(session, each, RUNNING_OR_BOUND) for each in rest)
        return [task, *rest] if is_free else []
    return [task] if move.breaks_gangs else []


def can_leave(session: Session, task: Task, statuses: frozenset[TaskStatus]) -> bool:
    """Return whether a task has one of some statuses, on a node of this session."""
    return task.status in statuses and task.node in session.nodes.table.column


def evict_unit(session: Session, statement: Statement, unit: Sequence[Task], move: Move) -> None:
    """Evict all tasks of a unit, or none if a ledger refuses one of them."""
    begin = len(statement.operations)
    for task in unit:
        job = session.jobs.of(task)
        assert job is not None, "a task of a unit has a job"
        with_gang = "" if task.id == move.task.id else f" with {move.task.name}, which its gang cannot spare"
        message = f"evicted by {Shuffle.name}{with_gang}: {move.strategy}, {move.budget}"
        if statement.evict(job, task, Shuffle.name, message) is not None:
            statement.undo_to(begin)
            return
