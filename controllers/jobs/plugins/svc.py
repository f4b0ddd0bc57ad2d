"""Plugin svc: host names for the pods of a Job.

Each pod gets a hostname and the Job's subdomain, and a headless Service creates their DNS names. A ConfigMap contains
all host names. It is mounted at `/etc/volcano`, and its entries are variables. A NetworkPolicy only admits connections
from pods of the Job.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pyroclast.controllers.jobs.plugins.containers import add_env, add_volume, all_containers, mount, volume_name
from pyroclast.controllers.jobs.plugins.flags import flag, parse
from pyroclast.controllers.jobs.plugins.hosts import fits_in_env, hosts_bytes, hosts_of
from pyroclast.controllers.jobs.plugins.plugin import Json, Owned, OwnedKey, PluginFault, owned_metadata
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["Svc"]

_MOUNT_PATH: Final = "/etc/volcano"
_MOST_BYTES: Final = 1_048_576
"""Maximum size of a ConfigMap's data. The data contains each list of hosts twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SvcFlags:
    """Flags of svc."""

    publish_not_ready_addresses: bool = flag("publish-not-ready-addresses", default=False)
    """Whether names resolve before pods are ready."""
    disable_network_policy: bool = flag("disable-network-policy", default=False)
    """Whether no NetworkPolicy is created, so that the pods accept all connections."""
    inject_hosts_env: bool = flag("inject-hosts-env", default=True)
    """Whether host names are variables too. Very many do not fit into the environment of a process."""


class Svc:
    """Sets host names, and creates the objects for them."""

    name: ClassVar[str] = "svc"
    is_recorded: ClassVar[bool] = True

    def __init__(self, arguments: Sequence[str]) -> None:
        """Parse the flags."""
        self.flags, self._faults = parse(SvcFlags, self.name, arguments)

    def faults(self, job: Job) -> Sequence[PluginFault]:
        """Return the faults of the flags, and lists of hosts that are too long."""
        return (*self._faults, *self._too_long(job))

    def _too_long(self, job: Job) -> Iterator[PluginFault]:
        for number, task in enumerate(job.spec.tasks):
            name, size = _variables(task)[0], hosts_bytes(job, task)
            if self.flags.inject_hosts_env and not fits_in_env(name, size):
                yield PluginFault(
                    plugin=self.name,
                    path=f"spec.tasks[{number}].replicas",
                    value=str(task.replicas),
                    expected=f"fewer hosts, or to be read from {_MOUNT_PATH}/{_plain(task)}.host",
                    message=f"{name} is left out: with {size} bytes no process could start; "
                    f"the hosts are in {_MOUNT_PATH}/{_plain(task)}.host",
                )
        total = 2 * sum(hosts_bytes(job, task) for task in job.spec.tasks)
        if total > _MOST_BYTES:
            yield PluginFault(
                plugin=self.name,
                path="spec.tasks",
                value=f"{total} bytes of host names",
                expected=f"at most {_MOST_BYTES}",
                message=f"job plugin {self.name} lists the hosts in a ConfigMap, which cannot hold {total} bytes",
                is_fatal=True,
            )

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:  # noqa: ARG002  the protocol's
        """Set the host name of the pod, and add the host names of all pods to its containers."""
        spec = pod["spec"]
        spec["hostname"] = spec.get("hostname") or pod["metadata"]["name"]
        spec["subdomain"] = spec.get("subdomain") or job.metadata.name
        hosts_name, volume = _hosts_name(job), volume_name(_hosts_name(job))
        add_volume(pod, {"name": volume, "configMap": {"name": hosts_name}})
        for container in all_containers(pod):
            if self.flags.inject_hosts_env:
                add_env(
                    container, [_from_key(hosts_name, key) for each in job.spec.tasks for key in _fitting(job, each)]
                )
            mount(container, {"name": volume, "mountPath": _MOUNT_PATH})

    def keys(self, job: Job) -> Sequence[OwnedKey]:
        """Return the identities of ConfigMap, Service, and NetworkPolicy unless it is disabled."""
        policy = () if self.flags.disable_network_policy else (OwnedKey("NetworkPolicy", job.metadata.name),)
        return (OwnedKey("ConfigMap", _hosts_name(job)), OwnedKey("Service", job.metadata.name), *policy)

    def objects(self, job: Job, existing: Mapping[OwnedKey, Json]) -> Sequence[Owned]:  # noqa: ARG002  the protocol's
        """Return the objects of `keys`."""
        policy = () if self.flags.disable_network_policy else (Owned(manifest=_network_policy(job)),)
        return (Owned(manifest=_hosts(job), is_kept_true=True), Owned(manifest=self._service(job)), *policy)

    def _service(self, job: Job) -> Json:
        spec: dict[str, Any] = {"clusterIP": "None", "selector": _selector(job)}
        if self.flags.publish_not_ready_addresses:
            spec["publishNotReadyAddresses"] = True
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": owned_metadata(job, job.metadata.name),
            "spec": spec,
        }


def hosts_data(job: Job) -> dict[str, str]:
    """Return the host names by task: one per line, separated by commas, and their number."""
    data: dict[str, str] = {}
    for task in job.spec.tasks:
        hosts = [".".join(host) for host in hosts_of(job, task)]
        list_key, count_key = _variables(task)
        data[f"{_plain(task)}.host"] = "\n".join(hosts)
        data[list_key] = ",".join(hosts)
        data[count_key] = str(len(hosts))
    return data


def _hosts(job: Job) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owned_metadata(job, _hosts_name(job)),
        "data": hosts_data(job),
    }


def _network_policy(job: Job) -> Json:
    selector = {"matchLabels": _selector(job)}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": owned_metadata(job, job.metadata.name),
        "spec": {
            "podSelector": selector,
            "ingress": [{"from": [{"podSelector": selector}]}],
            "policyTypes": ["Ingress"],
        },
    }


def _selector(job: Job) -> dict[str, str]:
    return {names.JOB_NAME: job.metadata.name, names.JOB_NAMESPACE: job.metadata.namespace}


def _hosts_name(job: Job) -> str:
    return f"{job.metadata.name}-svc"


def _plain(task: TaskSpec) -> str:
    return task.name.replace("-", "_")


def _variables(task: TaskSpec) -> tuple[str, str]:
    """Return the names of the variables of a task: its hosts, and their number."""
    name = _plain(task).upper()
    return f"VC_{name}_HOSTS", f"VC_{name}_NUM"


def _fitting(job: Job, task: TaskSpec) -> Iterator[str]:
    """Return the names of the variables of a task, without a list that is too long for a process."""
    list_key, count_key = _variables(task)
    if fits_in_env(list_key, hosts_bytes(job, task)):
        yield list_key
    yield count_key


def _from_key(config_map: str, key: str) -> Json:
    return {"name": key, "valueFrom": {"configMapKeyRef": {"name": config_map, "key": key}}}
