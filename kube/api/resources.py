"""The kinds that are used: their paths and their structs."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from pyroclast.model import wire
from pyroclast.model.api.batch import CronJob, Job
from pyroclast.model.api.bus import Command
from pyroclast.model.api.definitions import KubernetesObject
from pyroclast.model.api.flow import JobFlow, JobTemplate
from pyroclast.model.watched import Unstructured, WatchedKind
from pyroclast.model.wire import Decoder
from pyroclast.model.wire.unstructured import UnstructuredDecoder

__all__ = [
    "ALL",
    "CLUSTER_NETWORK_TOPOLOGIES",
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
    "NATIVE_POD_GROUPS",
    "NETWORK_POLICIES",
    "NODES",
    "NODE_METRICS",
    "NODE_RESOURCE_TOPOLOGIES",
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
    "RESERVATIONS",
    "RESOURCE_CLAIMS",
    "RESOURCE_QUOTAS",
    "RESOURCE_SLICES",
    "SECRETS",
    "SERVICES",
    "STATEFUL_SETS",
    "STORAGE_CLASSES",
    "VOLUME_ATTACHMENTS",
    "WHILE_WANTED",
    "WORKLOADS",
    "Resource",
    "resource_of",
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
    """Whether the server may lack it: a custom resource, or a group that is not enabled."""
    alias: str = ""
    """Its name in this project, if a kind of another group has its name."""
    older_versions: tuple[str, ...] = ()
    """Versions that are used where the server lacks `version`, best first. The struct reads all of them."""
    decoder: Decoder[T] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Make the decoder."""
        is_plain = self.struct is Unstructured
        decoder = UnstructuredDecoder(self.kind, self.api_version) if is_plain else Decoder(self.kind, self.struct)
        object.__setattr__(self, "decoder", decoder)

    @property
    def name(self) -> str:
        """Name of the kind in this project."""
        return self.alias or self.kind

    @property
    def label(self) -> str:
        """Name of the kind in metrics and logs: its plural, with the group if the plural alone is ambiguous."""
        return f"{self.plural}.{self.group}" if self.alias else self.plural

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """Path of the group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def in_versions(self) -> "Iterator[Resource[T]]":
        """Yield it in each of its versions, best first."""
        yield self
        for version in self.older_versions:
            yield replace(self, version=version, older_versions=())

    def in_version_of(self, api_version: str) -> "Resource[T]":
        """Return it in the version of an object; in its best version if that one is unknown."""
        return next((each for each in self.in_versions() if each.api_version == api_version), self)

    def collection(self, namespace: str = "") -> str:
        """Path of all objects, or of those in a namespace."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}" if namespace else f"{self.root}/{self.plural}"

    def path(self, namespace: str, name: str, subresource: str = "") -> str:
        """Path of one object or of a subresource of it. The name is quoted, so that it cannot lead to another path."""
        path = f"{self.collection(namespace)}/{quote(name, safe='')}"
        return f"{path}/{subresource}" if subresource else path


def _named(api_version: str, plural: str, struct: type[T], *, kind: str = "", **traits: Any) -> Resource[T]:
    """Return a kind that others define, called as its struct unless `kind` is given; by default it has namespaces."""
    group, _, version = api_version.rpartition("/")
    traits = {"is_namespaced": True, **traits}
    return Resource(group=group, version=version, plural=plural, kind=kind or struct.__name__, struct=struct, **traits)


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


def resource_of(kind: WatchedKind) -> Resource[Unstructured]:
    """Return a kind that a plugin declares. Its name is that of the declaration."""
    return Resource(
        group=kind.group,
        version=kind.version,
        plural=kind.resource,
        kind=kind.kind,
        struct=Unstructured,
        is_namespaced=kind.is_namespaced,
        is_optional=True,
        alias=kind.name,
    )


