"""Placing jobs: the tasks of a whole job find places by its topology and its sub-groups, or by neither."""

from framework.jobs import SessionJob
from framework.placing import Worksheet, place_tasks
from framework.placing_in_domains import DomainSearch, goes_by_domains
from framework.placing_parts import place_part, place_parts
from framework.session import Session
from framework.statement import Statement
from model.ids import SubJobId

__all__ = ["place_job", "required_sub_jobs", "worksheets_of"]


def worksheets_of(session: Session, job: SessionJob) -> list[Worksheet]:
    """Return the tasks to be placed, by sub-job; `place_parts` says in which order sub-jobs are taken."""
    waiting = [task for task in session.pending_tasks(job) if not task.gated and not task.template.best_effort]
    if not job.has_sub_group_policy:
        return [Worksheet(part, waiting) for part in job.sub_jobs.values()]
    required = required_sub_jobs(session, job)
    sheets = []
    for part in job.sub_jobs.values():
        members = part.tasks
        tasks = [task for task in waiting if task.id in members]
        if tasks:
            sheets.append(Worksheet(part, tasks, is_required=part.id in required))
    return sheets


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

    Args:
        session: The session.
        statement: Takes the placements.
        job: Whose tasks.
        sheets: The tasks, by sub-job.
        root: Number of the domain in which to look, where it goes by domains; all of them where None.
    """
    if session.serves_topology and goes_by_domains(session, job):
        return DomainSearch(session, statement, job, sheets, root=root).place()
    if job.has_sub_group_policy:
        return place_parts(session, job, sheets, lambda sheet: place_part(session, statement, job, sheet))
    return place_tasks(session, statement, job, sheets[0])
