"""Lending: idle room goes to jobs that only the share of their queue keeps from it.

The last step of a cycle, when every queue has had its turn, and room that evictions make is held for its beneficiaries.
What is idle then no queue can use within its share. Queues take turns by their order; a gang gets its minimum or
nothing; limits of queues, and everything else that plugins and nodes say, hold as before. Only `lendable` refusals do
not count. Pods that are bound this way carry an annotation, by which share plugins let reclaim take them first.
"""

from typing import Any, Final

from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.placement.placing import Worksheet, complete
from pyroclast.framework.placement.placing_jobs import place_job, worksheets_of
from pyroclast.framework.placement.topology.required import unserved_topology
from pyroclast.framework.placement.work_order import WorkOrder
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId
from pyroclast.model.sealed import SealedDict, SealedList
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["lend_idle_capacity"]

_ACTION: Final = "allocate"
"""The action whose rule this is; nothing is lent where it is not configured."""


def lend_idle_capacity(session: Session) -> None:
    """Offer idle room to each job that only the share of its queue keeps from it."""
    if _ACTION not in session.extensions.profile.actions or _is_another_offer_due(session):
        return
    kept = _kept_by_share(session)
    if kept:
        session.action = _ACTION
        with session.queues.lending():
            _Lending(session).offer(kept)


def _is_another_offer_due(session: Session) -> bool:
    """Return whether jobs were admitted after allocate ran: the next cycle offers them this room first."""
    return session.extensions.profile.admits_after_allocate and any(
        job.phase is PodGroupPhase.INQUEUE and job.job.phase is not PodGroupPhase.INQUEUE
        for job in session.jobs.known().values()
    )


def _kept_by_share(session: Session) -> list[SessionJob]:
    """Return the jobs that a share refused in this cycle, or in an earlier one if nothing changed since."""
    found: dict[JobId, SessionJob] = {
        job.id: job for job in session.jobs.known().values() if job.kept_by_share and job.counts[TaskStatus.PENDING]
    }
    for task, jobs in session.jobs.skipped.passed_by_share:
        passed = (session.jobs.get(each.id) for each in jobs) if _has_idle_capacity(session, task) else ()
        found |= {job.id: job for job in passed if job is not None and _may_run(session, job)}
    return [found[job_id] for job_id in sorted(found)]


def _has_idle_capacity(session: Session, task: Task) -> bool:
    """Return whether some node might take a task of this template now."""
    if not session.candidates.has_room(task):
        return False
    candidates = session.candidates.of(task)
    candidates.refresh(task)
    return candidates.has_free_room(None)


def _may_run(session: Session, job: SessionJob) -> bool:
    return not job.is_pending and session.jobs.job_valid(job) is None and unserved_topology(session, job) is None


class _Lending:
    """Idle room that is being lent."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._refused: set[tuple[Any, ...]] = set()
        """Shapes of jobs that found no places: idle room only shrinks, so equal ones find none either."""

    def offer(self, jobs: list[SessionJob]) -> None:
        """Offer idle room to jobs, queues taking turns."""
        session = self._session
        order = WorkOrder(session, jobs)
        while (queue := order.next_queue()) is not None:
            job = None if session.queues.overused(queue) is not None else order.next_job(queue)
            if job is None:
                continue
            if self._lend(job):
                order.return_job(job)
            order.return_queue(queue)

    def _lend(self, job: SessionJob) -> bool:
        """Bind what makes a job ready, or change nothing; return whether the job should have another turn."""
        session, sheets = self._session, worksheets_of(self._session, job)
        shape = self._shape(job, sheets)
        if not any(sheets) or shape in self._refused or not any(map(self._might_fit, sheets)):
            return False
        reasons = job.reasons.copy()
        with session.statement() as statement:
            if place_job(session, statement, job, sheets) and _is_on_idle_capacity(statement):
                _settle(job)
                session.jobs.skipped.take_up(job)
                if job.relies_on_best_effort:
                    session.deferred.add(job, statement)
                    complete(session, job)
                else:
                    statement.commit()
                return any(sheets)
        job.reasons = reasons
        if shape is not None:
            self._refused.add(shape)
        return False

    def _might_fit(self, sheet: Worksheet) -> bool:
        """Return whether tasks of a sub-job are worth a trial: equal ones are not where no node has free room."""
        session = self._session
        if not (sheet and sheet.is_uniform):
            return bool(sheet)
        return _has_idle_capacity(session, sheet.next_task)

    def _shape(self, job: SessionJob, sheets: list[Worksheet]) -> tuple[Any, ...] | None:
        """Return what decides whether a job of equal tasks finds places; None for other jobs."""
        session = self._session
        if len(sheets) != 1 or not (sheets[0] and sheets[0].is_uniform) or job.has_topology:
            return None
        task = sheets[0].next_task
        if not (session.candidates.has_room(task) and session.candidates.of(task).stands_alone(task)):
            return None
        return job.queue, task.template.number, session.queues.kind(task), session.jobs.missing_of_job(job)


def _is_on_idle_capacity(statement: Statement) -> bool:
    """Return whether a statement places tasks, and all on idle room; room that is being released is not lent."""
    verbs = {operation.change.verb for operation in statement.operations}
    return verbs == {Verb.ALLOCATE}


def _settle(job: SessionJob) -> None:
    """Forget the share's refusals of what has its place now."""
    job.reasons.unschedulable_template = None
    job.reasons.refusals = SealedList(each for each in job.reasons.refusals if not each.lendable)
    pending = {task.id for task in job.in_status(TaskStatus.PENDING)}
    job.reasons.task_refusals = SealedDict(
        (task_id, each) for task_id, each in job.reasons.task_refusals.items() if task_id in pending
    )
