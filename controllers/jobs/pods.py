"""Pods: creates the pods of a Job from the task's template, with links to its Job, queue and pod group.

A pod depends only on Job, task and index, so that a repeated creation finds the same pod.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from pyroclast.controllers.jobs.claims import claims_of
from pyroclast.controllers.runtime.writer import owner_reference
from pyroclast.kube.api.resources import JOBS
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job, TaskSpec
from pyroclast.model.label_keys import is_label_value

__all__ = ["build_pod", "pod_group_name", "pod_name", "task_key"]

_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_TAIL: Final = 12
"""Characters of the suffix of a volume name."""
_LABEL_LENGTH: Final = 63


def pod_name(job: str, task: str, index: int) -> str:
    """Return the name of a pod: `<job>-<task>-<index>`."""
    return f"{job}-{task}-{index}"


def pod_group_name(job: Job) -> str:
    """Return the name of the pod group of a Job: `<job>-<uid>`."""
    return f"{job.metadata.name}-{job.metadata.uid}"


def task_key(task: TaskSpec) -> str:
    """Return the name of a task for the annotations of its pods."""
    return task.name or names.DEFAULT_TASK


def build_pod(job: Job, task: TaskSpec, index: int, group: str = "") -> dict[str, Any]:
    """Build a pod, before the Job's plugins complete it.

    Args:
        job: The Job.
        task: One of its tasks.
        index: From 0.
        group: Name of its pod group. Empty: the name of new pod groups.
    """
    # A copy, because plugins change it. This costs a tenth of `deepcopy`, for each pod of a Job.
    template: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(task.template))
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    _complete(spec, job)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(job.metadata.name, task.name, index),
            "namespace": job.metadata.namespace,
            "labels": {**(metadata.get("labels") or {}), **_labels(job, task, index)},
            "annotations": {**(metadata.get("annotations") or {}), **_annotations(job, task, index, group)},
            "ownerReferences": [owner_reference(JOBS, job.metadata)],
        },
        "spec": spec,
    }


def _complete(spec: dict[str, Any], job: Job) -> None:
    """Set fields of the Job that the template does not set."""
    if not spec.get("schedulerName"):
        spec["schedulerName"] = job.spec.scheduler_name or names.DEFAULT_SCHEDULER
    if not spec.get("priorityClassName") and job.spec.priority_class_name:
        spec["priorityClassName"] = job.spec.priority_class_name
    for claim, path in _mounts(job):
        name = _volume_name(job, claim)
        volume = {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        spec["volumes"] = [*(spec.get("volumes") or ()), volume]
        for container in spec.get("containers") or ():
            mount = {"name": name, "mountPath": path}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _mounts(job: Job) -> Iterator[tuple[str, str]]:
    """Yield claims and their mount paths. The first entry for a claim counts."""
    seen = set[str]()
    for claim in claims_of(job):
        if claim.name not in seen:
            seen.add(claim.name)
            yield claim.name, job.spec.volumes[claim.entry].mount_path


def _volume_name(job: Job, claim: str) -> str:
    """Return the name of a volume: the Job's name and a suffix for the claim. It is always a DNS label."""
    number = int.from_bytes(hashlib.sha256(f"{job.metadata.uid}/{claim}".encode()).digest())
    tail = "".join(_BASE36[number // 36**place % 36] for place in range(_TAIL))
    head = job.metadata.name.replace(".", "-")[: _LABEL_LENGTH - _TAIL - 1]
    return f"{head}-{tail}"


def _labels(job: Job, task: TaskSpec, index: int) -> dict[str, str]:
    labels = {
        names.TASK_INDEX: str(index),
        names.JOB_NAME: job.metadata.name,
        names.TASK_SPEC: task_key(task),
        names.JOB_NAMESPACE: job.metadata.namespace,
        # A queue's name can be too long for a label. The annotation always contains it.
        **({names.QUEUE_NAME: job.spec.queue} if is_label_value(job.spec.queue) else {}),
        **_picked(job.metadata.labels, names.PREEMPTABLE, names.COOLDOWN_TIME),
        **_forwarding(job),
    }
    if task.partition_policy is not None:
        size = task.partition_policy.partition_size
        labels[names.PARTITION_ID] = str(index // size if size > 0 else 0)
    return labels


def _annotations(job: Job, task: TaskSpec, index: int, group: str) -> dict[str, str]:
    annotations = {
        names.TASK_INDEX: str(index),
        names.TASK_SPEC: task_key(task),
        names.GROUP_NAME: group or pod_group_name(job),
        names.JOB_NAME: job.metadata.name,
        names.QUEUE_NAME: job.spec.queue,
        names.JOB_VERSION: str(job.status.version),
        names.TEMPLATE_UID: f"{job.metadata.name}-{task.name}",
        names.JOB_RETRY_COUNT: str(job.status.retry_count),
        **_picked(job.metadata.annotations, names.PREEMPTABLE, names.COOLDOWN_TIME, names.REVOCABLE_ZONE),
        **_budget(job.metadata.annotations),
        **_forwarding(job),
    }
    if task.topology_policy:
        annotations[names.NUMA_TOPOLOGY_POLICY] = task.topology_policy
    return annotations


def _budget(annotations: Mapping[str, str]) -> dict[str, str]:
    """Copy the disruption budget to the pod. The two kinds exclude each other."""
    return _picked(annotations, names.MIN_AVAILABLE) or _picked(annotations, names.MAX_UNAVAILABLE)


def _forwarding(job: Job) -> dict[str, str]:
    """Copy the annotation that pods may be forwarded to other clusters."""
    return {names.JOB_FORWARDING: "true"} if job.metadata.annotations.get(names.JOB_FORWARDING) == "true" else {}


def _picked(pairs: Mapping[str, str], *keys: str) -> dict[str, str]:
    return {key: pairs[key] for key in keys if key in pairs}
