"""Waiting gangs: members of patient gangs keep the nodes that they found, while their gang lacks its minimum.

A gang is patient by its mode, for a waiting time. Places of its members are held like capacity that is being released,
so that nothing else is placed there and nothing is bound; in the next cycles they are promised (`nominations`), as long
as the time is not over. Nothing is kept for a gang that can never come together as nodes and queues are. A gang of
which a member gives up a node holds none in the same cycle: others come first.
"""

from collections import Counter
from typing import Final

from pyroclast.framework.queues.never_running import why_never_run
from pyroclast.framework.reservations.hold_times import end_for_gang
from pyroclast.framework.session.held import job_holder
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId
from pyroclast.model.tasks import READY_STATUSES, Task, TaskStatus

__all__ = ["keep_places", "why_never_together"]

_NEVER_TOGETHER: Final = ScratchKey("gangs that never come together")


def keep_places(session: Session, statement: Statement, job: SessionJob) -> None:
    """Hold the places that pending members of patient gangs find, with a time limit. Ignore other jobs.

    Args:
        session: The session.
        statement: Takes the placements; its earlier placements of the job are kept too.
        job: A job whose places are not committed.
    """
    group = session.snapshot.gangs.get(job.id)
    if group is None or not group.is_patient or why_never_together(session, job):
        return
    if session.held.given_up.isdisjoint(job.tasks):
        for task in session.jobs.pending_tasks(job):
            if not (task.gated or task.template.best_effort):
                _place(session, statement, job, task)
    for task in statement.placed().values():
        session.held.hold(task, holder=job_holder(job.id), ends=end_for_gang(session.now, group, task.role))
    if statement.operations:
        statement.hold()


def why_never_together(session: Session, job: SessionJob) -> str:
    """Return why a gang can never come together, as a clause; empty if it may.

    Bounds in its favour: rules that depend on other pods are not asked, and pods that are not made yet may fit.
    """
    known: dict[JobId, str] = session.scratch.setdefault(_NEVER_TOGETHER, {})
    if job.id not in known:
        known[job.id] = why_never_run(session, job.job) or _short_role(session, job)
    return known[job.id]


def _short_role(session: Session, job: SessionJob) -> str:
    """Return which role needs more of its pending members than fit empty nodes."""
    for role, least in job.job.min_by_role.items():
        members = [task for task in job.job.tasks.values() if task.role == role]
        pending = [task for task in members if task.status is TaskStatus.PENDING]
        others = sum(task.status in READY_STATUSES for task in members)
        counts = Counter(task.template.number for task in pending)
        first = {task.template.number: task for task in reversed(pending)}
        places = sum(
            min(counts[number], session.candidates.places_on_empty_nodes(task).total) for number, task in first.items()
        )
        if pending and places < min(least - others, len(pending)):
            return f"even empty nodes fit only {places} of the {len(pending)} pending pods of {role}"
    return ""


def _place(session: Session, statement: Statement, job: SessionJob, task: Task) -> None:
    """Hold the best node for a task. If there is none, the task already has the reason from its trial."""
    if (
        session.queues.allocatable(session.queues.by_name[job.queue], task)
        or session.candidates.pre_predicate(task)
        or not session.candidates.has_room(task)
    ):
        return
    choice = session.candidates.of(task).choose(task, None)
    if choice is not None:
        statement.pipeline(job, [task], [choice.column])
