"""Plugin: the interface of Job plugins. A plugin completes pods and owns objects that exist while the Job runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from pyroclast.controllers.runtime.writer import owner_reference
from pyroclast.kube.resources import JOBS
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = [
    "JobPlugin",
    "Json",
    "Owned",
    "OwnedKey",
    "Plain",
    "PluginFault",
    "owned_metadata",
    "replicas_of",
    "task_named",
]

Json = dict[str, Any]
"""An object as JSON has it."""


class OwnedKey(NamedTuple):
    """Which object of the Job's namespace."""

    kind: str
    """`ConfigMap`, `Service`, `NetworkPolicy` or `Secret`."""
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """An object that is to be there while the Job runs."""

    manifest: Json
    """Whole, with the Job as its controller."""
    is_kept_true: bool = False
    """Its `data` is written again when it differs; otherwise an object that is there already stays as it is."""

    @property
    def key(self) -> OwnedKey:
        """Kind and name."""
        return OwnedKey(self.manifest["kind"], self.manifest["metadata"]["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFault:
    """Fault of the plugins of a Job."""

    plugin: str
    path: str
    """Field of the Job, such as `spec.plugins[svc][0]`."""
    value: str
    expected: str
    message: str
    is_fatal: bool = False
    """No pod may be created. Otherwise the plugin works with the arguments that it could parse."""


class JobPlugin(Protocol):
    """Completes pods, and returns the objects that they need."""

    name: ClassVar[str]
    is_recorded: ClassVar[bool]
    """The Job's status names it under `controlledResources` while its objects are there."""

    def faults(self, job: Job) -> Sequence[PluginFault]:
        """Return the faults of its arguments, and missing parts of the Job."""
        ...

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:
        """Complete a pod, in place."""
        ...

    def keys(self, job: Job) -> Sequence[OwnedKey]:
        """Name the objects it owns: those to be deleted when the Job is killed."""
        ...

    def objects(self, job: Job, existing: Mapping[OwnedKey, Json]) -> Sequence[Owned]:
        """Return the desired objects.

        Args:
            job: Job that owns the objects.
            existing: Existing objects of `keys`. Values that cannot be generated twice are copied from them.
        """
        ...


class Plain:
    """Base of plugins that have no objects and miss nothing."""

    is_recorded: ClassVar[bool] = True

    def keys(self, job: Job) -> Sequence[OwnedKey]:  # noqa: ARG002  the protocol's
        """Own nothing."""
        return ()

    def objects(self, job: Job, existing: Mapping[OwnedKey, Json]) -> Sequence[Owned]:  # noqa: ARG002  the protocol's
        """Own nothing."""
        return ()


def task_named(job: Job, name: str) -> TaskSpec | None:
    """Find a task."""
    return next((task for task in job.spec.tasks if task.name == name), None)


def replicas_of(job: Job, *names: str) -> int:
    """Count the pods of some tasks."""
    return sum(task.replicas for task in job.spec.tasks if task.name in names)


def owned_metadata(job: Job, name: str) -> Json:
    """Return the metadata of an object that is deleted with the Job."""
    return {
        "name": name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_reference(JOBS, job.metadata)],
    }
