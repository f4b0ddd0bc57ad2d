"""Plugin mpi: the master knows its workers, and each pod opens the port at which it is reached."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from controllers.jobs.plugins.containers import add_env, add_port, all_containers
from controllers.jobs.plugins.flags import flag, parse
from controllers.jobs.plugins.hosts import hosts_of
from controllers.jobs.plugins.plugin import Json, Plain, PluginFault, task_named
from controllers.jobs.pods import task_key
from model.api.batch import Job, TaskSpec

__all__ = ["Mpi"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MpiFlags:
    """Flags of mpi."""

    master: str = flag("master", "master")
    """Task that runs mpirun."""
    worker: str = flag("worker", "worker")
    """Task of the workers."""
    port: int = flag("port", 22)
    """Port of the pods' ssh servers."""


class Mpi(Plain):
    """Gives the master the list of workers."""

    name: ClassVar[str] = "mpi"

    def __init__(self, arguments: Sequence[str]) -> None:
        """Read flags."""
        self.flags, self._faults = parse(MpiFlags, self.name, arguments)

    def faults(self, job: Job) -> Sequence[PluginFault]:  # noqa: ARG002  the protocol's
        """Say which flags could not be read; a missing master is admission's to refuse."""
        return self._faults

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:  # noqa: ARG002  the protocol's
        """Open the port; tell a master its workers. A master without a task of workers is left as it is."""
        variables: list[Json] = []
        if task_key(task) == self.flags.master:
            workers = task_named(job, self.flags.worker)
            if workers is None:
                return
            hosts = ",".join(".".join(host) for host in hosts_of(job, workers))
            variables = [{"name": "MPI_HOST", "value": hosts}]
        for container in all_containers(pod):
            add_port(container, "mpijob-port", self.flags.port)
            if variables:
                add_env(container, variables)
