"""Shared code of evicting actions: eligible jobs and tasks, and the reasons for the others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from pyroclast.framework.placement.topology.gathering import has_multiples
from pyroclast.framework.placement.topology.required import unserved_topology
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import QueueName
from pyroclast.model.refusals import Refusal
from pyroclast.model.required_rules import RESERVATION_PREEMPTION
from pyroclast.model.tasks import Task, TaskStatus

__all__ = [
    "DEFAULT_DOMAINS",
    "RUNNING",
    "RUNNING_OR_BOUND",
    "Preemptors",
    "eligible_tasks",
    "idle_only_tasks",
    "no_eligible_tasks",
    "preemptors",
    "queue_refusals",
]

DEFAULT_DOMAINS: Final = 8
"""Maximum number of topology domains that are searched, best first."""
RUNNING: Final = frozenset({TaskStatus.RUNNING})
"""Statuses of victims in other queues."""
RUNNING_OR_BOUND: Final = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND})
"""Statuses of victims in the beneficiary's own queue."""


@dataclass(frozen=True, slots=True)
class Preemptors:
    """Jobs with pending tasks: those for which an action may evict, and the others with their reasons."""

    starving: list[SessionJob] = field(default_factory=list)
    others: list[tuple[SessionJob, Refusal]] = field(default_factory=list)

    def record_not_eligible(
        self, action: str, refused: Callable[[SessionJob, Task], Refusal | None] = lambda *_: None
    ) -> None:
        """Record for the other waiting jobs why nothing is evicted for them.

        Args:
            action: The action.
            refused: Returns a refusal of evictions for a task that outranks other reasons; None if there is none.
        """
        for job, refusal in self.others:
            task = next(waiting(job), None) if job.counts[TaskStatus.PENDING] else None
            if task is not None:
                job.refuse_eviction(action, refused(job, task) or refusal)


def preemptors(
    session: Session, *, left_to: str = "", leaves: Callable[[SessionJob], bool] = lambda _: False
) -> Preemptors:
    """Return the admitted jobs that have pending tasks.

    Jobs that could not run anyway, and jobs whose topology no plugin serves, are left out: they have other reasons.

    Args:
        session: The session.
        left_to: Name of the action that serves some jobs instead.
        leaves: Selects these jobs.
    """
    found = Preemptors()
    full = _refusal(session.action, "HasMinimum", "its minimum runs; no pod is evicted for further members")
    enough = _refusal(
        session.action,
        "HasMinimum",
        "as many members run as its minimum; no pod is evicted for a role or a sub-group alone",
    )
    not_starving = _refusal(
        session.action, "NotStarving", "not all plugins of the first tier that decides this report it as starving"
    )
    left = _refusal(
        session.action, "LeftToOthers", f"its network topology is served by {left_to}, which is not configured"
    )
    multiples = _refusal(
        session.action, "PodCountMultiple", "no pod is evicted for a gang whose numbers of pods by layer are limited"
    )
    for job in session.jobs.admitted_with_pending_tasks():
        if session.jobs.job_valid(job) is not None or unserved_topology(session, job) is not None:
            continue
        if job.start_refused_by:
            message = f"plugin {job.start_refused_by} does not permit the job to start, so no pod is evicted for it"
            found.others.append((job, _refusal(session.action, "StartRefused", message)))
        elif has_multiples(session, job):
            found.others.append((job, multiples))
        elif leaves(job):
            if left_to not in session.extensions.profile.actions:
                found.others.append((job, left))
        elif session.jobs.job_starving(job):
            found.starving.append(job)
        elif job.is_starving:
            found.others.append((job, not_starving))
        else:
            found.others.append((job, full if session.jobs.job_pipelined(job) else enough))
    return found


def queue_refusals(session: Session) -> Callable[[SessionJob, Task], Refusal | None]:
    """Return a function that returns why a job's queue may not reclaim for a task. Equal tasks share the answer."""
    known: dict[tuple[QueueName, int], Refusal | None] = {}

    def refusal(job: SessionJob, task: Task) -> Refusal | None:
        key = job.queue, task.template.number
        if key not in known:
            queue = session.queues.by_name[job.queue]
            known[key] = session.queues.overused(queue) or session.queues.preemptive(queue, [task])
        return known[key]

    return refusal


def waiting(job: SessionJob) -> Iterator[Task]:
    """Return the pending tasks that are not gated."""
    return (task for task in job.in_status(TaskStatus.PENDING) if not task.gated)


def eligible_tasks(session: Session, job: SessionJob) -> list[Task]:
    """Return the tasks for which evictions are permitted, in the order of placement."""
    return [
        task for task in session.jobs.pending_tasks(job) if not task.gated and not never_preempts(session, job, task)
    ]


def idle_only_tasks(session: Session, job: SessionJob) -> list[Task]:
    """Return the tasks that never preempt but can use idle capacity in a plan for the others, in placement order."""
    return [task for task in session.jobs.pending_tasks(job) if not task.gated and never_preempts(session, job, task)]


def never_preempts(session: Session, job: SessionJob, task: Task) -> bool:
    """Return whether no pod may be evicted for a task, by its own preemption policy or that of its native group.

    For a Reservation pods are evicted only if the configuration permits it.
    """
    if _is_quiet_reservation(session, task):
        return True
    native = job.job.native
    return task.pod.spec.preemption_policy == "Never" or (native is not None and not native.preempts)


def _is_quiet_reservation(session: Session, task: Task) -> bool:
    return task.id in session.snapshot.reserve_tasks and not session.extensions.serves(RESERVATION_PREEMPTION)


def no_eligible_tasks(session: Session, job: SessionJob) -> Refusal | None:
    """Return why evictions are permitted for no task of a job; None if no task waits."""
    action, tasks = session.action, list(waiting(job))
    if not tasks:
        return None
    if all(_is_quiet_reservation(session, task) for task in tasks):
        message = "no pod is evicted for a Reservation: enablePreemption of the plugin reservation is false"
        return _refusal(action, "ReservationPreemptionDisabled", message)
    if all(never_preempts(session, job, task) for task in tasks):
        whose = "its pods have" if job.job.native is None or job.job.native.preempts else "its PodGroup has"
        return _refusal(action, "PreemptionPolicyNever", f"{whose} the preemption policy Never")
    return _refusal(action, "AsksForNothing", "no pod is evicted for best-effort pods")


def _refusal(action: str, reason: str, message: str) -> Refusal:
    return Refusal(plugin=action, reason=reason, message=message)
