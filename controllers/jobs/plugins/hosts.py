"""Host names of the pods of a Job: `<hostname>.<subdomain>`."""

from typing import Final

from pyroclast.controllers.jobs.plugins.plugin import task_named
from pyroclast.controllers.jobs.pods import pod_name
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["Host", "first_host", "fits_in_env", "host_of", "hosts_bytes", "hosts_of"]

MOST_ENV_BYTES: Final = 131_072
"""Maximum bytes of a variable with its name.

Linux starts no process with a longer variable (MAX_ARG_STRLEN, `E2BIG`).
"""

_POWERS_OF_TEN: Final = tuple(int(f"1{'0' * power}") for power in range(1, 12))
Host = tuple[str, str]
"""Hostname and subdomain."""


def host_of(job: Job, task: TaskSpec, index: int) -> Host:
    """Return the host name of a pod: of its template, otherwise of pod and Job."""
    spec = task.template.get("spec") or {}
    return (
        spec.get("hostname") or pod_name(job.metadata.name, task.name, index),
        spec.get("subdomain") or job.metadata.name,
    )


def hosts_of(job: Job, task: TaskSpec) -> list[Host]:
    """Return the host names of a task. A hostname in the template is shared by all pods and returned once."""
    hosts = (host_of(job, task, index) for index in range(task.replicas))
    return list(dict.fromkeys(hosts))


def hosts_bytes(job: Job, task: TaskSpec) -> int:
    """Return the length in bytes of a task's comma-separated hosts.

    It is computed without the list, because tasks may be large.
    """
    spec = task.template.get("spec") or {}
    if spec.get("hostname") or not task.replicas:
        return len(".".join(host_of(job, task, 0))) if task.replicas else 0
    digits = task.replicas + sum(max(task.replicas - bound, 0) for bound in _POWERS_OF_TEN)
    one_digit = len(".".join(host_of(job, task, 0))) - 1
    return task.replicas * (one_digit + 1) - 1 + digits


def fits_in_env(name: str, size: int) -> bool:
    """Return whether a process can start with a variable of this size."""
    return len(name) + len("=") + size + len("\0") <= MOST_ENV_BYTES


def first_host(job: Job, name: str) -> str | None:
    """Return the host name of the first pod of a task, empty if the Job has no such task."""
    task = task_named(job, name)
    return None if task is None else ".".join(host_of(job, task, 0))
