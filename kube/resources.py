"""The kinds we speak of: where they live, and what they decode into."""

from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from pyroclast.model import wire
from pyroclast.model.api.batch import CronJob, Job
from pyroclast.model.api.bus import Command
from pyroclast.model.api.definitions import KubernetesObject
from pyroclast.model.api.flow import JobFlow, JobTemplate
from pyroclast.model.wire import Decoder

__all__ = [
    "ALL",
    "COMMANDS",
    "CONFIG_MAPS",
    "CRON_JOBS",
    "CSI_DRIVERS",
    "CSI_NODES",
    "CSI_STORAGE_CAPACITIES",
    "DEVICES",
    "DEVICE_CLASSES",
    "ELASTIC_QUOTAS",
    "ELASTIC_QUOTA_PROFILES",
    "EVENTS",
    "GANG_POD_GROUPS",
    "HYPER_NODES",
    "JOBS",
    "JOB_FLOWS",
    "JOB_TEMPLATES",
    "LEASES",
    "NAMESPACES",
    "NETWORK_POLICIES",
    "NODES",
    "NODE_METRICS",
    "NODE_SHARDS",
    "NUMATOPOLOGIES",
    "PERSISTENT_VOLUMES",
    "PERSISTENT_VOLUME_CLAIMS",
    "PODS",
    "POD_DISRUPTION_BUDGETS",
    "POD_GROUPS",
    "PRIORITY_CLASSES",
    "QUEUES",
    "REPLICATION_CONTROLLERS",
    "REPLICA_SETS",
    "RESOURCE_CLAIMS",
    "RESOURCE_QUOTAS",
    "RESOURCE_SLICES",
    "SECRETS",
    "SERVICES",
    "STATEFUL_SETS",
    "STORAGE_CLASSES",
    "VOLUME_ATTACHMENTS",
    "WHILE_WANTED",
    "Resource",
]

