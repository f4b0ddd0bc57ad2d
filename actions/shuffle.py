"""Shuffle: let running tasks leave that would be better placed elsewhere, for nobody's sake.

Strategies (plugins) name tasks; what spares tasks (disruption budgets) has the last word; a gang stays at or above its
minimums, and no more tasks go in a cycle than the budget says. Each strategy's evictions are one plan that names it.
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
    """Tasks that may go in one cycle; 0 for as many as strategies name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(Action):
    """Evict what strategies name."""

    name = "shuffle"
    arguments = ShuffleArgs
    args: ShuffleArgs = field(default_factory=ShuffleArgs)

    def execute(self, session: Session) -> None:
        """Evict, one plan for each strategy."""
        moves = session.evictions.moves(running_tasks(session))
        left = self.args.max_evictions or len(moves)
        for _, named in groupby(moves, key=lambda move: (move.strategy, move.budget)):
            left -= evict(session, list(named), left)


def running_tasks(session: Session) -> list[Task]:
    """Return all running tasks on nodes of this session, jobs in the order of their ids."""
    column = session.nodes.table.column
    return [task for job in session.jobs.all() for task in job.in_status(TaskStatus.RUNNING) if task.node in column]


def evict(session: Session, moves: Sequence[Move], most: int) -> int:
    """Evict what one strategy named, as one plan; return how many tasks go."""
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
