"""Plugin hcclrank: an annotation with the rank of each pod, for Ascend's collective library."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pyroclast.controllers.jobs.plugins.containers import containers
from pyroclast.controllers.jobs.plugins.flags import flag, parse
from pyroclast.controllers.jobs.plugins.plugin import Json, Plain, PluginFault, replicas_of
from pyroclast.controllers.jobs.pods import task_key
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["HcclRank"]

_RANK: Final = "hccl/rankIndex"


@dataclass(frozen=True, slots=True, kw_only=True)
class HcclRankFlags:
    """Flags of hcclrank."""

    master: str = flag("master", "master")
    """Task with the first ranks."""
    worker: str = flag("worker", "worker")
    """Task with the following ranks."""


class HcclRank(Plain):
    """Sets the rank of pods. It runs last, because it uses the rank variable of another plugin."""

    name: ClassVar[str] = "hcclrank"
    is_recorded: ClassVar[bool] = False

    def __init__(self, arguments: Sequence[str]) -> None:
        """Parse the flags."""
        self.flags, self._faults = parse(HcclRankFlags, self.name, arguments)

    def faults(self, job: Job) -> Sequence[PluginFault]:  # noqa: ARG002  the protocol's
        """Return the faults of the flags."""
        return self._faults

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:
        """Add the rank annotation, unless the template has it."""
        annotations: dict[str, str] = pod["metadata"]["annotations"]
        if not annotations.get(_RANK) and (rank := _given_rank(pod) or self._rank(job, task, index)):
            annotations[_RANK] = rank

    def _rank(self, job: Job, task: TaskSpec, index: int) -> str:
        """Return the rank by task, empty for tasks without ranks."""
        key = task_key(task)
        if key == self.flags.master:
            return str(index)
        return str(replicas_of(job, self.flags.master) + index) if key == self.flags.worker else ""


def _given_rank(pod: Json) -> str:
    """Return the value of the first variable `RANK` in the containers."""
    variables = (each for container in containers(pod) for each in container.get("env") or ())
    return next((each.get("value") or "" for each in variables if each.get("name") == "RANK"), "")
