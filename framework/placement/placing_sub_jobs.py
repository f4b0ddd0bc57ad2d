"""Placing sub-jobs: the sub-jobs of one job take turns until the job is ready."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from pyroclast.framework.placement.placing import Worksheet, place_tasks
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray

__all__ = ["lacking_groups", "place_part", "place_parts"]


def place_parts(session: Session, job: SessionJob, sheets: list[Worksheet], place: Callable[[Worksheet], bool]) -> bool:
    """Place tasks of the sub-jobs until the job is ready, and return whether it is.

    Those that the job needs for its minimum come first, then by the plugins' order, which is asked again after each
    turn: a sub-job that has become ready comes after those that have not. What does not serve its sub-job is undone, so
    that the siblings find the capacity, and that sub-job gets no other turn. Where worksheets say how many tasks are
    needed, another sub-job of the same group takes the turn of one that came to nothing; else it waits until all others
    had theirs.

    Args:
        session: The session.
        job: Job of the sub-jobs.
        sheets: Tasks to place, by sub-job.
        place: Places tasks of one sub-job and returns whether it placed any.
    """

    def rank(sheet: Worksheet) -> tuple[Any, ...]:
        part = sheet.sub_job
        is_required = sheet.is_required
        if sheet.needed is not None:
            is_required = sheet.position < sheet.needed or (
                part.group in lacking and not session.jobs.sub_job_ready(part)
            )
        return not is_required, session.jobs.sub_job_order_key(part)

    for sheet in sheets:
        sheet.failed_roles.clear()  # each attempt begins without memories
    waiting = [sheet for sheet in sheets if sheet]
    lacking: set[str] = set()
    while waiting:
        if waiting[0].needed is not None:
            lacking = lacking_groups(session, job)
        sheet = min(waiting, key=rank)
        if not place(sheet):
            sheet.drop_rest()
        elif session.jobs.job_ready(job):
            return True
        if not sheet:
            waiting.remove(sheet)
    return session.jobs.job_ready(job)


def lacking_groups(session: Session, job: SessionJob) -> set[str]:
    """Return the groups of sub-jobs of which fewer are ready than must be."""
    ready = Counter(part.group for part in job.sub_jobs.values() if session.jobs.sub_job_ready(part))
    return {group for group, least in job.min_sub_jobs.items() if ready[group] < least}


def place_part(
    session: Session, statement: Statement, job: SessionJob, sheet: Worksheet, domain: BoolArray | None = None
) -> bool:
    """Place tasks of one sub-job, within a domain where one is given; False if nothing placed would serve it.

    What is placed stays when the sub-job is ready, or waits for capacity that is being released; else it is undone.
    """
    before = len(statement.operations)
    if not (place_tasks(session, statement, job, sheet, domain) or session.jobs.sub_job_pipelined(sheet.sub_job)):
        statement.undo_to(before)
    return len(statement.operations) > before
