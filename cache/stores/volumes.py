"""Attachable volumes: which CSI drivers a pod needs, and which drivers a node has.

They are resources named `attachable-volumes-csi-<driver>`, so that the ordinary accounting keeps pods from nodes
without the driver. Limits of a driver are no amounts of the node: pods that share a volume attach it once, which a sum
over pods cannot show. The predicate NodeVolumeLimits enforces them. Inline CSI volumes are not counted.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from pyroclast.cache.options import ALWAYS_IGNORED_PROVISIONERS
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.requests import CSI_VOLUMES
from pyroclast.model.resources import MILLI, NO_AMOUNTS, Amounts

__all__ = ["RegisteredDrivers", "VolumeLookup", "claim_keys", "driver_amounts", "provisioning_driver", "volume_names"]

_ANY_NUMBER: Final = MILLI * (2**31 - 1)
"""Amount of a driver on a node that has it."""
_DRIVER_PARAMETER: Final = "csi.storage.k8s.io/csi-driver-name"


def driver_amounts(node: wire.CSINode | None) -> Amounts:
    """Return the drivers of a node as amounts that no number of pods exceeds, thousandths by resource name."""
    return NO_AMOUNTS if node is None else {_resource(driver.name): _ANY_NUMBER for driver in node.spec.drivers}


class RegisteredDrivers:
    """The CSI drivers that nodes have. Classes can name other provisioners, which attach nothing to a node."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._nodes: Counter[str] = Counter()
        """Number of nodes by driver; no zero counts."""

    def __contains__(self, driver: object) -> bool:
        """Return whether any node has a driver."""
        return driver in self._nodes

    def note(self, old: wire.CSINode | None, new: wire.CSINode | None) -> bool:
        """Replace the drivers of a node; None stands for its absence. Return whether a driver came or went."""
        before = set(self._nodes)
        self._nodes.update(_names(new))
        self._nodes.subtract(_names(old))
        self._nodes = +self._nodes
        return set(self._nodes) != before


def claim_keys(pod: wire.Pod) -> Iterator[str]:
    """Yield the claims of a pod, as `namespace/name`."""
    for volume in pod.spec.volumes:
        name = _claim_name(pod, volume)
        if name is not None:
            yield f"{pod.metadata.namespace}/{name}"


def volume_names(claim: wire.PersistentVolumeClaim) -> tuple[str, ...]:
    """Return the volume that a claim is bound to or requests; empty if it names none."""
    return (claim.spec.volume_name,) if claim.spec.volume_name else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeLookup:
    """Finds the drivers of the volumes of pods."""

    claims: Mapping[str, wire.PersistentVolumeClaim]
    volumes: Mapping[str, wire.PersistentVolume]
    classes: Mapping[str, wire.StorageClass]
    registered: Container[str]
    """CSI drivers that a node has. Volumes of other provisioners, such as a file server, are not counted."""
    ignored_provisioners: AbstractSet[str] = frozenset()

    def needed(self, pod: wire.Pod) -> Amounts:
        """Return how many volumes of CSI drivers a pod needs, thousandths by resource name.

        A claim that is unknown counts nothing. The pod is translated again when the claim becomes known.

        Raises:
            ObjectError: The claim of an ephemeral volume belongs to another pod.
        """
        counts: dict[str, int] = {}
        for volume in pod.spec.volumes:
            name = _claim_name(pod, volume)
            claim = None if name is None else self.claims.get(f"{pod.metadata.namespace}/{name}")
            if claim is None:
                continue
            if volume.ephemeral is not None and not claim.metadata.is_controlled_by(pod.metadata):
                message = f"claim {claim.metadata.name} of the ephemeral volume belongs to another owner"
                raise ObjectError("Pod", pod.metadata.key, f"spec.volumes[{volume.name}]", message)
            driver = self._driver(claim)
            is_ignored = driver in self.ignored_provisioners or driver in ALWAYS_IGNORED_PROVISIONERS
            if driver in self.registered and not is_ignored:
                counts[_resource(driver)] = counts.get(_resource(driver), 0) + MILLI
        return counts or NO_AMOUNTS

    def _driver(self, claim: wire.PersistentVolumeClaim) -> str:
        volume = self.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is not None:
            return volume.spec.csi.driver if volume.spec.csi is not None else ""
        return provisioning_driver(self.classes.get(claim.spec.storage_class_name or ""))


def provisioning_driver(storage_class: wire.StorageClass | None) -> str:
    """Return the driver of the volumes of a class; empty if there is no class."""
    if storage_class is None:
        return ""
    return storage_class.parameters.get(_DRIVER_PARAMETER) or storage_class.provisioner


def _claim_name(pod: wire.Pod, volume: wire.Volume) -> str | None:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral is not None else None


def _names(node: wire.CSINode | None) -> Iterator[str]:
    """Yield the drivers of a node, each once."""
    yield from {driver.name for driver in node.spec.drivers} if node is not None else ()


def _resource(driver: str) -> str:
    return CSI_VOLUMES + driver.replace("/", "-")
