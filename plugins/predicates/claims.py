"""Volume claims of tasks: the named claims, and whether a claim is bound, waits for a node, or is unusable.

Sources: Kubernetes' volume binding (`VolumeBinding` of kube-scheduler) and its API conventions for claims.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from pyroclast.model import wire
from pyroclast.model.snapshot import ClusterObjects
from pyroclast.model.tasks import Task

__all__ = [
    "SELECTED_NODE",
    "WAIT_FOR_CONSUMER",
    "ClaimState",
    "NamedClaim",
    "claim_fault",
    "claim_state",
    "class_name",
    "has_claims",
    "named_claims",
]

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
WAIT_FOR_CONSUMER: Final = "WaitForFirstConsumer"

_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class NamedClaim(NamedTuple):
    """A claim that a volume of a pod names."""

    name: str
    is_ephemeral: bool
    """Whether the claim is created for this pod and named after it."""


class ClaimState(Enum):
    """Binding state of a claim."""

    BOUND = "bound"
    WAITING = "waiting"
    """Not bound yet; it is bound when a pod with the claim gets a node."""
    IMMEDIATE = "immediate"
    """Not bound yet; another component binds it before a pod can use it."""


def has_claims(task: Task) -> bool:
    """Return whether a task has volumes with claims."""
    volumes = task.pod.spec.volumes
    return bool(volumes) and any(
        volume.persistent_volume_claim is not None or volume.ephemeral is not None for volume in volumes
    )


def named_claims(pod: wire.Pod) -> Iterator[NamedClaim]:
    """Yield the claims that a pod's volumes name."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield NamedClaim(volume.persistent_volume_claim.claim_name, is_ephemeral=False)
        elif volume.ephemeral is not None:
            yield NamedClaim(f"{pod.metadata.name}-{volume.name}", is_ephemeral=True)


def class_name(claim: wire.PersistentVolumeClaim) -> str:
    """Return the storage class of a claim, or an empty text."""
    beta = claim.metadata.annotations.get(_BETA_CLASS)
    return (claim.spec.storage_class_name or "") if beta is None else beta


def claim_fault(named: NamedClaim, pod: wire.Pod, objects: ClusterObjects) -> str:
    """Return why no pod can use a claim, in Kubernetes' words; empty if it is usable."""
    claim = objects.volume_claims.get(f"{pod.metadata.namespace}/{named.name}")
    if claim is None:
        if named.is_ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{named.name}"'
        return f'persistentvolumeclaim "{named.name}" not found'
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{named.name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp:
        return f'persistentvolumeclaim "{named.name}" is being deleted'
    if named.is_ephemeral and not claim.metadata.is_controlled_by(pod.metadata):
        return f'PVC "{claim.metadata.key}" was not created for pod "{pod.metadata.key}" (pod is not owner)'
    return ""


def claim_state(claim: wire.PersistentVolumeClaim, objects: ClusterObjects) -> ClaimState:
    """Return the state of a claim. If it names a volume without being bound to it, another component binds it."""
    if claim.spec.volume_name:
        bound = _BIND_COMPLETED in claim.metadata.annotations or claim.status.phase == "Bound"
        return ClaimState.BOUND if bound else ClaimState.IMMEDIATE
    storage_class = objects.storage_classes.get(class_name(claim))
    waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_CONSUMER
    return ClaimState.WAITING if waits else ClaimState.IMMEDIATE
