"""Builder: a plan in the making, for the tasks of one job.

It has a statement of its own. What it evicted and placed can be undone to a mark.
"""

from dataclasses import dataclass, field
from typing import Any

from pyroclast.framework.preemption.harm import HarmLimits, Unit
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["PlanBuilder"]


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

    def on_trial(self, statement: Statement) -> "PlanBuilder":
        """Return an empty attempt by another statement, within the same limits."""
        return PlanBuilder(self.job, statement, self.limits, self.domain, tried=self.tried)

    def within(self, limits: HarmLimits) -> "PlanBuilder":
        """Return an attempt within other limits that shares what was found with this one."""
        return PlanBuilder(self.job, self.statement, limits, self.domain, self.units, self.places, tried=self.tried)
