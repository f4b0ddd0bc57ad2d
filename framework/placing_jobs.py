"""Placing jobs: the tasks of a whole job find places by its topology and its sub-groups, or by neither."""

from framework.jobs import SessionJob
from framework.minimums import in_front, needed_tasks
from framework.placing import Worksheet, place_tasks
from framework.placing_in_domains import DomainSearch, goes_by_domains
from framework.placing_parts import place_part, place_parts
from framework.session import Session
from framework.statement import Statement
from model.ids import SubJobId, TaskId
from model.refusals import Refusal
from model.tasks import Task

__all__ = ["place_job", "required_sub_jobs", "tell_again", "told_so_far", "worksheets_by_need", "worksheets_of"]

Told = tuple[dict[TaskId, Refusal], dict[TaskId, Task], list[Refusal], int | None, bool]
"""What a job was told: of its tasks, of places they had, of itself, and of a misfit."""


def worksheets_of(session: Session, job: SessionJob) -> list[Worksheet]:
    """Return the tasks to be placed, by sub-job; `place_parts` says in which order sub-jobs are taken."""
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
    return [task for task in session.pending_tasks(job) if not task.gated and not task.template.best_effort]


def required_sub_jobs(session: Session, job: SessionJob) -> set[SubJobId]:
    """Return the sub-jobs that must become ready for the minimum of their group."""
    needed = dict(job.min_sub_jobs)
    unready = []
    for part in sorted(job.sub_jobs.values(), key=session.sub_job_order_key):
        if session.sub_job_ready(part):
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
    """Place tasks of a job until it is ready, within domains where its topology asks for them; tell whether it is.

    A job with minimums of roles or sub-groups gets a second trial where the first one, in task order, leads nowhere:
    those that make it ready go first then, so that members it could do without do not take their room.

    Args:
        session: The session.
        statement: Takes the placements.
        job: Whose tasks.
        sheets: The tasks, by sub-job; after a second trial that led somewhere, what that left.
        root: Number of the domain in which to look, where it goes by domains; all of them where None.
    """
    before, refusals = len(statement.operations), list(job.refusals)
    _place(session, statement, job, sheets, root)
    if session.job_ready(job) or session.job_pipelined(job) or not (job.checks_roles or job.has_sub_group_policy):
        return session.job_ready(job)
    statement.undo_to(before)
    told = told_so_far(job)
    tell_again(job, ({}, {}, refusals, job.misfit, job.misfits_queue))
    by_need = worksheets_by_need(session, job)
    if by_need:
        _place(session, statement, job, by_need, root)
    if session.job_ready(job) or session.job_pipelined(job):
        sheets[:] = by_need
    else:
        statement.undo_to(before)
        tell_again(job, told)
    return session.job_ready(job)


def _place(session: Session, statement: Statement, job: SessionJob, sheets: list[Worksheet], root: int | None) -> None:
    if session.serves_topology and goes_by_domains(session, job):
        DomainSearch(session, statement, job, sheets, root=root).place()
    elif job.has_sub_group_policy:
        place_parts(session, job, sheets, lambda sheet: place_part(session, statement, job, sheet))
    else:
        place_tasks(session, statement, job, sheets[0])


def told_so_far(job: SessionJob) -> Told:
    """Note what this cycle told a job, before a trial of which it must not hear."""
    return dict(job.task_refusals), dict(job.last_places), list(job.refusals), job.misfit, job.misfits_queue


def tell_again(job: SessionJob, told: Told) -> None:
    """Tell a job that, and nothing else."""
    job.task_refusals, job.last_places, job.refusals, job.misfit, job.misfits_queue = told
