"""Orphan pods: pending pods that belong to no job of the snapshot, with the reason of each."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pyroclast.cache.stores.job_store import JobEntry
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import JobId, QueueName
from pyroclast.model.native.identity import is_native, key_of_native
from pyroclast.model.refusals import Refusal
from pyroclast.model.snapshot import OrphanPod
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["NO_GROUP", "broken_pod", "orphan_pods"]

_PLUGIN: Final = "scheduler"

NO_GROUP: Final = Refusal(
    plugin=_PLUGIN,
    reason="NoPodGroup",
    message="the pod names no PodGroup (scheduling.k8s.io/group-name) and waits until a controller creates one; "
    "--ungrouped-pods=single schedules such pods alone",
    resolvable=False,
)
"""Refusal of a pod of this scheduler that names no group."""


def broken_pod(fault: ObjectError) -> Refusal:
    """Return the refusal of a pod that cannot be read."""
    return Refusal(plugin=_PLUGIN, reason="InvalidPod", message=f"{fault.path}: {fault.message}", resolvable=False)


def orphan_pods(
    orphans: Iterable[tuple[Task, Refusal]], jobs: Iterable[JobEntry], queue_faults: Mapping[QueueName, ObjectError]
) -> Iterator[OrphanPod]:
    """Yield the pending tasks of `orphans`, and those of the jobs that are not in the snapshot."""
    for task, refusal in orphans:
        if task.status is TaskStatus.PENDING:
            yield OrphanPod(task=task, refusal=refusal)
    for entry in jobs:
        refusal = _refusal(entry, queue_faults)
        for task in entry.frozen_tasks().values():
            if task.status is TaskStatus.PENDING:
                yield OrphanPod(task=task, refusal=refusal)


def _refusal(entry: JobEntry, queue_faults: Mapping[QueueName, ObjectError]) -> Refusal:
    if entry.fault is not None:
        reason, message = "InvalidPodGroup", f"{_name(entry.id)}: {entry.fault.path}: {entry.fault.message}"
    elif entry.facts is None:
        reason, message = "PodGroupNotFound", f"{_name(entry.id)} does not exist"
    elif (fault := queue_faults.get(entry.facts.queue)) is not None:
        reason, message = "InvalidQueue", f"queue {entry.facts.queue}: {fault.path}: {fault.message}"
    else:
        reason, message = "QueueNotFound", f"queue {entry.facts.queue} does not exist"
    return Refusal(plugin=_PLUGIN, reason=reason, message=message, resolvable=False)


def _name(job: JobId) -> str:
    """Return the name of a job's PodGroup."""
    return f"PodGroup {key_of_native(job)} of scheduling.k8s.io" if is_native(job) else f"PodGroup {job}"
