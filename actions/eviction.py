"""What all actions share that evict: whose turn it is, which tasks may take the place of others, and where."""

from typing import Final

from actions.topology import unserved_topology
from framework.jobs import SessionJob
from framework.session import Session
from model.tasks import Task, TaskStatus

__all__ = [
    "DEFAULT_DOMAINS",
    "RUNNING",
    "RUNNING_OR_BOUND",
    "eligible_tasks",
    "is_starving",
]

DEFAULT_DOMAINS: Final = 8
"""Topology domains in which room is looked for, best first."""
RUNNING: Final = frozenset({TaskStatus.RUNNING})
"""Where in their lives victims of other queues may be."""
RUNNING_OR_BOUND: Final = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND})
"""Where victims of the beneficiary's own queue may be."""


def is_starving(session: Session, job: SessionJob) -> bool:
    """Tell whether evictions may be made for a job; not where nobody would keep to the topology that it requires."""
    return session.job_valid(job) is None and session.job_starving(job) and unserved_topology(session, job) is None


def eligible_tasks(session: Session, job: SessionJob) -> list[Task]:
    """Return the tasks for which evictions may be made, first to be placed first."""
    return [
        task for task in session.pending_tasks(job) if not task.gated and task.pod.spec.preemption_policy != "Never"
    ]
