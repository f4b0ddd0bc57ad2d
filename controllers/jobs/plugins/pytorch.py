"""Plugin pytorch: variables with master address, world size and rank for torch.distributed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pyroclast.controllers.jobs.plugins.containers import add_env, add_port, containers
from pyroclast.controllers.jobs.plugins.flags import flag, parse
from pyroclast.controllers.jobs.plugins.hosts import first_host
from pyroclast.controllers.jobs.plugins.plugin import Json, Plain, PluginFault, replicas_of
from pyroclast.controllers.jobs.pods import task_key
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["PyTorch"]

_WAIT: Final = "wait-for-master"
_SCRIPT: Final = """\
waited=0
until nc -z {host} {port} 2>/dev/null || (echo > /dev/tcp/{host}/{port}) 2>/dev/null; do
  if [ "$waited" -ge {timeout} ]; then
    echo "{host}:{port} did not answer within {timeout} seconds" >&2
    exit 1
  fi
  echo "{host}:{port} does not answer yet, $waited of {timeout} seconds waited"
  sleep 2
  waited=$((waited + 2))
done
"""
"""Works with nc (Busybox) and with /dev/tcp (bash)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PyTorchFlags:
    """Flags of pytorch."""

    master: str = flag("master", "master")
    """Task of the master."""
    worker: str = flag("worker", "worker")
    """Task of the workers."""
    port: int = flag("port", 23456)
    """Port at which the master listens."""
    wait_master_enabled: bool = flag("wait-master-enabled", default=False)
    """Whether workers wait until the master listens."""
    wait_master_timeout: int = flag("wait-master-timeout", 300)
    """Seconds after which a worker gives up waiting."""
    wait_master_image: str = flag("wait-master-image", "busybox:1.36.1")
    """Image of the waiting container. It needs sh, and nc or a shell with /dev/tcp."""


class PyTorch(Plain):
    """Configures master and workers as one process group."""

    name: ClassVar[str] = "pytorch"

    def __init__(self, arguments: Sequence[str]) -> None:
        """Parse the flags."""
        self.flags, self._faults = parse(PyTorchFlags, self.name, arguments)

    def faults(self, job: Job) -> Sequence[PluginFault]:  # noqa: ARG002  the protocol's
        """Return the faults of the flags. A Job without a master is unchanged."""
        return self._faults

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:
        """Add the address of the master, the number of processes and the rank to regular containers."""
        flags = self.flags
        host = first_host(job, flags.master)
        if host is None:
            return
        if task_key(task) == flags.worker and flags.wait_master_enabled:
            self._add_wait(pod, host)
        variables = {
            "MASTER_ADDR": host,
            "MASTER_PORT": str(flags.port),
            "WORLD_SIZE": str(replicas_of(job, flags.master, flags.worker)),
        }
        # A task that is named as both counts as a worker.
        if task_key(task) == flags.worker:
            variables["RANK"] = str(index + 1)
        elif task_key(task) == flags.master:
            variables["RANK"] = "0"
        for container in containers(pod):
            add_port(container, "pytorchjob-port", flags.port)
            add_env(container, [{"name": name, "value": value} for name, value in variables.items()])

    def _add_wait(self, pod: Json, host: str) -> None:
        """Add an init container that waits for the master, unless the pod has it."""
        waiting: list[Json] = pod["spec"].get("initContainers") or []
        if any(container.get("name") == _WAIT for container in waiting):
            return
        script = _SCRIPT.format(host=host, port=self.flags.port, timeout=self.flags.wait_master_timeout)
        wait = {"name": _WAIT, "image": self.flags.wait_master_image, "command": ["sh", "-c", script]}
        pod["spec"]["initContainers"] = [*waiting, wait]
