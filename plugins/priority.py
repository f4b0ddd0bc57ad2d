"""Priority: jobs and tasks with a higher priority come first, and may preempt those with a lower one.

Points: task order, job order, sub-job order, preemptable, unified evictable, job starving.  No arguments.
Rules and example: docs/plugins/priority.md.
"""

from collections.abc import Sequence
from typing import Any

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.model.tasks import Task

__all__ = ["Priority"]


class Priority(Plugin):
    """Order by the priority of the job and of the pod."""

    name = "priority"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        session.extensions.register(contract.TASK_ORDER, self.name, task_rank)
        session.extensions.register(contract.JOB_ORDER, self.name, job_rank)
        session.extensions.register(contract.SUB_JOB_ORDER, self.name, sub_job_rank)
        session.extensions.register(contract.JOB_STARVING, self.name, has_unplaced_tasks)

        def preemptable(preemptor: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
            mine = session.jobs.of(preemptor)
            if mine is None:
                return [], Vote.PERMIT
            return [
                task for task in candidates if is_preemptable_by(session.jobs.of(task), task, mine, preemptor)
            ], Vote.PERMIT

        def evictable(context: Any, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
            if context.is_reclaim:
                return list(candidates), Vote.PERMIT
            lower = [
                task
                for task in candidates
                if (job := session.jobs.of(task)) is not None and job.priority < context.job.priority
            ]
            return lower, Vote.PERMIT

        session.extensions.register(contract.PREEMPTABLE, self.name, preemptable, alike=True)
        session.extensions.register(contract.UNIFIED_EVICTABLE, self.name, evictable, alike=True, in_turn=True)


def task_rank(task: Task) -> int:
    """Rank a task: higher priority first."""
    return -task.priority


def job_rank(job: SessionJob) -> int:
    """Rank a job: higher priority first."""
    return -job.priority


def sub_job_rank(sub_job: SubJob) -> int:
    """Rank a sub-job by the highest priority of its tasks; if all are negative, it counts as 0."""
    return -max(0, max((task.priority for task in sub_job.tasks.values()), default=0))


def has_unplaced_tasks(job: SessionJob) -> bool:
    """Return whether some task of the job neither runs, nor has run well, nor is pipelined."""
    return job.ready_count + job.waiting_count < len(job.tasks)


def is_preemptable_by(job: SessionJob | None, task: Task, preemptors_job: SessionJob, preemptor: Task) -> bool:
    """Return whether a task may be preempted: by another job by job priority, inside its job by task priority."""
    if job is None:
        return False
    if job.id == preemptors_job.id:
        return task.priority < preemptor.priority
    return job.priority < preemptors_job.priority
