"""Keeping: members of patient gangs keep the nodes that they found, though their gang lacks its minimum.

A gang is patient by its mode, for a waiting time. Places of its members are held like room that is being released, so
that nothing else is placed there and nothing is bound; in the next cycles they are promised (`framework.promises`), as
long as the time is not over. A gang of which a member has to let a place go takes none in the same cycle: others go
first.
"""

from framework.jobs import SessionJob
from framework.session import Session
from framework.statement import Statement
from model.tasks import Task

__all__ = ["keep_places"]


def keep_places(session: Session, statement: Statement, job: SessionJob) -> None:
    """Hold for pending members of patient gangs what they find, and note for how long; for others nothing is done.

    Args:
        session: The session.
        statement: Takes the placements; what it has of the job is kept as well.
        job: A job whose places are not committed.
    """
    group = session.snapshot.gangs.get(job.id)
    if group is None or not group.is_patient:
        return
    if session.promises.given_up.isdisjoint(job.tasks):
        for task in session.pending_tasks(job):
            if not (task.gated or task.template.best_effort):
                _place(session, statement, job, task)
    for task in statement.placed().values():
        assert task.node is not None, "a placed task has a node"
        until = session.now + group.patience(task.role)
        session.kept.setdefault((job.id, until), {})[task.id] = task.node
    if statement.operations:
        statement.hold()


def _place(session: Session, statement: Statement, job: SessionJob, task: Task) -> None:
    """Hold the best node for a task; why there is none it was told when it was tried."""
    if session.allocatable(session.queue(job.queue), task) or session.pre_predicate(task) or not session.has_room(task):
        return
    choice = session.candidates(task).choose(task, None)
    if choice is not None:
        statement.pipeline(job, [task], [choice.column])
