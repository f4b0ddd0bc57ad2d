"""States: the state machine of Jobs.

    (new) ──▶ Pending ◀────────────┬──────────────┐
                │  ▲               │ enough places │
        enough  ▼  │ too many      │ are free      │
     are there Running ──restart──▶ Restarting ────┘──retries used up──▶ Failed
                │ │ └──abort──▶ Aborting ──none alive──▶ Aborted ──resume──▶ Restarting
                │ └──complete──▶ Completing ──▶ Completed
                ├──terminate──▶ Terminating ──▶ Terminated
                └──all ended──▶ Completed or Failed

Pending, Running and Restarting obey the same actions. Aborting and Aborted obey ResumeJob alone; the phases that end a
Job obey nothing. Always holds: a phase that kills never makes pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyroclast.controllers.jobs.counts import Counts
from pyroclast.controllers.jobs.policies import TARGETED
from pyroclast.model.api.batch import JobPhase, JobSpec, TaskSpec
from pyroclast.model.api.bus import LifecycleAction

__all__ = [
    "ENDING",
    "FINISHED",
    "RESTS",
    "Transition",
    "after_ending",
    "after_restart",
    "least_of_tasks",
    "tasks_that_fell_short",
    "transition",
    "while_pending",
    "while_running",
]

FINISHED: Final = frozenset({JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED})
ENDING: Final = {
    JobPhase.ABORTING: JobPhase.ABORTED,
    JobPhase.COMPLETING: JobPhase.COMPLETED,
    JobPhase.TERMINATING: JobPhase.TERMINATED,
}
"""Phases that wait for the last pod to end, and what comes then."""
RESTS: Final = frozenset({JobPhase.ABORTED, *ENDING, *FINISHED})
"""Phases in which no pod runs."""

_STOPS: Final = {
    LifecycleAction.ABORT_JOB: JobPhase.ABORTING,
    LifecycleAction.COMPLETE_JOB: JobPhase.COMPLETING,
    LifecycleAction.TERMINATE_JOB: JobPhase.TERMINATING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """Effect of an action on a Job."""

    phase: JobPhase
    is_whole: bool = True
    """All pods are killed and the version grows; otherwise only the pods that the action is about."""
    keeps_ended: bool = True
    """Pods that ended stay."""
    is_retry: bool = False
    """It counts against the retries."""


def transition(phase: str, action: LifecycleAction, *, retry_count: int, max_retry: int) -> Transition | None:
    """Return the effect of an action in a phase, None if it has no effect."""
    if phase in {JobPhase.ABORTING, JobPhase.ABORTED}:
        is_obeyed = action is LifecycleAction.RESUME_JOB
        return Transition(phase=JobPhase.RESTARTING, is_retry=True) if is_obeyed else None
    if phase in RESTS:
        return None
    if action in _STOPS:
        return Transition(phase=_STOPS[action])
    is_retry = phase != JobPhase.RESTARTING
    if action is LifecycleAction.RESTART_JOB:
        # The pods of the last attempt stay, so that users can find out why it failed.
        is_last = retry_count >= max_retry - 1
        return Transition(phase=JobPhase.RESTARTING, keeps_ended=is_last, is_retry=is_retry)
    if action in TARGETED and is_retry and retry_count >= max_retry - 1:
        # The Job fails by this: what has ended stays, as after a restart of the whole Job.
        return Transition(phase=JobPhase.RESTARTING, is_retry=True)
    if action in TARGETED:
        return Transition(phase=JobPhase.RESTARTING, is_whole=False, is_retry=is_retry)
    return None


def after_restart(*, retry_count: int, max_retry: int, replicas: int, terminating: int, min_available: int) -> JobPhase:
    """Return the phase once everything that was to be killed is being deleted."""
    if retry_count >= max_retry:
        return JobPhase.FAILED
    return JobPhase.PENDING if replicas - terminating >= min_available else JobPhase.RESTARTING


def after_ending(phase: str, counts: Counts) -> JobPhase:
    """Return the phase while, and once, the pods of a Job that is being stopped end."""
    return JobPhase(phase) if counts.alive else ENDING.get(JobPhase(phase), JobPhase(phase))


def while_pending(spec: JobSpec, counts: Counts) -> JobPhase:
    """Return the phase of a Job that waits for its minimum."""
    are_enough = spec.min_available <= counts.running + counts.succeeded + counts.failed
    return JobPhase.RUNNING if are_enough else JobPhase.PENDING


def while_running(spec: JobSpec, counts: Counts) -> JobPhase:
    """Return the phase of a Job that runs."""
    replicas = sum(task.replicas for task in spec.tasks)
    if not replicas:
        return JobPhase.RUNNING
    if spec.min_success is not None and counts.succeeded >= spec.min_success:
        return JobPhase.COMPLETED
    if counts.succeeded + counts.failed == replicas:
        return _when_all_ended(spec, counts)
    return JobPhase.PENDING if counts.pending > replicas - spec.min_available else JobPhase.RUNNING


def least_of_tasks(tasks: Sequence[TaskSpec]) -> int:
    """Sum up the minimums of tasks; one without a minimum needs all its replicas."""
    return sum(task.replicas if task.min_available is None else task.min_available for task in tasks)


def tasks_that_fell_short(spec: JobSpec, counts: Counts) -> list[tuple[str, int, int]]:
    """Return the tasks of which fewer pods succeeded than they need: name, successes, minimum.

    A task without pods is not judged, and none is where the Job needs fewer pods than its tasks do together.
    """
    if spec.min_available < least_of_tasks(spec.tasks):
        return []
    judged = ((task, counts.succeeded_of(task.name)) for task in spec.tasks)
    return [
        (task.name, succeeded, task.min_available)
        for task, succeeded in judged
        if task.min_available is not None and succeeded is not None and succeeded < task.min_available
    ]


def _when_all_ended(spec: JobSpec, counts: Counts) -> JobPhase:
    if tasks_that_fell_short(spec, counts):
        return JobPhase.FAILED
    if spec.min_success is not None:
        return JobPhase.FAILED  # enough successes would have completed it already
    return JobPhase.COMPLETED if counts.succeeded >= spec.min_available else JobPhase.FAILED
