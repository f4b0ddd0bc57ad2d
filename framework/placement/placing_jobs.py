"""Placing jobs: the tasks of a whole job find places by its topology and its sub-groups, or by neither."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyroclast.framework.placement.gangs.search import GangSearch, Place, may_be_missed
from pyroclast.framework.placement.minimums import in_front, needed_tasks
from pyroclast.framework.placement.placing import Worksheet, place_tasks
from pyroclast.framework.placement.placing_sub_jobs import place_part, place_parts
from pyroclast.framework.placement.topology.gathering import gather, has_multiples
from pyroclast.framework.placement.topology.placing import DomainSearch, goes_by_domains
from pyroclast.framework.placement.topology.turns import domain_turns
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.reasons import Reasons
from pyroclast.model.ids import SubJobId
from pyroclast.model.sealed import SealedList
from pyroclast.model.tasks import Task

__all__ = ["place_job", "required_sub_jobs", "worksheets_by_need", "worksheets_of"]

"""Saved results of a job: of its tasks, of their last places, of the job, and of its unschedulable template."""


def worksheets_of(session: Session, job: SessionJob) -> list[Worksheet]:
    """Return the tasks to be placed, by sub-job; `place_parts` decides the order of sub-jobs."""
    waiting = _waiting(session, job)
    if not job.has_sub_group_policy:
        return [Worksheet(part, waiting) for part in job.sub_jobs.values()]
    required = required_sub_jobs(session, job)
    return [
        Worksheet(part, tasks, is_required=part.id in required)
        for part in job.sub_jobs.values()
        if (tasks := [task for task in waiting if part.holds(task.id)])
    ]


def worksheets_by_need(session: Session, job: SessionJob) -> list[Worksheet]:
    """Return the same where the tasks that make the job ready go before all others; none where they do anyway."""
    waiting = _waiting(session, job)
    needed = needed_tasks(session, job, waiting)
    in_order = in_front(needed, waiting)
    if not job.has_sub_group_policy and [task.id for task in in_order] == [task.id for task in waiting]:
        return []
    return [
        Worksheet(part, tasks, needed=sum(part.holds(task.id) for task in needed))
        for part in job.sub_jobs.values()
        if (tasks := [task for task in in_order if part.holds(task.id)])
    ]


def _waiting(session: Session, job: SessionJob) -> list[Task]:
    return [task for task in session.jobs.pending_tasks(job) if not task.gated and not task.template.best_effort]


def required_sub_jobs(session: Session, job: SessionJob) -> set[SubJobId]:
    """Return the sub-jobs that must become ready for the minimum of their group."""
    needed = dict(job.min_sub_jobs)
    unready = []
    for part in sorted(job.sub_jobs.values(), key=session.jobs.sub_job_order_key):
        if session.jobs.sub_job_ready(part):
            needed[part.group] = needed.get(part.group, 0) - 1
        else:
            unready.append(part)
    required: set[SubJobId] = set()
    for part in unready:
        if needed.get(part.group, 0) > 0:
            needed[part.group] -= 1
            required.add(part.id)
    return required


def place_job(
    session: Session, statement: Statement, job: SessionJob, sheets: list[Worksheet], *, root: int | None = None
) -> bool:
    """Place tasks of a job until it is ready, within domains where its topology asks for them. Return whether it is.

    A job with minimums of roles or sub-groups gets a second trial where the first one, in task order, leads nowhere:
    those that make it ready go first then, so that members it could do without do not take their capacity. Where that
    leads nowhere either, or members differ, places are searched for all that make the job ready together.

    Args:
        session: The session.
        statement: Takes the placements.
        job: Job of the tasks.
        sheets: The tasks, by sub-job; after a successful second trial, the tasks that remain.
        root: Number of the domain in which to look, where it goes by domains; all of them if None.
    """
    if not _goes_by_domains(session, job):
        return _place_job(session, statement, job, sheets, root)
    turns, reasons = domain_turns(session), job.reasons.copy()
    is_placed = turns.may_begin(job) and _place_job(session, statement, job, sheets, root)
    if is_placed:
        turns.of(job).end()
    elif turns.waits(job):
        job.reasons = reasons
        turns.defer(job, sheets)
    return is_placed


def _place_job(
    session: Session, statement: Statement, job: SessionJob, sheets: list[Worksheet], root: int | None
) -> bool:
    attempt = _Attempt(len(statement.operations), job.reasons.copy(), root)
    if _place_in_order(session, statement, job, sheets, root):
        return True
    return bool(sheets) and _place_by_search(session, statement, job, sheets, attempt)


def _goes_by_domains(session: Session, job: SessionJob) -> bool:
    return session.topology.serves(job) and goes_by_domains(session, job)


def _place_in_order(
    session: Session, statement: Statement, job: SessionJob, sheets: list[Worksheet], root: int | None
) -> bool:
    before, refusals = len(statement.operations), SealedList(job.reasons.refusals)
    _place(session, statement, job, sheets, root, phase="in order")
    if (
        session.jobs.job_ready(job)
        or session.jobs.job_pipelined(job)
        or not (job.checks_roles or job.has_sub_group_policy)
    ):
        return session.jobs.job_ready(job)
    statement.undo_to(before)
    reasons = job.reasons.copy()
    job.reasons.forget_tasks()
    job.reasons.refusals = refusals
    by_need = worksheets_by_need(session, job)
    if by_need:
        _place(session, statement, job, by_need, root, phase="by need")
    if session.jobs.job_ready(job) or session.jobs.job_pipelined(job):
        sheets[:] = by_need
    else:
        statement.undo_to(before)
        job.reasons = reasons
    return session.jobs.job_ready(job)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """State before a job was placed in order."""

    operations: int
    """Length of the statement."""
    reasons: Reasons
    root: int | None


def _place_by_search(
    session: Session, statement: Statement, job: SessionJob, sheets: list[Worksheet], attempt: _Attempt
) -> bool:
    """Search places for all tasks that make a job ready, if placing in order did not.

    Places that wait for capacity that is being released are taken again where none is free. If nothing is found, the
    tasks are refused with reasons for the current cluster.
    """
    tasks = [task for sheet in sheets for task in sheet.tasks]
    if domain_turns(session).waits(job):
        return False
    if has_multiples(session, job):
        return False
    if not session.searches_gangs or not may_be_missed(session, job, tasks, is_uniform=_is_uniform(sheets)):
        return False
    if len(tasks) == 1 and not job.has_topology:
        return False  # all nodes were asked, and there is nothing that it could be placed together with
    waits, reasons = session.jobs.job_pipelined(job), job.reasons.copy()
    done = statement.operations[attempt.operations :]
    statement.undo_to(attempt.operations)
    job.reasons = attempt.reasons
    waiting = _waiting(session, job)
    root = session.topology.domains_of(job).topology.root if attempt.root is None else attempt.root
    search = GangSearch(session, job, waiting, root=root)
    found = search.run(on_idle=True)
    if not (found or waits) and session.nodes.is_releasing:
        found = search.run(on_idle=False)
    job.reasons = attempt.reasons if found else reasons
    if found and _take(statement, job, found):
        sheets[:] = worksheets_of(session, job)
        return session.jobs.job_ready(job)
    if not waits:
        search.refuse(waiting)
    refusal = statement.redo(done)
    if refusal is not None:
        job.refuse(refusal)
    return False


def _take(statement: Statement, job: SessionJob, places: Sequence[Place]) -> bool:
    """Place tasks where a search found places for them, in its order; undo it where one is refused by now."""
    before = len(statement.operations)
    for place in places:
        put = statement.allocate if place.is_idle else statement.pipeline
        if put(job, [place.task], [place.column]) is not None:
            statement.undo_to(before)
            return False
    return True


def _is_uniform(sheets: list[Worksheet]) -> bool:
    return all(sheet.is_uniform for sheet in sheets) and len({sheet.tasks[0].template.number for sheet in sheets}) <= 1


def _place(
    session: Session, statement: Statement, job: SessionJob, sheets: list[Worksheet], root: int | None, *, phase: str
) -> None:
    if _goes_by_domains(session, job):
        if root is None and gather(session, statement, job, sheets[0]):
            return
        DomainSearch(session, statement, job, sheets, phase=phase, root=root).place()
    elif job.has_sub_group_policy:
        place_parts(session, job, sheets, lambda sheet: place_part(session, statement, job, sheet))
    else:
        place_tasks(session, statement, job, sheets[0])
