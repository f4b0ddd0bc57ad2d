"""Owners of pods: their annotations, and whether they exist. They are read from the server when a group is created."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.errors import ApiError
from pyroclast.model.api.meta import OwnerReference
from pyroclast.model.wire import Pod

__all__ = ["CONTROLLER_REVISION", "Owners", "read_owners"]

CONTROLLER_REVISION: Final = "controller-revision-hash"
"""Label of a pod: revision of its stateful set."""

_PLURALS: Final[Mapping[tuple[str, str], str]] = {
    ("apps/v1", "ReplicaSet"): "replicasets",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("apps/v1", "DaemonSet"): "daemonsets",
    ("batch/v1", "Job"): "jobs",
}
"""Kinds whose annotations count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """Properties of the owners of a pod."""

    annotations: Mapping[str, str]
    """Annotations of the owners. If several owners have a key, the first owner's value counts."""
    is_controller_gone: bool = False
    """Whether the controller was deleted, so that the pod will be deleted too."""
    is_of_old_revision: bool = False
    """Whether the pod belongs to an old revision of its stateful set."""


async def read_owners(client: Client, pod: Pod) -> Owners:
    """Read the owners of a pod.

    Raises:
        ApiError: The server did not answer. A group without the owners' annotations would be wrong.
    """
    annotations: dict[str, str] = {}
    is_gone = is_old = False
    for reference in pod.metadata.owner_references:
        plural = _PLURALS.get((reference.api_version, reference.kind))
        if plural is None:
            continue
        owner = await _read(client, reference, plural, pod.metadata.namespace)
        if owner is None:
            is_gone = is_gone or reference.controller
            continue
        for key, value in (owner["metadata"].get("annotations") or {}).items():
            annotations.setdefault(key, value)
        revision = (owner.get("status") or {}).get("updateRevision", "")
        is_old = is_old or bool(
            revision
            and revision != pod.metadata.labels.get(CONTROLLER_REVISION, "")
            and reference.kind == "StatefulSet"
        )
    return Owners(annotations=annotations, is_controller_gone=is_gone, is_of_old_revision=is_old)


async def _read(client: Client, reference: OwnerReference, plural: str, namespace: str) -> dict[str, Any] | None:
    """Return an owner, or None if it was deleted. Another object may have its name."""
    try:
        # users choose the name, and the server does not validate it
        name = quote(reference.name, safe="")
        owner: dict[str, Any] = await client.request_json(
            "GET", f"/apis/{reference.api_version}/namespaces/{namespace}/{plural}/{name}"
        )
    except ApiError as error:
        if error.is_not_found:
            return None
        raise
    return owner if owner["metadata"].get("uid") == reference.uid else None