T = TypeVar("T")
K = TypeVar("K", bound=KubernetesObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Generic[T]):
    """One kind of object."""

    group: str = ""
    version: str
    plural: str
    kind: str
    struct: type[T]
    is_namespaced: bool
    is_optional: bool = False
    """The server may lack it: a custom resource, or a group that is not switched on."""
    alias: str = ""
    """What it is called here, where a kind of another group has its name."""
    decoder: Decoder[T] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Make the decoder."""
        object.__setattr__(self, "decoder", Decoder(self.kind, self.struct))

    @property
    def name(self) -> str:
        """What the kind is called here."""
        return self.alias or self.kind

    @property
    def label(self) -> str:
        """What the kind is called in metrics and logs: its plural, with the group where that alone says too little."""
        return f"{self.plural}.{self.group}" if self.alias else self.plural

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """Path of the group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str = "") -> str:
        """Path of all objects, or of those in a namespace."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}" if namespace else f"{self.root}/{self.plural}"

    def path(self, namespace: str, name: str, subresource: str = "") -> str:
        """Path of one object or of a subresource of it; a name that users wrote is quoted, so it leads nowhere else."""
        path = f"{self.collection(namespace)}/{quote(name, safe='')}"
        return f"{path}/{subresource}" if subresource else path


def _core(plural: str, kind: str, struct: type[T], *, is_namespaced: bool = True) -> Resource[T]:
    return Resource(version="v1", plural=plural, kind=kind, struct=struct, is_namespaced=is_namespaced)


def _storage(plural: str, kind: str, struct: type[T], *, is_namespaced: bool = False) -> Resource[T]:
    return Resource(
        group="storage.k8s.io", version="v1", plural=plural, kind=kind, struct=struct, is_namespaced=is_namespaced
    )


def _devices(plural: str, kind: str, struct: type[T], *, is_namespaced: bool = False) -> Resource[T]:
    return Resource(
        group="resource.k8s.io",
        version="v1",
        plural=plural,
        kind=kind,
        struct=struct,
        is_namespaced=is_namespaced,
        is_optional=True,
    )


def _custom(struct: type[K]) -> Resource[K]:
    definition = struct.definition
    return Resource(
        group=definition.group,
        version=definition.version,
        plural=definition.plural,
        kind=definition.kind,
        struct=struct,
        is_namespaced=definition.is_namespaced,
        is_optional=True,
    )


PODS: Final = _core("pods", "Pod", wire.Pod)
NODES: Final = _core("nodes", "Node", wire.Node, is_namespaced=False)
NAMESPACES: Final = _core("namespaces", "Namespace", wire.Namespace, is_namespaced=False)
SERVICES: Final = _core("services", "Service", wire.Service)
SECRETS: Final = _core("secrets", "Secret", wire.Secret)
REPLICATION_CONTROLLERS: Final = _core("replicationcontrollers", "ReplicationController", wire.ReplicationController)
RESOURCE_QUOTAS: Final = _core("resourcequotas", "ResourceQuota", wire.ResourceQuota)
PERSISTENT_VOLUME_CLAIMS: Final = _core("persistentvolumeclaims", "PersistentVolumeClaim", wire.PersistentVolumeClaim)
PERSISTENT_VOLUMES: Final = _core("persistentvolumes", "PersistentVolume", wire.PersistentVolume, is_namespaced=False)
STORAGE_CLASSES: Final = _storage("storageclasses", "StorageClass", wire.StorageClass)
CSI_NODES: Final = _storage("csinodes", "CSINode", wire.CSINode)
CSI_DRIVERS: Final = _storage("csidrivers", "CSIDriver", wire.CSIDriver)
CSI_STORAGE_CAPACITIES: Final = _storage(
    "csistoragecapacities", "CSIStorageCapacity", wire.CSIStorageCapacity, is_namespaced=True
)
VOLUME_ATTACHMENTS: Final = _storage("volumeattachments", "VolumeAttachment", wire.VolumeAttachment)
REPLICA_SETS: Final = Resource(
    group="apps", version="v1", plural="replicasets", kind="ReplicaSet", struct=wire.ReplicaSet, is_namespaced=True
)
STATEFUL_SETS: Final = Resource(
    group="apps", version="v1", plural="statefulsets", kind="StatefulSet", struct=wire.StatefulSet, is_namespaced=True
)
NETWORK_POLICIES: Final = Resource(
    group="networking.k8s.io",
    version="v1",
    plural="networkpolicies",
    kind="NetworkPolicy",
    struct=wire.NetworkPolicy,
    is_namespaced=True,
)
POD_DISRUPTION_BUDGETS: Final = Resource(
    group="policy",
    version="v1",
    plural="poddisruptionbudgets",
    kind="PodDisruptionBudget",
    struct=wire.PodDisruptionBudget,
    is_namespaced=True,
)
EVENTS: Final[Resource[Any]] = Resource(version="v1", plural="events", kind="Event", struct=dict, is_namespaced=True)
"""As plain JSON: people read them."""
CONFIG_MAPS: Final = _core("configmaps", "ConfigMap", wire.ConfigMap)
"""Single ones are followed, by their names."""
PRIORITY_CLASSES: Final = Resource(
    group="scheduling.k8s.io",
    version="v1",
    plural="priorityclasses",
    kind="PriorityClass",
    struct=wire.PriorityClass,
    is_namespaced=False,
)
LEASES: Final = Resource(
    group="coordination.k8s.io", version="v1", plural="leases", kind="Lease", struct=wire.Lease, is_namespaced=True
)
RESOURCE_CLAIMS: Final = _devices("resourceclaims", "ResourceClaim", wire.ResourceClaim, is_namespaced=True)
RESOURCE_SLICES: Final = _devices("resourceslices", "ResourceSlice", wire.ResourceSlice)
DEVICE_CLASSES: Final = _devices("deviceclasses", "DeviceClass", wire.DeviceClass)
POD_GROUPS: Final = _custom(wire.PodGroup)
QUEUES: Final = _custom(wire.Queue)
HYPER_NODES: Final = _custom(wire.HyperNode)
NODE_SHARDS: Final = _custom(wire.NodeShard)
NUMATOPOLOGIES: Final = _custom(wire.Numatopology)
ELASTIC_QUOTAS: Final = _custom(wire.ElasticQuota)
ELASTIC_QUOTA_PROFILES: Final = _custom(wire.ElasticQuotaProfile)
DEVICES: Final = _custom(wire.KoordinatorDevice)
COMMANDS: Final = _custom(Command)
CRON_JOBS: Final = _custom(CronJob)
JOBS: Final = _custom(Job)
JOB_FLOWS: Final = _custom(JobFlow)
JOB_TEMPLATES: Final = _custom(JobTemplate)
GANG_POD_GROUPS: Final = Resource(
    group="scheduling.sigs.k8s.io",
    version="v1alpha1",
    plural="podgroups",
    kind="PodGroup",
    struct=wire.GangPodGroup,
    is_namespaced=True,
    is_optional=True,
    alias="GangPodGroup",
)
NODE_METRICS: Final = Resource(
    group="slo.koordinator.sh",
    version="v1alpha1",
    plural="nodemetrics",
    kind="NodeMetric",
    struct=wire.NodeMetric,
    is_namespaced=False,
    is_optional=True,
)

WHILE_WANTED: Final[tuple[Resource[Any], ...]] = (CONFIG_MAPS, NODE_METRICS)
"""Followed only as long as the configuration asks for them."""
ALL: Final[tuple[Resource[Any], ...]] = (
    PODS,
    NODES,
    NAMESPACES,
    SERVICES,
    REPLICATION_CONTROLLERS,
    RESOURCE_QUOTAS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    CSI_NODES,
    CSI_DRIVERS,
    CSI_STORAGE_CAPACITIES,
    VOLUME_ATTACHMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    POD_DISRUPTION_BUDGETS,
    PRIORITY_CLASSES,
    LEASES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    DEVICE_CLASSES,
    POD_GROUPS,
    QUEUES,
    HYPER_NODES,
    NODE_SHARDS,
    NUMATOPOLOGIES,
    ELASTIC_QUOTAS,
    GANG_POD_GROUPS,
    DEVICES,
)
"""All others that the scheduler follows."""
