"""Actions of controllers, the events that trigger them, and Command, a manual request."""

from enum import StrEnum
from typing import ClassVar

from pyroclast.model.api import names
from pyroclast.model.api.definitions import Definition, KubernetesObject
from pyroclast.model.api.meta import OwnerReference

__all__ = ["Command", "LifecycleAction", "LifecycleEvent"]


class LifecycleAction(StrEnum):
    """Action on a job, a task, a pod or a queue."""

    ABORT_JOB = "AbortJob"
    RESTART_JOB = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE_JOB = "TerminateJob"
    COMPLETE_JOB = "CompleteJob"
    RESUME_JOB = "ResumeJob"
    SYNC_JOB = "SyncJob"
    """Internal: reconcile the job with its spec."""
    ENQUEUE_JOB = "EnqueueJob"
    """Internal: the job was admitted."""
    SYNC_QUEUE = "SyncQueue"
    """Internal: update the queue's status."""
    OPEN_QUEUE = "OpenQueue"
    CLOSE_QUEUE = "CloseQueue"


class LifecycleEvent(StrEnum):
    """Event that can trigger an action."""

    ANY = "*"
    POD_PENDING = "PodPending"
    POD_RUNNING = "PodRunning"
    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    UNKNOWN = "Unknown"
    TASK_COMPLETED = "TaskCompleted"
    OUT_OF_SYNC = "OutOfSync"
    COMMAND_ISSUED = "CommandIssued"
    JOB_UPDATED = "JobUpdated"
    TASK_FAILED = "TaskFailed"


class Command(KubernetesObject, frozen=True, kw_only=True):
    """Command requests one action on a job or queue. It is deleted after its execution."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.BUS, kind="Command", plural="commands", has_status_subresource=False
    )
    action: str = ""
    """Requested action, such as AbortJob, ResumeJob, OpenQueue or CloseQueue."""
    target: OwnerReference | None = None
    """Job or queue of the action."""
    reason: str = ""
    """Cause in one word."""
    message: str = ""
    """Human-readable details."""