PODS: Final = _named("v1", "pods", wire.Pod)
NODES: Final = _named("v1", "nodes", wire.Node, is_namespaced=False)
NAMESPACES: Final = _named("v1", "namespaces", wire.Namespace, is_namespaced=False)
SERVICES: Final = _named("v1", "services", wire.Service)
SECRETS: Final = _named("v1", "secrets", wire.Secret)
REPLICATION_CONTROLLERS: Final = _named("v1", "replicationcontrollers", wire.ReplicationController)
RESOURCE_QUOTAS: Final = _named("v1", "resourcequotas", wire.ResourceQuota)
PERSISTENT_VOLUME_CLAIMS: Final = _named("v1", "persistentvolumeclaims", wire.PersistentVolumeClaim)
PERSISTENT_VOLUMES: Final = _named("v1", "persistentvolumes", wire.PersistentVolume, is_namespaced=False)
CONFIG_MAPS: Final = _named("v1", "configmaps", wire.ConfigMap)
"""Single ones are followed, by their names."""
EVENTS: Final[Resource[Any]] = _named("v1", "events", dict, kind="Event")
"""As plain JSON: people read them."""
STORAGE_CLASSES: Final = _named("storage.k8s.io/v1", "storageclasses", wire.StorageClass, is_namespaced=False)
CSI_NODES: Final = _named("storage.k8s.io/v1", "csinodes", wire.CSINode, is_namespaced=False)
CSI_DRIVERS: Final = _named("storage.k8s.io/v1", "csidrivers", wire.CSIDriver, is_namespaced=False)
CSI_STORAGE_CAPACITIES: Final = _named("storage.k8s.io/v1", "csistoragecapacities", wire.CSIStorageCapacity)
VOLUME_ATTACHMENTS: Final = _named("storage.k8s.io/v1", "volumeattachments", wire.VolumeAttachment, is_namespaced=False)
REPLICA_SETS: Final = _named("apps/v1", "replicasets", wire.ReplicaSet)
STATEFUL_SETS: Final = _named("apps/v1", "statefulsets", wire.StatefulSet)
NETWORK_POLICIES: Final = _named("networking.k8s.io/v1", "networkpolicies", wire.NetworkPolicy)
POD_DISRUPTION_BUDGETS: Final = _named("policy/v1", "poddisruptionbudgets", wire.PodDisruptionBudget)
PRIORITY_CLASSES: Final = _named("scheduling.k8s.io/v1", "priorityclasses", wire.PriorityClass, is_namespaced=False)
LEASES: Final = _named("coordination.k8s.io/v1", "leases", wire.Lease)
RESOURCE_CLAIMS: Final = _named("resource.k8s.io/v1", "resourceclaims", wire.ResourceClaim, is_optional=True)
RESOURCE_SLICES: Final = _named(
    "resource.k8s.io/v1", "resourceslices", wire.ResourceSlice, is_namespaced=False, is_optional=True
)
DEVICE_CLASSES: Final = _named(
    "resource.k8s.io/v1", "deviceclasses", wire.DeviceClass, is_namespaced=False, is_optional=True
)
GANG_POD_GROUPS: Final = _named(
    "scheduling.sigs.k8s.io/v1alpha1",
    "podgroups",
    wire.GangPodGroup,
    kind="PodGroup",
    is_optional=True,
    alias="GangPodGroup",
)
_NATIVE: Final[dict[str, Any]] = {"is_optional": True, "older_versions": ("v1alpha3", "v1alpha2")}
"""Kubernetes 1.37 serves v1beta1 and v1alpha3, Kubernetes 1.36 v1alpha2, each if its feature gate is on."""
NATIVE_POD_GROUPS: Final = _named(
    "scheduling.k8s.io/v1beta1", "podgroups", wire.NativePodGroup, kind="PodGroup", alias="NativePodGroup", **_NATIVE
)
WORKLOADS: Final = _named("scheduling.k8s.io/v1beta1", "workloads", wire.Workload, **_NATIVE)
NODE_METRICS: Final = _named(
    "slo.koordinator.sh/v1alpha1", "nodemetrics", wire.NodeMetric, is_namespaced=False, is_optional=True
)
NODE_RESOURCE_TOPOLOGIES: Final = _named(
    "topology.node.k8s.io/v1alpha1",
    "noderesourcetopologies",
    wire.NodeResourceTopology,
    is_namespaced=False,
    is_optional=True,
)
CLUSTER_NETWORK_TOPOLOGIES: Final = _named(
    "scheduling.koordinator.sh/v1alpha1",
    "clusternetworktopologies",
    wire.ClusterNetworkTopology,
    is_namespaced=False,
    is_optional=True,
)
POD_GROUPS: Final = _custom(wire.PodGroup)
QUEUES: Final = _custom(wire.Queue)
HYPER_NODES: Final = _custom(wire.HyperNode)
NODE_SHARDS: Final = _custom(wire.NodeShard)
NUMATOPOLOGIES: Final = _custom(wire.Numatopology)
ELASTIC_QUOTAS: Final = _custom(wire.ElasticQuota)
ELASTIC_QUOTA_PROFILES: Final = _custom(wire.ElasticQuotaProfile)
DEVICES: Final = _custom(wire.KoordinatorDevice)
RESERVATIONS: Final = _custom(wire.Reservation)
COMMANDS: Final = _custom(Command)
CRON_JOBS: Final = _custom(CronJob)
JOBS: Final = _custom(Job)
JOB_FLOWS: Final = _custom(JobFlow)
JOB_TEMPLATES: Final = _custom(JobTemplate)

WHILE_WANTED: Final[tuple[Resource[Any], ...]] = (
    CLUSTER_NETWORK_TOPOLOGIES,
    CONFIG_MAPS,
    NODE_METRICS,
    NODE_RESOURCE_TOPOLOGIES,
    RESERVATIONS,
)
"""Followed only while the configuration needs them."""
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
    NATIVE_POD_GROUPS,
    WORKLOADS,
    DEVICES,
)
"""All others that the scheduler follows."""
