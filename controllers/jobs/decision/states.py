"""States: the state machine of Jobs.

    (new) ──▶ Pending ◀────────────┬──────────────┐
                │  ▲               │ enough places │
        enough  ▼  │ too many      │ are free      │
     are there Running ──restart──▶ Restarting ────┘──retries used up──▶ Failed
                │ │ └──abort──▶ Aborting ──none alive──▶ Aborted ──resume──▶ Restarting
                │ └──complete──▶ Completing ──▶ Completed
                ├──terminate──▶ Terminating ──▶ Terminated
                └──all ended──▶ Completed or Failed

Pending, Running and Restarting have the same actions. Aborting and Aborted have only ResumeJob. The final phases have
none. Invariant: a phase that kills pods never creates pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyroclast.controllers.jobs.decision.counts import Counts
from pyroclast.controllers.jobs.decision.policies import TARGETED
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
"""Phases that wait for the end of the last pod, and their next phases."""
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
    """Whether all pods are killed and the version is incremented. Otherwise only the target pods are killed."""
    keeps_ended: bool = True
    """Whether ended pods stay."""
    is_retry: bool = False
    """Whether it counts as a retry."""


def transition(phase: str, action: LifecycleAction, *, retry_count: int, max_retry: int) -> Transition | None:
    """Return the effect of an action in a phase, None if it has no effect."""
    if phase in {JobPhase.ABORTING, JobPhase.ABORTED}:
        # A user asks for it, so it is no retry: a Job can be suspended more often than it may fail.
        return Transition(phase=JobPhase.RESTARTING) if action is LifecycleAction.RESUME_JOB else None
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
        # The Job fails. Ended pods stay, as after a restart of the whole Job.
        return Transition(phase=JobPhase.RESTARTING, is_retry=True)
    if action in TARGETED:
        return Transition(phase=JobPhase.RESTARTING, is_whole=False, is_retry=is_retry)
    return None


def after_restart(*, retry_count: int, max_retry: int, replicas: int, terminating: int, min_available: int) -> JobPhase:
    """Return the phase after all pods to kill are being deleted."""
    if retry_count >= max_retry:
        return JobPhase.FAILED
    return JobPhase.PENDING if replicas - terminating >= min_available else JobPhase.RESTARTING


def after_ending(phase: str, counts: Counts) -> JobPhase:
    """Return the phase of a Job that is being stopped: the same until its last pod has ended, then the next."""
    return JobPhase(phase) if counts.alive else ENDING.get(JobPhase(phase), JobPhase(phase))


def while_pending(spec: JobSpec, counts: Counts) -> JobPhase:
    """Return the phase of a Pending Job."""
    are_enough = spec.min_available <= counts.running + counts.succeeded + counts.failed
    return JobPhase.RUNNING if are_enough else JobPhase.PENDING


def while_running(spec: JobSpec, counts: Counts) -> JobPhase:
    """Return the phase of a Running Job."""
    replicas = sum(task.replicas for task in spec.tasks)
    if not replicas:
        return JobPhase.RUNNING
    if spec.min_success is not None and counts.succeeded >= spec.min_success:
        return JobPhase.COMPLETED
    if counts.succeeded + counts.failed == replicas:
        return _when_all_ended(spec, counts)
    return JobPhase.PENDING if counts.pending > replicas - spec.min_available else JobPhase.RUNNING


def least_of_tasks(tasks: Sequence[TaskSpec]) -> int:
    """Return the sum of the minimums of tasks. A task without a minimum needs all its replicas."""
    return sum(task.replicas if task.min_available is None else task.min_available for task in tasks)


def tasks_that_fell_short(spec: JobSpec, counts: Counts) -> list[tuple[str, int, int]]:
    """Return the tasks with fewer succeeded pods than their minimum: name, successes, minimum.

    Tasks without pods do not count. There are none if the minimum of the Job is less than the sum of its tasks'
    minimums.
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
        return JobPhase.FAILED  # enough successes would have completed the Job
    return JobPhase.COMPLETED if counts.succeeded >= spec.min_available else JobPhase.FAILED
