"""Ledgers: what plugins count while tasks are placed and evicted.

A plugin that keeps totals (shares, quotas, pods per domain, devices) registers a ledger at session open. Each change is
shown to every ledger, in the order of the configuration; undoing a change shows it again with the sign turned round. A
ledger must return to exactly the state it was in: a law that is tested for all of them. (Volcano calls these event
handlers.)
"""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from pyroclast.framework.session.jobs import SessionJob
from pyroclast.framework.session.nodes import Needs
from pyroclast.model.arrays import IntArray
from pyroclast.model.plain_members import with_plain_members
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedList
from pyroclast.model.tasks import Task, TaskStatus, TaskTemplate

__all__ = ["Change", "Ledger", "Verb"]


@with_plain_members
class Verb(Enum):
    """What happens to tasks; the value is the status they have then."""

    ALLOCATE = TaskStatus.ALLOCATED
    """Placed on room that is free."""
    PIPELINE = TaskStatus.PIPELINED
    """Placed on room that is being released."""
    EVICT = TaskStatus.RELEASING
    """Asked to leave."""

    def __init__(self, status: TaskStatus) -> None:
        self.status = status
        """The value, which as `value` is looked up in Python each time."""


class Change:
    """Tasks of one job and one template, placed or evicted together; frozen by convention."""

    __slots__ = (
        "amounts",
        "columns",
        "each",
        "is_trial",
        "job",
        "needs",
        "sign",
        "tasks",
        "template",
        "totals",
        "verb",
    )

    def __init__(
        self,
        verb: Verb,
        job: SessionJob,
        tasks: Sequence[Task],
        columns: Sequence[int],
        *,
        needs: Needs,
        uncounted: IntArray | None = None,
        is_trial: bool = False,
    ) -> None:
        self.verb = verb
        self.job = job
        self.tasks = tuple(tasks)
        """The tasks in their new state."""
        self.columns = tuple(columns)
        """The node of each task, as columns of the node table."""
        self.needs = needs
        """What one of them takes."""
        self.is_trial = is_trial
        """Whether it belongs to a trial, which is always undone; a ledger counts it, and sends nothing outside."""
        is_one = len(tasks) == 1
        each = needs.request if uncounted is None else needs.request - uncounted
        self.amounts: IntArray = each if is_one else each * len(tasks)
        self.amounts.setflags(write=False)
        """Sum of what counts of their requests, base units, shape (R,)."""
        self.each: SealedList[int] = needs.amounts if uncounted is None else SealedList(each.tolist())
        """What counts of one of them."""
        self.totals: SealedList[int] = self.each if is_one else SealedList(self.amounts.tolist())
        """The sum as a list."""
        self.sign = -1 if verb is Verb.EVICT else 1
        """+1 where the tasks take room, -1 where they give it up; `revert` counts the other way."""
        self.template: TaskTemplate = tasks[0].template


class Ledger(Protocol):
    """Totals that follow the placements of a session.

    One that also chooses what a task gets on its node, so that the order of placements matters, has a method
    `chooses_for(task)` which tells so.
    """

    def apply(self, change: Change) -> Refusal | None:
        """Count a change, or refuse it before anything is counted."""
        ...

    def revert(self, change: Change) -> None:
        """Undo `apply` of the same change exactly; changes are undone in reverse order."""
        ...
