"""Plugin mpi: the master knows its workers, and each pod opens the port at which it is reached."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pyroclast.controllers.jobs.plugins.containers import add_env, add_port, all_containers
from pyroclast.controllers.jobs.plugins.flags import flag, parse
from pyroclast.controllers.jobs.plugins.hosts import fits_in_env, hosts_bytes, hosts_of
from pyroclast.controllers.jobs.plugins.plugin import Json, Plain, PluginFault, task_named
from pyroclast.controllers.jobs.plugins.ssh import Ssh
from pyroclast.controllers.jobs.pods import task_key
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["Mpi"]

_HOSTS: Final = "MPI_HOST"


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

    def faults(self, job: Job) -> Sequence[PluginFault]:
        """Say which flags could not be read, and what does not fit; a missing master is admission's to refuse."""
        return (*self._faults, *self._other_port(job), *self._too_long(job))

    def _other_port(self, job: Job) -> Iterator[PluginFault]:
        """Two plugins have a port of ssh, each with a flag of its own."""
        arguments = job.spec.plugins.get(Ssh.name)
        if Ssh.name not in job.spec.plugins:
            return
        other = Ssh(arguments or ()).flags.port
        if other != self.flags.port:
            yield PluginFault(
                plugin=self.name,
                path=f"spec.plugins[{self.name}]",
                value=str(self.flags.port),
                expected=f"the port that job plugin {Ssh.name} configures, {other}",
                message=f"job plugin {self.name} opens port {self.flags.port}, "
                f"and clients of {Ssh.name} use port {other}: give {Ssh.name} --ssh-port={self.flags.port}",
            )

    def _too_long(self, job: Job) -> Iterator[PluginFault]:
        workers = task_named(job, self.flags.worker)
        if workers is not None and not fits_in_env(_HOSTS, size := hosts_bytes(job, workers)):
            yield PluginFault(
                plugin=self.name,
                path="spec.tasks",
                value=str(workers.replicas),
                expected="fewer workers, or to read them from the files of job plugin svc",
                message=f"{_HOSTS} is left out: with {size} bytes no process could start; "
                f"the workers are in /etc/volcano/{workers.name.replace('-', '_')}.host",
            )

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:  # noqa: ARG002  the protocol's
        """Open the port, and give a master the hosts of its workers. A master without workers stays unchanged."""
        variables: list[Json] = []
        if task_key(task) == self.flags.master:
            workers = task_named(job, self.flags.worker)
            if workers is None:
                return
            if fits_in_env(_HOSTS, hosts_bytes(job, workers)):
                hosts = ",".join(".".join(host) for host in hosts_of(job, workers))
                variables = [{"name": _HOSTS, "value": hosts}]
        for container in all_containers(pod):
            add_port(container, "mpijob-port", self.flags.port)
            if variables:
                add_env(container, variables)
