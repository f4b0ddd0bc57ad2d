"""Core group, v1: pods, nodes, namespaces, services, replication controllers, resource quotas."""

from collections.abc import Mapping

import msgspec

from pyroclast.model.api.meta import (
    EMPTY,
    Condition,
    LabelSelector,
    ObjectMeta,
    ResourceList,
    Wire,
)
from pyroclast.model.wire.native import PodSchedulingGroup
from pyroclast.model.wire.selectors import NodeSelector, NodeSelectorTerm
from pyroclast.model.wire.storage import EphemeralVolumeSource

__all__ = [
    "Affinity",
    "AttachedVolume",
    "AwsElasticBlockStore",
    "AzureDisk",
    "ClaimReference",
    "ConfigMap",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "ContainerState",
    "ContainerStateTerminated",
    "ContainerStateWaiting",
    "ContainerStatus",
    "CsiVolumeSource",
    "GcePersistentDisk",
    "ImageVolume",
    "IscsiVolume",
    "Namespace",
    "NamespaceStatus",
    "Node",
    "NodeAddress",
    "NodeAffinity",
    "NodeSpec",
    "NodeStatus",
    "PersistentVolumeClaimVolumeSource",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodResourceClaim",
    "PodResourceClaimStatus",
    "PodSchedulingGate",
    "PodSpec",
    "PodStatus",
    "PreferredSchedulingTerm",
    "RbdVolume",
    "ReplicationController",
    "ReplicationControllerSpec",
    "ResourceQuota",
    "ResourceQuotaSpec",
    "ResourceQuotaStatus",
    "ResourceRequirements",
    "ScopeSelector",
    "ScopedResourceSelectorRequirement",
    "Secret",
    "Service",
    "ServiceSpec",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "WeightedPodAffinityTerm",
]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class PreferredSchedulingTerm(Wire, frozen=True, kw_only=True):
    """A node selector term with its weight."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True, kw_only=True):
    """Required and preferred nodes of a pod."""

    required: NodeSelector | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(default=(), name=_PREFERRED)


class PodAffinityTerm(Wire, frozen=True, kw_only=True):
    """Pods to be placed near or away from. An absent label selector matches no pod."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True, kw_only=True):
    """A pod affinity term with its weight."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire, frozen=True, kw_only=True):
    """Affinity or anti-affinity to pods."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(default=(), name=_REQUIRED)
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(default=(), name=_PREFERRED)


class Affinity(Wire, frozen=True, kw_only=True):
    """Affinity of a pod to nodes and to other pods."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Wire, frozen=True, kw_only=True):
    """A taint that the pod tolerates. An empty key with `Exists` tolerates every taint."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Wire, frozen=True, kw_only=True):
    """Limit of the skew of pods over the domains of a topology key."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ClaimReference(Wire, frozen=True, kw_only=True):
    """A claim of the pod that a container uses."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Wire, frozen=True, kw_only=True):
    """Requests and limits of a container or of a whole pod."""

    requests: ResourceList = EMPTY
    limits: ResourceList = EMPTY
    claims: tuple[ClaimReference, ...] = ()


class ContainerPort(Wire, frozen=True, kw_only=True):
    """A port; only those with a host port matter to placement."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = ""
    protocol: str = "TCP"


class Container(Wire, frozen=True, kw_only=True):
    """A container; an init container that restarts `Always` is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class PersistentVolumeClaimVolumeSource(Wire, frozen=True, kw_only=True):
    """A volume that is a claim of the pod's namespace."""

    claim_name: str = ""
    read_only: bool = False


class CsiVolumeSource(Wire, frozen=True, kw_only=True):
    """An inline CSI volume."""

    driver: str = ""
    read_only: bool = False


class AwsElasticBlockStore(Wire, frozen=True, kw_only=True):
    """An inline EBS volume."""

    volume_id: str = ""
    read_only: bool = False


class GcePersistentDisk(Wire, frozen=True, kw_only=True):
    """An inline GCE disk."""

    pd_name: str = ""
    read_only: bool = False


class AzureDisk(Wire, frozen=True, kw_only=True):
    """An inline Azure disk."""

    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    read_only: bool = False


class IscsiVolume(Wire, frozen=True, kw_only=True):
    """An inline iSCSI volume."""

    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class RbdVolume(Wire, frozen=True, kw_only=True):
    """An inline Ceph block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class ImageVolume(Wire, frozen=True, kw_only=True):
    """A volume that is an image."""

    reference: str = ""


class Volume(Wire, frozen=True, kw_only=True):
    """A volume of a pod. Kinds that affect placement have their source, others only their name."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CsiVolumeSource | None = None
    aws_elastic_block_store: AwsElasticBlockStore | None = None
    gce_persistent_disk: GcePersistentDisk | None = None
    azure_disk: AzureDisk | None = None
    iscsi: IscsiVolume | None = None
    rbd: RbdVolume | None = None
    image: ImageVolume | None = None


