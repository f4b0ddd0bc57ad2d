"""Shuffle: evict running tasks that should move, without a preemptor.

Strategies (plugins) choose tasks. Protection such as disruption budgets outranks them. A gang stays at or above its
minimums, or is evicted whole if the strategy permits it. A cycle evicts at most the configured number. The evictions of
a strategy are one plan that names it, and a gang that is evicted whole has a plan of its own.
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
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId
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
        """Evict tasks, with one plan for each strategy, and one for each gang that is evicted whole."""
        moves = session.evictions.moves(running_tasks(session))
        left: float = self.args.max_evictions or math.inf
        kept: set[JobId] = set()
        for _, named in groupby(moves, key=lambda move: (move.strategy, move.budget)):
            left -= evict(session, list(named), left, kept)


def running_tasks(session: Session) -> list[Task]:
    """Return all running tasks on nodes of this session, sorted by job id."""
    column = session.nodes.table.column
    return [task for job in session.jobs.all() for task in job.in_status(*RUNNING) if task.node in column]


def evict(session: Session, moves: Sequence[Move], most: float, kept: set[JobId]) -> int:
    """Evict the tasks of one strategy. Return the number of evictions.

    Args:
        session: The session.
        moves: The proposals.
        most: Maximum number of evictions.
        kept: Gangs that cannot be evicted whole in this cycle. Those that are found are added.
    """
    count = 0
    with session.statement() as statement:
        for move in moves:
            if count >= most:
                break
            job = session.jobs.of(move.task)
            task = None if job is None else job.tasks.get(move.task.id)
            if job is None or task is None or not can_leave(session, task, RUNNING):
                continue
            if can_spare(job, task) or (move.breaks_gangs and not move.takes_gangs):
                if session.evictions.may_move([task]):
                    count += statement.evict(job, task, Shuffle.name, message_of(move)) is None
            elif move.takes_gangs and job.id not in kept:
                gang = gang_of(session, job, task)
                if count + len(gang) <= most and evict_gang(session, job, gang, move):
                    count += len(gang)
                else:
                    kept.add(job.id)
        statement.commit()
    return count


def can_leave(session: Session, task: Task, statuses: frozenset[TaskStatus]) -> bool:
    """Return whether a task has one of some statuses, on a node of this session."""
    return task.status in statuses and task.node in session.nodes.table.column


def gang_of(session: Session, job: SessionJob, task: Task) -> list[Task]:
    """Return a task and the rest of its gang, in the order of evictions."""
    return [task, *in_order(session, job, (each for each in whole_gang(job) if each is not task))]


def evict_gang(session: Session, job: SessionJob, gang: Sequence[Task], move: Move) -> bool:
    """Evict all tasks of a gang with a plan of their own, or none. Return whether they are evicted."""
    if not all(each.preemptable and can_leave(session, each, RUNNING_OR_BOUND) for each in gang[1:]):
        return False
    if not session.evictions.may_move(gang):
        return False
    with session.statement() as statement:
        for task in gang:
            if statement.evict(job, task, Shuffle.name, message_of(move, task)) is not None:
                return False
        statement.commit(together=True)
    return True


def message_of(move: Move, task: Task | None = None) -> str:
    """Return the message of an eviction: of the task that a strategy proposes, or of another one of its gang."""
    with_gang = (
        "" if task is None or task.id == move.task.id else f" with {move.task.name}, which its gang cannot spare"
    )
    return f"evicted by {Shuffle.name}{with_gang}: {move.strategy}, {move.budget}"
