"""A failed cycle: what is left for those that wait, since nothing was decided about them.

The reason is kube-scheduler's for an error of the scheduler itself. The next cycle that succeeds replaces it.
"""

from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec

from pyroclast.framework.cycle import empty_report
from pyroclast.framework.diagnosis.closing import UNSCHEDULABLE, differs
from pyroclast.framework.diagnosis.native_conditions import native_failure
from pyroclast.model.jobs import Job
from pyroclast.model.report import CycleReport, GroupCondition, GroupStatus, PodCondition
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["MOST_JOBS", "MOST_PODS", "failed_report"]

REASON: Final = "SchedulerError"
MOST_JOBS: Final = 1000
"""Jobs that report one failed cycle. The other jobs report later ones, while cycles fail."""
MOST_PODS: Final = 1000
"""Maximum number of pods that report one failed cycle."""


def failed_report(
    snapshot: Snapshot, *, cycle: int, generation: int, error: str, owns: Callable[[Job], bool] = lambda _: True
) -> CycleReport:
    """Return the report of a failed cycle: the failure and its reason for each waiting job and pod.

    Args:
        snapshot: Snapshot of the cycle.
        cycle: Its number.
        generation: Generation of the configuration.
        error: Error message.
        owns: Returns whether a job belongs to the profile whose session failed; the others have reports of their own.
    """
    message = f"the scheduling cycle failed, and the next one tries again: {error}"
    table = snapshot.job_table
    waiting = [job for job in table.select(table.counts[TaskStatus.PENDING] > 0) if owns(job)]
    groups = (_status(job, message) for job in waiting if not job.is_made_up and not _has_condition(job, message))
    failures = (native_failure(job, REASON, message) for job in waiting)
    natives = (failure for failure in failures if failure is not None)
    tasks = (task for job in waiting for task in job.tasks.values() if _waits(task))
    pods = (_condition(task, message) for task in tasks if differs(task, REASON, message, None))
    return msgspec.structs.replace(
        empty_report(cycle, generation),
        group_statuses=tuple(islice(groups, MOST_JOBS)),
        native_statuses=tuple(islice(natives, MOST_JOBS)),
        pod_conditions=tuple(islice(pods, MOST_PODS)),
    )


def _waits(task: Task) -> bool:
    return task.status is TaskStatus.PENDING and not task.gated


def _has_condition(job: Job, message: str) -> bool:
    expected = (UNSCHEDULABLE, "True", REASON, message)
    return any((each.type, each.status, each.reason, each.message) == expected for each in job.group.status.conditions)


def _status(job: Job, message: str) -> GroupStatus:
    old = job.group.status
    condition = GroupCondition(type=UNSCHEDULABLE, status="True", reason=REASON, message=message, transition_id=job.uid)
    return GroupStatus(
        job=job.id,
        uid=job.uid,
        phase=job.phase,
        running=old.running,
        succeeded=old.succeeded,
        failed=old.failed,
        conditions=(condition,),
    )


def _condition(task: Task, message: str) -> PodCondition:
    return PodCondition(task=task.id, namespace=task.namespace, name=task.name, reason=REASON, message=message)
