"""Names by which pods of a Job find each other: `<hostname>.<subdomain>`."""

from controllers.jobs.plugins.plugin import task_named
from controllers.jobs.pods import pod_name
from model.api.batch import Job, TaskSpec

__all__ = ["Host", "first_host", "host_of", "hosts_of"]

Host = tuple[str, str]
"""Hostname and subdomain."""


def host_of(job: Job, task: TaskSpec, index: int) -> Host:
    """Name one pod: as its template says, else by pod and Job."""
    spec = task.template.get("spec") or {}
    return (
        spec.get("hostname") or pod_name(job.metadata.name, task.name, index),
        spec.get("subdomain") or job.metadata.name,
    )


def hosts_of(job: Job, task: TaskSpec) -> list[Host]:
    """Name all pods of a task; where the template has a hostname they share it, and it is given once."""
    hosts = (host_of(job, task, index) for index in range(task.replicas))
    return list(dict.fromkeys(hosts))


def first_host(job: Job, name: str) -> str | None:
    """Name the first pod of a task, where the Job has such a task."""
    task = task_named(job, name)
    return None if task is None else ".".join(host_of(job, task, 0))
