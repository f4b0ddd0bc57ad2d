"""Plugin ray: a head and workers start as one Ray cluster, and a service leads to the head."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from controllers.jobs.plugins.containers import add_port, containers
from controllers.jobs.plugins.flags import flag, parse
from controllers.jobs.plugins.hosts import first_host
from controllers.jobs.plugins.plugin import Json, Owned, OwnedKey, PluginFault, owned_metadata, task_named
from controllers.jobs.pods import task_key
from model.api import names
from model.api.batch import Job, TaskSpec

__all__ = ["Ray"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RayFlags:
    """Flags of ray, in the spelling of each."""

    head: str = flag("head", "head")
    """Task of the head."""
    head_container: str = flag("headContainer", "head")
    """Container of the head's pods that runs Ray."""
    worker: str = flag("worker", "worker")
    """Task of the workers."""
    worker_container: str = flag("workerContainer", "worker")
    """Container of the workers' pods that runs Ray."""
    port: int = flag("port", 6379)
    """Port of the head's control store."""
    dashboard_port: int = flag("dashboardPort", 8265)
    """Port of the head's dashboard."""
    client_port: int = flag("clientPort", 10001)
    """Port of the head for Ray clients."""

    def ports(self) -> dict[str, int]:
        """Return the head's ports by name."""
        return {"gcs": self.port, "dashboard": self.dashboard_port, "client-server": self.client_port}


class Ray:
    """Starts a Ray cluster."""

    name: ClassVar[str] = "ray"
    is_recorded: ClassVar[bool] = True

    def __init__(self, arguments: Sequence[str]) -> None:
        """Read flags."""
        self.flags, self._faults = parse(RayFlags, self.name, arguments)

    def faults(self, job: Job) -> Sequence[PluginFault]:
        """Say which flags could not be read, and that there is no head: without one nothing can start."""
        if task_named(job, self.flags.head) is not None:
            return self._faults
        headless = PluginFault(
            plugin=self.name,
            path=f"spec.plugins[{self.name}]",
            value=self.flags.head,
            expected="the name of a task",
            message=f"job {job.metadata.name} has no head task {self.flags.head!r}, which job plugin ray needs",
            is_fatal=True,
        )
        return (*self._faults, headless)

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:  # noqa: ARG002  the protocol's
        """Replace the command of the container that runs Ray."""
        flags, key = self.flags, task_key(task)
        for container in containers(pod):
            if key == flags.head and container.get("name") == flags.head_container:
                for name, port in flags.ports().items():
                    add_port(container, name, port)
                container["command"] = _shell(
                    f"ray start --head --block --dashboard-host=0.0.0.0 --port={flags.port}"
                    f" --dashboard-port={flags.dashboard_port} --ray-client-server-port={flags.client_port}"
                )
            if key == flags.worker and container.get("name") == flags.worker_container:
                host = first_host(job, flags.head)
                container["command"] = _shell(f"ray start --block --address={host}:{flags.port}")

    def keys(self, job: Job) -> Sequence[OwnedKey]:
        """Name the head's service."""
        return (OwnedKey("Service", f"{job.metadata.name}-head-svc"),)

    def objects(self, job: Job, existing: Mapping[OwnedKey, Json]) -> Sequence[Owned]:  # noqa: ARG002  the protocol's
        """Return the head's service."""
        (key,) = self.keys(job)
        manifest = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": owned_metadata(job, key.name),
            "spec": {
                "selector": {
                    names.JOB_NAME: job.metadata.name,
                    names.JOB_NAMESPACE: job.metadata.namespace,
                    names.TASK_SPEC: self.flags.head,
                },
                # By number: a port that the user had opened under another name is found too.
                "ports": [
                    {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}
                    for name, port in self.flags.ports().items()
                ],
            },
        }
        return (Owned(manifest=manifest),)


def _shell(command: str) -> list[str]:
    return ["sh", "-c", command]
