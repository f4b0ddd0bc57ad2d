"""Examinations: why pods are on their nodes, or on none, from a cycle that is decided once more."""

from collections.abc import Iterator

import msgspec

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.shadows.tracing import Tracing
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.examination import Examination
from pyroclast.model.ids import TaskId
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["begin_tracing", "end_tracing"]

_ON_NODES = frozenset({TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING})


def begin_tracing(session: Session, tracing: Tracing, profile: str) -> None:
    """Prepare for the session of a profile."""
    tracing.profile, tracing.cycle = profile, session.cycle
    tracing.action = lambda: session.action


def end_tracing(session: Session, tracing: Tracing) -> None:
    """Examine the chosen tasks that the actions neither placed nor refused, at the end of the cycle."""
    for job, task in _left(session, tracing):
        if task.status is TaskStatus.PENDING:
            tracing.others[task.id] = tracing.examination(session.candidates, task, moment="at the end")
        elif task.status in _ON_NODES and task.node in session.nodes.table.column:
            tracing.others[task.id] = _without_itself(session, tracing, job, task)
    for task_id in [task_id for task_id in tracing.placed if _lost_its_place(session, tracing, task_id)]:
        given_back = tracing.placed.pop(task_id)
        tracing.others.setdefault(task_id, _tried(given_back))


def _left(session: Session, tracing: Tracing) -> Iterator[tuple[SessionJob, Task]]:
    for job_id in sorted(session.snapshot.jobs):
        if not any(map(tracing.concerns, session.snapshot.jobs[job_id].tasks.values())):
            continue
        job = session.jobs.get(job_id)
        for task in () if job is None else tuple(job.tasks.values()):
            if tracing.concerns(task) and task.id not in tracing.placed and task.id not in tracing.others:
                assert job is not None, "it has a task"
                yield job, task


def _without_itself(session: Session, tracing: Tracing, job: SessionJob, task: Task) -> Examination:
    """Examine a task that is on a node as if it had left it, and were placed there again."""
    assert task.node is not None, "it is on a node"
    with session.statement(trial=True) as leaving:
        leaving.evict(job, task, "explain")
        column = session.nodes.table.column[task.node]
        return tracing.examination(session.candidates, task, moment="at the end", chosen=column)


def _lost_its_place(session: Session, tracing: Tracing, task_id: TaskId) -> bool:
    examination = tracing.placed[task_id]
    job = None if examination.job is None else session.jobs.get(examination.job)
    task = None if job is None else job.tasks.get(examination.task)
    return task is None or task.status is TaskStatus.PENDING


def _tried(examination: Examination) -> Examination:
    return msgspec.structs.replace(examination, moment="tried")
