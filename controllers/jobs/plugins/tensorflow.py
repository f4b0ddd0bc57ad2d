"""Plugin tensorflow: `TF_CONFIG` contains the addresses of a cluster's processes and the role of each process."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pyroclast.controllers.jobs.plugins.containers import add_env, containers
from pyroclast.controllers.jobs.plugins.flags import flag, parse
from pyroclast.controllers.jobs.plugins.hosts import fits_in_env, host_of, hosts_bytes
from pyroclast.controllers.jobs.plugins.plugin import Json, Plain, PluginFault
from pyroclast.controllers.jobs.pods import task_key
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["TensorFlow"]

_CONFIG: Final = "TF_CONFIG"
_IN_CLUSTER: Final = ("ps", "worker", "chief", "evaluator")
"""Roles in the order of the cluster specification."""
_BY_RANK: Final = ("chief", "worker", "ps", "evaluator")
"""Roles in the order of precedence, for tasks with several roles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFlowFlags:
    """Flags of tensorflow."""

    ps: str = flag("ps", "ps")
    """Task of the parameter servers."""
    worker: str = flag("worker", "worker")
    """Task of the workers."""
    chief: str = flag("chief", "chief")
    """Task of the chief."""
    evaluator: str = flag("evaluator", "evaluator")
    """Task of the evaluator."""
    port: int = flag("port", 2222)
    """Port at which processes listen."""


class TensorFlow(Plain):
    """Adds the cluster specification to each process."""

    name: ClassVar[str] = "tensorflow"
    _described: ClassVar[tuple[Job, TensorFlowFlags, str] | None] = None
    """Cache for the last Job: the Job, the flags, and its addresses."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Parse the flags."""
        self.flags, self._faults = parse(TensorFlowFlags, self.name, arguments)

    def faults(self, job: Job) -> Sequence[PluginFault]:
        """Return the faults of the flags, and a cluster that is too large for its variable."""
        size = sum(hosts_bytes(job, task) + task.replicas * len(f'"":{self.flags.port}') for task in job.spec.tasks)
        if fits_in_env(_CONFIG, size):
            return self._faults
        too_long = PluginFault(
            plugin=self.name,
            path="spec.tasks",
            value=f"{size} bytes of addresses",
            expected="fewer pods, or shorter names",
            message=f"{_CONFIG} has more than {size} bytes: no process can start with it",
            is_fatal=True,
        )
        return (*self._faults, too_long)

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:
        """Add `TF_CONFIG` to regular containers, unless the Job has a single process."""
        if len(job.spec.tasks) == 1 and job.spec.tasks[0].replicas == 1:
            return
        key = task_key(task)
        own = _json({"type": self._role(key, _BY_RANK) or key, "index": index})
        value = f'{{"cluster":{self._cluster_text(job)},"task":{own}}}'
        for container in containers(pod):
            add_env(container, [{"name": _CONFIG, "value": value}])

    def _cluster_text(self, job: Job) -> str:
        """Return the addresses as JSON. They are computed once for the pods of a Job."""
        known = TensorFlow._described
        if known is None or known[0] is not job or known[1] != self.flags:
            known = TensorFlow._described = job, self.flags, _json(self._cluster(job))
        return known[2]

    def _cluster(self, job: Job) -> dict[str, list[str]]:
        """Return addresses by role, for roles with a task."""
        addresses = {
            self._role(task.name, _IN_CLUSTER): [
                f"{'.'.join(host_of(job, task, index))}:{self.flags.port}" for index in range(task.replicas)
            ]
            for task in job.spec.tasks
        }
        return {role: found for role in _IN_CLUSTER if (found := addresses.get(role))}

    def _role(self, task: str, order: Sequence[str]) -> str | None:
        """Return the first role of a task."""
        return next((role for role in order if getattr(self.flags, role) == task), None)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
