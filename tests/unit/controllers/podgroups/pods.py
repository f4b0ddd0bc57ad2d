"""Pods and owners in a line."""

from typing import Any

from pyroclast.model.api.meta import ObjectMeta, OwnerReference
from pyroclast.model.wire import Container, Pod, PodSpec, ResourceRequirements


def owner(kind: str = "ReplicaSet", name: str = "r", uid: str = "o", *, controller: bool = True) -> OwnerReference:
    """A reference to an owner."""
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return OwnerReference(
        api_version=version, kind=kind, name=name, uid=uid, controller=controller, block_owner_deletion=True
    )


def pod(
    *owners: OwnerReference,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    cpu: str = "1",
    **spec: Any,
) -> Pod:
    """A pod with UID p that asks for CPU."""
    return Pod(
        metadata=ObjectMeta(
            name="pod",
            namespace="default",
            uid="p",
            annotations=annotations or {},
            labels=labels or {},
            owner_references=owners,
        ),
        spec=PodSpec(
            scheduler_name="volcano",
            containers=(Container(resources=ResourceRequirements(requests={"cpu": cpu})),),
            **spec,
        ),
    )
