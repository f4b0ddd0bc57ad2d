"""Attachable volumes: how many volumes of each CSI driver a pod needs and a node can attach.

They are resources named `attachable-volumes-csi-<driver>`, so that the ordinary accounting enforces the limit of a
driver on a node. A claim of two pods is counted for each of them. Inline CSI volumes are not counted.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from pyroclast.cache.options import ALWAYS_IGNORED_PROVISIONERS
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.requests import ATTACHABLE_VOLUMES
from pyroclast.model.resources import MILLI, NO_AMOUNTS, Amounts

__all__ = ["VolumeLookup", "attach_limits", "claim_keys", "provisioning_driver", "volume_names"]

_PREFIX: Final = f"{ATTACHABLE_VOLUMES}csi-"
_UNLIMITED_COUNT: Final = 2**31 - 1
"""Limit of a driver that publishes none."""
_DRIVER_PARAMETER: Final = "csi.storage.k8s.io/csi-driver-name"


def attach_limits(node: wire.CSINode | None) -> Amounts:
    """Return how many volumes the CSI drivers of a node can attach, thousandths by resource name."""
    if node is None:
        return NO_AMOUNTS
    return {_resource(driver.name): MILLI * _count(driver) for driver in node.spec.drivers}


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
    ignored_provisioners: AbstractSet[str] = frozenset()

    def needed(self, pod: wire.Pod) -> Amounts:
        """Return how many volumes a pod needs attached, thousandths by resource name.

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
            if driver and driver not in self.ignored_provisioners and driver not in ALWAYS_IGNORED_PROVISIONERS:
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


def _count(driver: wire.CSINodeDriver) -> int:
    return (
        _UNLIMITED_COUNT if driver.allocatable is None or driver.allocatable.count is None else driver.allocatable.count
    )


def _resource(driver: str) -> str:
    return _PREFIX + driver.replace("/", "-")
