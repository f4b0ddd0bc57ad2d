"""Lookups: objects that are stored without translation; plugins look them up by name."""

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
    "Workload": "workloads",
    "NativePodGroup": "native_pod_groups",
    "NodeMetric": "node_metrics",
    "NodeResourceTopology": "node_topologies",
    "Device": "devices",
    "Reservation": "reservations",
    "ClusterNetworkTopology": "network_topologies",
}
"""The field of `ClusterObjects` for each kind."""
_WATCHED: Final = "watched"
"""The field of `ClusterObjects` for kinds that plugins watch."""


class ObjectLookups:
    """Objects by kind and name, also of kinds that plugins watch. Only the kinds that changed are copied."""

    def __init__(self) -> None:
        """Start without objects."""
        self._objects: dict[str, dict[str, Any]] = {kind: {} for kind in LOOKUP_KINDS}
        self._changed: set[str] = set()
        self._frozen = ClusterObjects()

    def of(self, kind: str) -> Mapping[str, Any]:
        """Return the live objects of a kind."""
        return self._objects.get(kind, {})

    def put(self, kind: str, metadata: wire.ObjectMeta, new: Any) -> bool:
        """Add or replace an object, and return whether its version is new."""
        objects = self._objects.setdefault(kind, {})
        known = objects.get(metadata.key)
        version = metadata.resource_version
        if known is not None and version and known.metadata.resource_version == version:
            return False
        objects[metadata.key] = new
        self._changed.add(kind)
        return True

    def drop(self, kind: str, metadata: wire.ObjectMeta) -> bool:
        """Remove an object, and return whether it was known."""
        objects = self._objects.get(kind, {})
        if objects.pop(metadata.key, None) is None:
            return False
        if not objects and kind not in LOOKUP_KINDS:
            del self._objects[kind]
        self._changed.add(kind)
        return True

    def frozen(self) -> ClusterObjects:
        """Return a copy of all objects, in the order of their names."""
        if self._changed:
            parts = {field: getattr(self._frozen, field) for field in (*LOOKUP_KINDS.values(), _WATCHED)}
            watched = dict(parts[_WATCHED])
            for kind in sorted(self._changed):
                objects = SealedDict(sorted(self._objects.get(kind, {}).items()))
                if kind in LOOKUP_KINDS:
                    parts[LOOKUP_KINDS[kind]] = objects
                elif objects:
                    watched[kind] = objects
                else:
                    watched.pop(kind, None)
            parts[_WATCHED] = SealedDict(sorted(watched.items()))
            self._frozen = ClusterObjects(**parts)
            self._changed.clear()
        return self._frozen

    def everything(self) -> Iterator[tuple[str, Any]]:
        """Yield all objects with their kinds."""
        for kind, objects in self._objects.items():
            for each in objects.values():
                yield kind, each

    def copy(self) -> "ObjectLookups":
        """Return an independent copy."""
        copied = ObjectLookups()
        copied._objects = {kind: dict(objects) for kind, objects in self._objects.items()}
        copied._changed = {*LOOKUP_KINDS, *self._objects}
        return copied
