"""Conditions of native groups, as kube-scheduler writes them: whether the group was scheduled once, and why not.

The condition becomes True when the minimum is scheduled, and stays True. Before there are as many pods as the minimum
nothing is written, because nothing was tried.
"""

from typing import Final

from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.jobs import Job
from pyroclast.model.native.names import SCHEDULED, UNSCHEDULABLE, condition_type
from pyroclast.model.refusals import without_amounts
from pyroclast.model.report import NativeGroupStatus

__all__ = ["native_failure", "native_status"]

_LONGEST_MESSAGE: Final = 8 * 1024
"""Characters of a message; the API server permits 32 KiB."""


def native_status(job: SessionJob, message: str) -> NativeGroupStatus | None:
    """Return the condition that the group of a job lacks; None if it has the right one, or needs none yet.

    Args:
        job: A job at the end of a cycle.
        message: Why its minimum cannot be scheduled; empty if the cycle found no reason.
    """
    if job.job.native is None:
        return None
    if job.may_start and job.ready_count >= job.min_available:
        return _changed(job.job, "True", SCHEDULED, "")
    if not message or job.valid_count < job.min_available:
        return None
    return native_failure(job.job, UNSCHEDULABLE, message)


def native_failure(job: Job, reason: str, message: str) -> NativeGroupStatus | None:
    """Return the condition that the group of a job was not scheduled; None if it has it, or was scheduled before."""
    return _changed(job, "False", reason, message[:_LONGEST_MESSAGE])


def _changed(job: Job, status: str, reason: str, message: str) -> NativeGroupStatus | None:
    if job.native is None:
        return None
    group = job.native.object
    type_ = condition_type(group.api_version)
    known = next((each for each in group.status.conditions if each.type == type_), None)
    if known is not None and (known.status == "True" or _is_same(known.reason, known.message, reason, message)):
        return None
    return NativeGroupStatus(
        namespace=group.metadata.namespace,
        name=group.metadata.name,
        uid=group.metadata.uid,
        type=type_,
        status=status,
        reason=reason,
        message=message,
        generation=group.metadata.generation,
    )


def _is_same(known_reason: str, known: str, reason: str, message: str) -> bool:
    return known_reason == reason and without_amounts(known) == without_amounts(message)
