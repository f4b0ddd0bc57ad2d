"""Names that plugins derive from the name of a Job. Names of Services and hosts are shorter, and have no dots."""

from collections.abc import Iterator, Sequence
from typing import Final

from pyroclast.controllers.admission.rules.names import DNS_LABEL, is_dns_label
from pyroclast.controllers.admission.rules.shape import member
from pyroclast.controllers.jobs.plugins.plugin import JobPlugin, PluginFault
from pyroclast.controllers.jobs.pods import pod_name
from pyroclast.model.api.batch import Job

__all__ = ["name_faults"]

_NAMES_HOSTS: Final = "svc"
"""The plugin that sets the host name of each pod."""


def name_faults(job: Job, plugins: Sequence[JobPlugin]) -> Iterator[PluginFault]:
    """Find derived names that are invalid for the objects or pods of a plugin.

    Args:
        job: The Job, with the names of its tasks.
        plugins: Those of the Job.
    """
    name = job.metadata.name
    for plugin in plugins:
        for service in (key.name for key in plugin.keys(job) if key.kind == "Service" and not is_dns_label(key.name)):
            yield PluginFault(
                plugin=plugin.name,
                path="metadata.name",
                value=name,
                expected=f"a name with which {service} has {DNS_LABEL}",
                message=f"job plugin {plugin.name} makes a Service {service} for job {name}, "
                "and no Service can have this name",
                is_fatal=True,
            )
    if is_dns_label(name) and any(plugin.name == _NAMES_HOSTS for plugin in plugins):
        yield from _host_faults(job)


def _host_faults(job: Job) -> Iterator[PluginFault]:
    for number, task in enumerate(job.spec.tasks):
        host = pod_name(job.metadata.name, task.name, max(task.replicas - 1, 0))
        if not is_dns_label(host) and not member(task.template, "spec", "hostname"):
            yield PluginFault(
                plugin=_NAMES_HOSTS,
                path=f"spec.tasks[{number}].name",
                value=task.name,
                expected=f"a name with which {host} has {DNS_LABEL}",
                message=f"job plugin {_NAMES_HOSTS} makes a host {host} of the last pod of task {task.name}, "
                "and no host can have this name",
                is_fatal=True,
            )
