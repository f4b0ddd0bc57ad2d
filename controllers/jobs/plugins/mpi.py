"""Plugin mpi: the master gets the list of workers, and each pod opens the port of ssh."""

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
    """Adds the list of workers to the master."""

    name: ClassVar[str] = "mpi"

    def __init__(self, arguments: Sequence[str]) -> None:
        """Parse the flags."""
        self.flags, self._faults = parse(MpiFlags, self.name, arguments)

    def faults(self, job: Job) -> Sequence[PluginFault]:
        """Return the faults of the flags, and conflicts with other plugins. Admission refuses a missing master."""
        return (*self._faults, *self._other_port(job), *self._too_long(job))

    def _other_port(self, job: Job) -> Iterator[PluginFault]:
        """Return the port of plugin ssh if it differs. Each of the two plugins has a flag for it."""
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
        """Open the port, and add the hosts of the workers to a master. A master without workers is unchanged."""
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
