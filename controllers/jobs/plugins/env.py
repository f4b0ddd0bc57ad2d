"""Plugin env: variables with the index of the pod, `VC_TASK_INDEX` and, for compatibility, `VK_TASK_INDEX`."""

from collections.abc import Sequence
from typing import ClassVar

from pyroclast.controllers.jobs.plugins.containers import add_env, all_containers
from pyroclast.controllers.jobs.plugins.plugin import Json, Plain, PluginFault
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["Env"]


class Env(Plain):
    """Adds the index of the pod to all containers."""

    name: ClassVar[str] = "env"

    def __init__(self, arguments: Sequence[str]) -> None:
        """Ignore the arguments, as in Volcano."""

    def faults(self, job: Job) -> Sequence[PluginFault]:  # noqa: ARG002  the protocol's
        """Return no faults, because there are no arguments."""
        return ()

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:  # noqa: ARG002  the protocol's
        """Add both variables to all containers."""
        for container in all_containers(pod):
            add_env(container, [{"name": name, "value": str(index)} for name in ("VK_TASK_INDEX", "VC_TASK_INDEX")])
