"""Deferred statements: those of gangs of which some members still wait for a place."""

from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.caller import Caller
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId

__all__ = ["DeferredStatements"]


class DeferredStatements:
    """Statements that stay open until the rest of a gang is placed, one for each job; see `placing.complete`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._by_job: dict[JobId, tuple[SessionJob, Statement]] = {}

    def add(self, job: SessionJob, statement: Statement) -> None:
        """Keep a statement open.

        What the same job had deferred before goes with it: promised places that it took, then those of allocate.
        """
        self._caller.for_actions("defer")
        _, earlier = self._by_job.setdefault(job.id, (job, statement))
        if earlier is not statement:
            earlier.merge(statement)
        statement.hold()

    def take(self, job: SessionJob) -> Statement | None:
        """Take back a job's deferred statement; None if there is none."""
        self._caller.for_actions("take_deferred")
        known = self._by_job.pop(job.id, None)
        return None if known is None else known[1]

    def jobs(self) -> list[SessionJob]:
        """Return the jobs with deferred statements, first deferred first."""
        return [job for job, _ in self._by_job.values()]
