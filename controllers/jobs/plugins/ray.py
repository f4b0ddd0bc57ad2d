"""Plugin ray: starts head and workers as one Ray cluster, with a Service for the head."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyroclast.controllers.jobs.plugins.containers import add_port, containers
from pyroclast.controllers.jobs.plugins.flags import flag, parse
from pyroclast.controllers.jobs.plugins.hosts import first_host
from pyroclast.controllers.jobs.plugins.plugin import Json, Owned, OwnedKey, PluginFault, owned_metadata, task_named
from pyroclast.controllers.jobs.pods import task_key
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["Ray"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RayFlags:
    """Flags of ray."""

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
        """Parse the flags."""
        self.flags, self._faults = parse(RayFlags, self.name, arguments)

    def faults(self, job: Job) -> Sequence[PluginFault]:
        """Return the faults of the flags, a missing head, and containers that do not start Ray."""
        found = list(self._faults)
        if task_named(job, self.flags.head) is None:
            found.append(
                PluginFault(
                    plugin=self.name,
                    path=f"spec.plugins[{self.name}]",
                    value=self.flags.head,
                    expected="the name of a task",
                    message=f"job {job.metadata.name} has no head task {self.flags.head!r}, which job plugin ray needs",
                    is_fatal=True,
                )
            )
        for number, task in enumerate(job.spec.tasks):
            found += self._cautions(task, f"spec.tasks[{number}].template.spec.containers")
        return tuple(found)

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:  # noqa: ARG002  the protocol's
        """Set the command of the Ray container. A command that starts Ray stays."""
        flags, key = self.flags, task_key(task)
        container = self._container_of(key, containers(pod))
        if container is None:
            return
        if key == flags.head:
            for name, port in flags.ports().items():
                add_port(container, name, port)
            command = (
                f"ray start --head --block --dashboard-host=0.0.0.0 --port={flags.port}"
                f" --dashboard-port={flags.dashboard_port} --ray-client-server-port={flags.client_port}"
            )
        else:
            command = f"ray start --block --address={first_host(job, flags.head)}:{flags.port}"
        if not _starts_ray(container):
            container["command"] = _shell(command)

    def _container_of(self, task: str, among: Sequence[Json]) -> Json | None:
        """Return the container of a task's pods that runs Ray.

        The flags contain its name. The only container of a pod needs no name if it has no command.
        """
        if task not in {self.flags.head, self.flags.worker}:
            return None
        name = self.flags.head_container if task == self.flags.head else self.flags.worker_container
        named = next((each for each in among if each.get("name") == name), None)
        is_only = len(among) == 1 and not (among[0].get("command") or among[0].get("args"))
        return among[0] if named is None and is_only else named

    def _cautions(self, task: TaskSpec, field: str) -> Iterator[PluginFault]:
        key = task_key(task)
        if key not in {self.flags.head, self.flags.worker}:
            return
        option = "headContainer" if key == self.flags.head else "workerContainer"
        among = containers({"spec": task.template.get("spec") or {}})
        container = self._container_of(key, among)
        if container is None:
            names = ", ".join(str(each.get("name")) for each in among)
            message = f"no container of task {key} runs Ray: they are named {names}, and --{option} names none of them"
        elif _starts_ray(container):
            message = f"container {container.get('name')} of task {key} starts Ray itself: its command is kept"
        elif container.get("command"):
            message = f"job plugin ray replaces the command of container {container.get('name')} of task {key}"
        else:
            return
        yield PluginFault(
            plugin=self.name, path=field, value=key, expected=f"a container for --{option}", message=message
        )

    def keys(self, job: Job) -> Sequence[OwnedKey]:
        """Return the identity of the head's Service."""
        return (OwnedKey("Service", f"{job.metadata.name}-head-svc"),)

    def objects(self, job: Job, existing: Mapping[OwnedKey, Json]) -> Sequence[Owned]:  # noqa: ARG002  the protocol's
        """Return the head's Service."""
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
                # The target port is a number, because the user's port may have another name.
                "ports": [
                    {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}
                    for name, port in self.flags.ports().items()
                ],
            },
        }
        return (Owned(manifest=manifest),)


def _starts_ray(container: Json) -> bool:
    """Return whether the command of a container starts Ray."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return "ray start" in " ".join(map(str, words))


def _shell(command: str) -> list[str]:
    return ["sh", "-c", command]
