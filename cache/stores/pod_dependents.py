"""Pod dependents: the pods that are translated again when an object changes that their specs name.

| change of | pods |
|---|---|
| PersistentVolumeClaim | pods that mount it |
| PersistentVolume | pods that mount the claims bound to it |
| StorageClass | pods with any claim |
| CSINode | pods with any claim, if a CSI driver comes or goes |
| ResourceClaim | pods that name it |
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyroclast.cache.stores.pods import PodStore
from pyroclast.cache.stores.reverse_index import ReverseIndex
from pyroclast.cache.stores.volumes import RegisteredDrivers, volume_names
from pyroclast.model import wire
from pyroclast.model.ids import TaskId

__all__ = ["PodDependents", "either"]


class PodDependents:
    """Which pods depend on an object."""

    def __init__(self, pods: PodStore) -> None:
        self._pods = pods
        self.drivers = RegisteredDrivers()
        """The CSI drivers of all nodes."""
        self._claims_by_volume = ReverseIndex[str, wire.PersistentVolumeClaim](volume_names)
        self._by_kind: Mapping[str, Callable[[Any, Any], Iterable[TaskId]]] = {
            "PersistentVolumeClaim": self._of_claim,
            "PersistentVolume": self._of_volume,
            "StorageClass": lambda _old, _new: pods.of_claims(pods.claims()),
            "CSINode": lambda old, new: pods.of_claims(pods.claims()) if self.drivers.note(old, new) else (),
            "ResourceClaim": lambda old, new: pods.of_device_claim(either(old, new).metadata.key),
        }

    def of(self, kind: str, old: Any, new: Any) -> Iterable[TaskId]:
        """Return the pods that depend on an object that changes; `old` or `new` is None where it does not exist."""
        pods = self._by_kind.get(kind)
        return () if pods is None else pods(old, new)

    def _of_claim(
        self, old: wire.PersistentVolumeClaim | None, new: wire.PersistentVolumeClaim | None
    ) -> Iterable[TaskId]:
        key = either(old, new).metadata.key
        self._claims_by_volume.note(key, old, new)
        return self._pods.of_claims([key])

    def _of_volume(self, old: wire.PersistentVolume | None, new: wire.PersistentVolume | None) -> Iterable[TaskId]:
        return self._pods.of_claims(self._claims_by_volume.users([either(old, new).metadata.name]))


def either(old: Any, new: Any) -> Any:
    """Return the new object, or the old one if it was deleted."""
    return old if new is None else new