class PodSchedulingGate(Wire, frozen=True, kw_only=True):
    """A scheduling gate. A pod with gates is not scheduled."""

    name: str = ""


class PodResourceClaim(Wire, frozen=True, kw_only=True):
    """A resource claim that the pod refers to, by name or by template."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """The claim created from one of the pod's claim templates. Without a claim name, none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class PodSpec(Wire, frozen=True, kw_only=True):
    """Specification of a pod."""

    scheduler_name: str = ""
    node_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    node_selector: Mapping[str, str] = EMPTY
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceList = EMPTY
    resources: ResourceRequirements | None = None
    volumes: tuple[Volume, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    host_network: bool = False
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    hostname: str = ""
    subdomain: str = ""


class ContainerStateTerminated(Wire, frozen=True, kw_only=True):
    """State of a terminated container."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    finished_at: str = ""


class ContainerStateWaiting(Wire, frozen=True, kw_only=True):
    """State of a waiting container."""

    reason: str = ""
    message: str = ""


class ContainerState(Wire, frozen=True, kw_only=True):
    """State of a container. The running state is not read."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Wire, frozen=True, kw_only=True):
    """Status of a container. Its resources may differ from its requests while it is resized."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = EMPTY
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Wire, frozen=True, kw_only=True):
    """Status of a pod."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = EMPTY
    resize: str = ""
    start_time: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    reason: str = ""
    message: str = ""
    pod_ip: str = ""
    host_ip: str = ""
    qos_class: str = ""


class Pod(Wire, frozen=True, kw_only=True):
    """A pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(Wire, frozen=True, kw_only=True):
    """A taint of a node. It repels pods that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True, kw_only=True):
    """Specification of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Wire, frozen=True, kw_only=True):
    """An image on a node."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class AttachedVolume(Wire, frozen=True, kw_only=True):
    """A volume attached to a node."""

    name: str = ""


class NodeAddress(Wire, frozen=True, kw_only=True):
    """Address of a node: `InternalIP`, `Hostname`, ..."""

    type: str = ""
    address: str = ""


class NodeStatus(Wire, frozen=True, kw_only=True):
    """Status of a node."""

    allocatable: ResourceList = EMPTY
    capacity: ResourceList = EMPTY
    images: tuple[ContainerImage, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    conditions: tuple[Condition, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()


class Node(Wire, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ConfigMap(Wire, frozen=True, kw_only=True):
    """Texts by key, such as the device configuration."""

    metadata: ObjectMeta
    data: Mapping[str, str] = EMPTY


class Secret(Wire, frozen=True, kw_only=True):
    """A secret; its contents are not read."""

    metadata: ObjectMeta


class NamespaceStatus(Wire, frozen=True, kw_only=True):
    """Phase of a namespace: active or terminating."""

    phase: str = ""


class Namespace(Wire, frozen=True, kw_only=True):
    """A namespace."""

    metadata: ObjectMeta
    status: NamespaceStatus = NamespaceStatus()


class ServiceSpec(Wire, frozen=True, kw_only=True):
    """Selector of the pods of a service."""

    selector: Mapping[str, str] = EMPTY


class Service(Wire, frozen=True, kw_only=True):
    """A service; its selector spreads pods by default."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Wire, frozen=True, kw_only=True):
    """Selector and number of the pods of a replication controller."""

    selector: Mapping[str, str] = EMPTY
    replicas: int | None = None


class ReplicationController(Wire, frozen=True, kw_only=True):
    """A replication controller."""

    metadata: ObjectMeta
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ScopedResourceSelectorRequirement(Wire, frozen=True, kw_only=True):
    """One expression over a quota's scopes."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Wire, frozen=True, kw_only=True):
    """Pods that a quota counts, by scope."""

    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ResourceQuotaSpec(Wire, frozen=True, kw_only=True):
    """Limits of a namespace."""

    hard: ResourceList = EMPTY
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Wire, frozen=True, kw_only=True):
    """Usage of a namespace, with its limits."""

    hard: ResourceList = EMPTY
    used: ResourceList = EMPTY


class ResourceQuota(Wire, frozen=True, kw_only=True):
    """A quota of a namespace."""

    metadata: ObjectMeta
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()
