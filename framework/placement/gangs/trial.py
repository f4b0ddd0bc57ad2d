"""The trial of a gang: members are placed inside a statement while their assignment is searched for.

So every plugin is asked about each placement currently: predicates that look at other pods, ledgers that count or
choose, limits of queues.
"""

from collections.abc import Sequence

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["GangTrial"]


class GangTrial:
    """Placements of members, of one kind after another; what is placed stands in the statement."""

    def __init__(
        self,
        session: Session,
        statement: Statement,
        job: SessionJob,
        members: Sequence[Sequence[Task]],
        *,
        on_idle: bool,
    ) -> None:
        """Begin with nothing placed.

        Args:
            session: The session.
            statement: Takes the placements.
            job: Job of the members.
            members: Tasks by kind, first to be placed first.
            on_idle: Whether only resources that are free now count; otherwise also resources that are being released.
        """
        self._session = session
        self._statement = statement
        self._job = job
        self._members = members
        self._on_idle = on_idle
        self._placed = [0] * len(members)
        self._kinds: list[int] = []
        self.by_queue: Refusal | None = None
        """Refusal of the queue for the last refused task; None if another rule refused it."""

    def permitted(self, kind: int) -> BoolArray | None:
        """Return which nodes permit the next task of a kind currently, capacity included, shape (N,)."""
        task = self._next(kind)
        session = self._session
        if session.queues.allocatable(session.queues.by_name[self._job.queue], task) is not None:
            return np.zeros(len(session.nodes), dtype=np.bool_)
        candidates = session.candidates.of(task)
        candidates.refresh(task)
        mask: BoolArray = candidates.allowed & (candidates.fits_idle if self._on_idle else candidates.fits_future)
        beyond = candidates.asked_anew(task)
        return mask if beyond is None else mask & beyond

    def place(self, kind: int, column: int) -> bool:
        """Place the next task of a kind, unless some plugin refuses that."""
        session, task = self._session, self._next(kind)
        self.by_queue = session.queues.allocatable(session.queues.by_name[self._job.queue], task)
        if self.by_queue is not None:
            return False
        candidates = session.candidates.of(task)
        if not candidates.takes(task, column):
            return False
        is_idle = bool(candidates.fits_idle[column])
        if self._on_idle and not is_idle:
            return False
        place = self._statement.allocate if is_idle else self._statement.pipeline
        if place(self._job, [task], [column]) is not None:
            return False
        self._placed[kind] += 1
        self._kinds.append(kind)
        return True

    def undo(self) -> None:
        """Take back the last placement."""
        self._placed[self._kinds.pop()] -= 1
        self._statement.undo_to(len(self._statement.operations) - 1)

    def undo_all(self) -> None:
        """Take back everything."""
        while self._kinds:
            self.undo()

    def _next(self, kind: int) -> Task:
        return self._members[kind][min(self._placed[kind], len(self._members[kind]) - 1)]
