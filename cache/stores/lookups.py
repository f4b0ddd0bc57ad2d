"""Lookups: objects that are kept as they are, for plugins to look up by name."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyroclast.model import wire
from pyroclast.model.sealed import SealedDict
from pyroclast.model.snapshot import ClusterObjects

__all__ = ["LOOKUP_KINDS", "ObjectLookups"]

LOOKUP_KINDS: Final[Mapping[str, str]] = {
    "Namespace": "namespaces",
    "ResourceQuota": "resource_quotas",
    "PodDisruptionBudget": "disruption_budgets",
    "PersistentVolumeClaim": "volume_claims",
    "PersistentVolume": "volumes",
    "StorageClass": "storage_classes",
    "CSINode": "csi_nodes",
    "CSIDriver": "csi_drivers",
    "CSIStorageCapacity": "csi_capacities",
    "VolumeAttachment": "volume_attachments",
    "Service": "services",
    "ReplicationController": "replication_controllers",
    "ReplicaSet": "replica_sets",
    "StatefulSet": "stateful_sets",
    "ResourceClaim": "resource_claims",
    "ResourceSlice": "resource_slices",
    "DeviceClass": "device_classes",
    "HyperNode": "hyper_nodes",
    "NodeShard": "node_shards",
    "Numatopology": "numatopologies",
    "ConfigMap": "config_maps",
    "ElasticQuota": "elastic_quotas",
    "GangPodGroup": "gang_pod_groups",
    "NodeMetric": "node_metrics",
    "Device": "devices",
}
"""Kind to the field of `ClusterObjects` that holds it."""


class ObjectLookups:
    """Objects by kind and name; frozen copies are made anew only for kinds that changed."""

    def __init__(self) -> None:
        """Start empty."""
        self._objects: dict[str, dict[str, Any]] = {kind: {} for kind in LOOKUP_KINDS}
        self._changed: set[str] = set()
        self._frozen = ClusterObjects()

    def of(self, kind: str) -> Mapping[str, Any]:
        """Return the live objects of a kind."""
        return self._objects[kind]

    def put(self, kind: str, metadata: wire.ObjectMeta, new: Any) -> bool:
        """Keep an object; False when it is known in this version."""
        known = self._objects[kind].get(metadata.key)
        version = metadata.resource_version
        if known is not None and version and known.metadata.resource_version == version:
            return False
        self._objects[kind][metadata.key] = new
        self._changed.add(kind)
        return True

    def drop(self, kind: str, metadata: wire.ObjectMeta) -> bool:
        """Forget an object; False when it is not known."""
        if self._objects[kind].pop(metadata.key, None) is None:
            return False
        self._changed.add(kind)
        return True

    def frozen(self) -> ClusterObjects:
        """Return all objects as they are now, in the order of their names."""
        if self._changed:
            parts = {field: getattr(self._frozen, field) for field in LOOKUP_KINDS.values()}
            for kind in self._changed:
                parts[LOOKUP_KINDS[kind]] = SealedDict(sorted(self._objects[kind].items()))
            self._frozen = ClusterObjects(**parts)
            self._changed.clear()
        return self._frozen

    def everything(self) -> Iterator[tuple[str, Any]]:
        """List all objects with their kinds."""
        for kind, objects in self._objects.items():
            for each in objects.values():
                yield kind, each

    def copy(self) -> "ObjectLookups":
        """Return lookups of the same objects that change on their own."""
        copied = ObjectLookups()
        copied._objects = {kind: dict(objects) for kind, objects in self._objects.items()}
        copied._changed = set(LOOKUP_KINDS)
        return copied
