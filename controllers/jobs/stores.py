"""Stores: the objects that the Job controller watches."""

from dataclasses import dataclass
from typing import Any, Final

from pyroclast.controllers.admission.lookups import QUEUE_PARENT, parent_index
from pyroclast.controllers.runtime.keys import controller_index
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.store import Store
from pyroclast.kube.api.resources import (
    COMMANDS,
    JOBS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
)
from pyroclast.model import wire
from pyroclast.model.api.batch import Job
from pyroclast.model.api.bus import Command
from pyroclast.model.api.scheduling import PodGroup, Queue
from pyroclast.model.wire import Pod

__all__ = [
    "COMMAND_JOB",
    "INDEXES",
    "JOB_CLAIM",
    "JOB_QUEUE",
    "POD_OWNER",
    "Stores",
    "job_of_command",
    "place_of",
]

POD_OWNER: Final = "job-uid"
"""Index of pods by the Job that controls them."""
JOB_QUEUE: Final = "queue-of-job"
"""Index of Jobs by their queue."""
JOB_CLAIM: Final = "claim-of-job"
"""Index of Jobs by the volume claims that they name."""
COMMAND_JOB: Final = "job"
"""Index of Commands by the Job that they are for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """One store per kind."""

    jobs: Store[Job]
    pods: Store[Pod]
    pod_groups: Store[PodGroup]
    queues: Store[Queue]
    commands: Store[Command]
    claims: Store[wire.PersistentVolumeClaim]
    priority_classes: Store[wire.PriorityClass]
    namespaces: Store[wire.Namespace]

    @classmethod
    def of(cls, operator: Operator) -> "Stores":
        """Watch all kinds."""
        return cls(
            jobs=operator.store(JOBS, INDEXES["jobs"]),
            pods=operator.store(PODS, INDEXES["pods"]),
            pod_groups=operator.store(POD_GROUPS),
            queues=operator.store(QUEUES, INDEXES["queues"]),
            commands=operator.store(COMMANDS, INDEXES["commands"]),
            claims=operator.store(PERSISTENT_VOLUME_CLAIMS),
            priority_classes=operator.store(PRIORITY_CLASSES),
            namespaces=operator.store(NAMESPACES),
        )


def place_of(namespace: str, name: str) -> str:
    """Return a namespaced name as an index value."""
    return f"{namespace}/{name}"


def job_of_command(command: Command) -> str | None:
    """Return the name of the Job that a Command is for, None if it is for another kind."""
    target = command.target
    if target is None or target.kind != JOBS.kind or target.api_version != JOBS.api_version:
        return None
    return target.name


def _command_index(command: Command) -> tuple[str, ...]:
    """Return the index value of a Command: its Job."""
    name = job_of_command(command)
    return () if name is None else (place_of(command.metadata.namespace, name),)


def _queue_index(job: Job) -> tuple[str, ...]:
    """Return the index value of a Job: its queue."""
    return (job.spec.queue or "default",)


def _claims_index(job: Job) -> tuple[str, ...]:
    """Return the index values of a Job: the claims that it names."""
    return tuple(
        place_of(job.metadata.namespace, volume.volume_claim_name)
        for volume in job.spec.volumes
        if volume.volume_claim_name
    )


INDEXES: Final[dict[str, dict[str, Any]]] = {
    "jobs": {JOB_QUEUE: _queue_index, JOB_CLAIM: _claims_index},
    "pods": {POD_OWNER: controller_index(JOBS)},
    "queues": {QUEUE_PARENT: parent_index},
    "commands": {COMMAND_JOB: _command_index},
}
