"""Plugin: the interface of Job plugins. A plugin completes pods and owns objects that exist while the Job runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from pyroclast.controllers.runtime.writer import owner_reference
from pyroclast.kube.api.resources import JOBS
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
"""A JSON object."""


class OwnedKey(NamedTuple):
    """Identity of an object in the Job's namespace."""

    kind: str
    """`ConfigMap`, `Service`, `NetworkPolicy` or `Secret`."""
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """An object that exists while the Job runs."""

    manifest: Json
    """Complete manifest, with the Job as its controller."""
    is_kept_true: bool = False
    """Whether its `data` is updated if it differs. Otherwise an existing object is not changed."""

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
    """Whether no pod may be created. Otherwise the plugin uses the valid arguments."""


class JobPlugin(Protocol):
    """Completes pods, and returns the objects that they need."""

    name: ClassVar[str]
    is_recorded: ClassVar[bool]
    """Whether the Job's status lists the plugin in `controlledResources` while its objects exist."""

    def faults(self, job: Job) -> Sequence[PluginFault]:
        """Return the faults of its arguments, and missing parts of the Job."""
        ...

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:
        """Complete a pod in place."""
        ...

    def keys(self, job: Job) -> Sequence[OwnedKey]:
        """Return the identities of its objects, which are deleted when the Job is killed."""
        ...

    def objects(self, job: Job, existing: Mapping[OwnedKey, Json]) -> Sequence[Owned]:
        """Return the desired objects.

        Args:
            job: Job that owns the objects.
            existing: Existing objects of `keys`. Values that cannot be generated twice are copied from them.
        """
        ...


class Plain:
    """Base class of plugins without objects."""

    is_recorded: ClassVar[bool] = True

    def keys(self, job: Job) -> Sequence[OwnedKey]:  # noqa: ARG002  the protocol's
        """Return nothing."""
        return ()

    def objects(self, job: Job, existing: Mapping[OwnedKey, Json]) -> Sequence[Owned]:  # noqa: ARG002  the protocol's
        """Return nothing."""
        return ()


def task_named(job: Job, name: str) -> TaskSpec | None:
    """Return a task, None if it does not exist."""
    return next((task for task in job.spec.tasks if task.name == name), None)


def replicas_of(job: Job, *names: str) -> int:
    """Return the number of replicas of some tasks."""
    return sum(task.replicas for task in job.spec.tasks if task.name in names)


def owned_metadata(job: Job, name: str) -> Json:
    """Return the metadata of an object that is deleted with the Job."""
    return {
        "name": name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_reference(JOBS, job.metadata)],
    }
