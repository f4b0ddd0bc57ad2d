"""Identity: the native group of a pod, and the id of its job."""

from typing import Final

from pyroclast.model import wire
from pyroclast.model.ids import JobId

__all__ = ["PREFIX", "is_native", "job_of_native", "key_of_native", "native_group_of"]

PREFIX: Final = "podgroup:"
"""Begins the names of jobs of native groups. No object of Kubernetes can have a name with a colon."""


def native_group_of(pod: wire.Pod) -> str:
    """Return the name of a pod's PodGroup of `scheduling.k8s.io`; empty if it names none."""
    group = pod.spec.scheduling_group
    return "" if group is None else group.pod_group_name or ""


def job_of_native(namespace: str, name: str) -> JobId:
    """Return the job id of a native group, which no other PodGroup can have: `namespace/podgroup:name`."""
    return JobId(f"{namespace}/{PREFIX}{name}")


def is_native(job: JobId) -> bool:
    """Return whether a job is that of a native group."""
    return job.partition("/")[2].startswith(PREFIX)


def key_of_native(job: JobId) -> str:
    """Return the key of a job's native group, `namespace/name`."""
    return job.replace(f"/{PREFIX}", "/", 1)
