"""Shuffle: evict running tasks that should move, without a preemptor.

Strategies (plugins) choose tasks. Protection such as disruption budgets outranks them. A gang stays at or above its
minimums, and a cycle evicts at most the configured number. The evictions of a strategy are one plan that names it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension.contract import Action, Move
from pyroclast.framework.preemption.victim_gangs import can_spare
from pyroclast.framework.session.session import Session
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
        left = self.args.max_evictions or len(moves)
        for _, named in groupby(moves, key=lambda move: (move.strategy, move.budget)):
            left -= evict(session, list(named), left)


def running_tasks(session: Session) -> list[Task]:
    """Return all running tasks on nodes of this session, sorted by job id."""
    column = session.nodes.table.column
    return [task for job in session.jobs.all() for task in job.in_status(TaskStatus.RUNNING) if task.node in column]


def evict(session: Session, moves: Sequence[Move], most: int) -> int:
    """Evict the tasks of one strategy as one plan. Return the number of evictions."""
    with session.statement() as statement:
        for move in moves:
            if len(statement.operations) >= most:
                break
            job = session.jobs.of(move.task)
            if job is None or not (move.breaks_gangs or can_spare(job, move.task)):
                continue
            statement.evict(job, move.task, Shuffle.name, f"evicted by {Shuffle.name}: {move.strategy}, {move.budget}")
        count = len(statement.operations)
        if count:
            statement.commit()
    return count
