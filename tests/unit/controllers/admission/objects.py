"""Objects for the tests of admission, as JSON; each call makes fresh ones."""

from typing import Any

import msgspec

from pyroclast.controllers.admission.faults import Fault
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.api.scheduling import Queue, QueueSpec, QueueStatus

Json = dict[str, Any]


def container(**fields: Any) -> Json:
    """A container that Kubernetes takes."""
    return {"name": "main", "image": "busybox", **fields}


def task(name: str = "worker", replicas: int = 2, *, containers: list[Json] | None = None, **fields: Any) -> Json:
    """A task that is in order."""
    pod = {"containers": [container()] if containers is None else containers, "restartPolicy": "Never"}
    return {"name": name, "replicas": replicas, "minAvailable": replicas, "template": {"spec": pod}, **fields}


def job(*tasks: Json, name: str = "train", **spec: Any) -> Json:
    """A Job that is in order."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"queue": "default", "minAvailable": 1, "tasks": list(tasks) or [task()], **spec},
    }


def queue(name: str, parent: str = "", *, state: str = "Open", pods: str = "", **spec: Any) -> Queue:
    """A queue, as rules find it."""
    amounts = {"pods": pods} if pods else {}
    return Queue(
        metadata=ObjectMeta(name=name),
        spec=msgspec.convert({"parent": parent, **spec}, QueueSpec),
        status=QueueStatus(state=state, allocated=amounts),
    )


def queue_json(
    name: str = "research", *, annotations: Json | None = None, status: Json | None = None, **spec: Any
) -> Json:
    """A queue, as users write it."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
        "spec": spec,
        **({"status": status} if status else {}),
    }


def fields_of(faults: tuple[Fault, ...]) -> list[str]:
    """Where the faults are."""
    return [fault.field for fault in faults]
