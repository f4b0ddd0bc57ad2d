"""What actions that evict share: who may have others evicted, for which tasks, and what those are told who may not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from pyroclast.framework.placement.topology.required import unserved_topology
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import QueueName
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus

__all__ = [
    "DEFAULT_DOMAINS",
    "RUNNING",
    "RUNNING_OR_BOUND",
    "Preemptors",
    "eligible_tasks",
    "nobody_eligible",
    "preemptors",
    "queue_refusals",
]

DEFAULT_DOMAINS: Final = 8
"""Topology domains in which room is looked for, best first."""
RUNNING: Final = frozenset({TaskStatus.RUNNING})
"""Where in their lives victims of other queues may be."""
RUNNING_OR_BOUND: Final = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND})
"""Where victims of the beneficiary's own queue may be."""


@dataclass(frozen=True, slots=True)
class Preemptors:
    """Jobs with pending tasks: those for which an action may evict, and the others, each with the reason."""

    starving: list[SessionJob] = field(default_factory=list)
    others: list[tuple[SessionJob, Refusal]] = field(default_factory=list)

    def record_not_eligible(
        self, action: str, refused: Callable[[SessionJob, Task], Refusal | None] = lambda *_: None
    ) -> None:
        """Tell the others that still wait why nobody is evicted for them.

        Args:
            action: Who tells.
            refused: Says what refuses evictions for a task of a job before anything else; None where nothing does.
        """
        for job, refusal in self.others:
            task = next(waiting(job), None) if job.counts[TaskStatus.PENDING] else None
            if task is not None:
                job.refuse_eviction(action, refused(job, task) or refusal)


def preemptors(
    session: Session, *, left_to: str = "", leaves: Callable[[SessionJob], bool] = lambda _: False
) -> Preemptors:
    """Return the jobs past their gates that have pending tasks.

    Not those that could not run anyway, nor those whose topology nobody would keep to: they are told by others.

    Args:
        session: The session.
        left_to: To which action it leaves jobs.
        leaves: Which ones.
    """
    found = Preemptors()
    full = _refusal(session.action, "HasMinimum", "its minimum runs; nobody is evicted for what is beyond it")
    enough = _refusal(
        session.action, "HasMinimum", "as many run as its minimum; nobody is evicted for a role or a sub-group alone"
    )
    mild = _refusal(
        session.action, "NotStarving", "not all plugins of the first tier that speaks of it say that it starves"
    )
    left = _refusal(session.action, "LeftToOthers", f"with its network topology it is left to {left_to}, which is off")
    for job in session.jobs.admitted_with_pending_tasks():
        if session.jobs.job_valid(job) is not None or unserved_topology(session, job) is not None:
            continue
        if job.start_refused_by:
            message = f"plugin {job.start_refused_by} does not let the job start, so nothing is evicted for it"
            found.others.append((job, _refusal(session.action, "StartRefused", message)))
        elif leaves(job):
            if left_to not in session.extensions.profile.actions:
                found.others.append((job, left))
        elif session.jobs.job_starving(job):
            found.starving.append(job)
        elif job.is_starving:
            found.others.append((job, mild))
        else:
            found.others.append((job, full if session.jobs.job_pipelined(job) else enough))
    return found


def queue_refusals(session: Session) -> Callable[[SessionJob, Task], Refusal | None]:
    """Return what says why a job's queue may take no room from others for a task; asked once for equal tasks."""
    known: dict[tuple[QueueName, int], Refusal | None] = {}

    def refusal(job: SessionJob, task: Task) -> Refusal | None:
        key = job.queue, task.template.number
        if key not in known:
            queue = session.queues.by_name[job.queue]
            known[key] = session.queues.overused(queue) or session.queues.preemptive(queue, [task])
        return known[key]

    return refusal


def waiting(job: SessionJob) -> Iterator[Task]:
    """Return the pending tasks that only want a place."""
    return (task for task in job.in_status(TaskStatus.PENDING) if not task.gated)


def eligible_tasks(session: Session, job: SessionJob) -> list[Task]:
    """Return the tasks for which evictions may be made, first to be placed first."""
    return [
        task
        for task in session.jobs.pending_tasks(job)
        if not task.gated and task.pod.spec.preemption_policy != "Never"
    ]


def nobody_eligible(action: str, job: SessionJob) -> Refusal | None:
    """Say why evictions may be made for no task of a job; None where none waits for a place."""
    tasks = list(waiting(job))
    if not tasks:
        return None
    if all(task.pod.spec.preemption_policy == "Never" for task in tasks):
        return _refusal(action, "PreemptionPolicyNever", "its pods have the preemption policy Never")
    return _refusal(action, "AsksForNothing", "no room is made for pods that ask for none")


def _refusal(action: str, reason: str, message: str) -> Refusal:
    return Refusal(plugin=action, reason=reason, message=message)
