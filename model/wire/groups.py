"""Volcano's custom resources: pod groups, queues, hypernodes, node shards, NUMA topologies."""

from collections.abc import Mapping

import msgspec

from pyroclast.model.sealed import SealedDict
from pyroclast.model.wire.base import EMPTY, Condition, LabelSelector, ObjectMeta, ResourceList, Wire

__all__ = [
    "CpuInfo",
    "ExactMatch",
    "ExtendCluster",
    "Guarantee",
    "HyperNode",
    "HyperNodeMember",
    "HyperNodeSpec",
    "HyperNodeStatus",
    "MemberSelector",
    "NetworkTopology",
    "NodeGroupTerms",
    "NodeShard",
    "NodeShardSpec",
    "NodeShardStatus",
    "NumaContainerAllocation",
    "NumaPodAllocation",
    "NumaResource",
    "Numatopology",
    "NumatopologySpec",
    "PodGroup",
    "PodGroupSpec",
    "PodGroupStatus",
    "Queue",
    "QueueAffinity",
    "QueueReservation",
    "QueueSpec",
    "QueueStatus",
    "RegexMatch",
    "SubGroupPolicy",
]


class NetworkTopology(Wire, frozen=True, kw_only=True):
    """How far apart the tasks of a job may lie."""

    mode: str = "hard"
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class SubGroupPolicy(Wire, frozen=True, kw_only=True):
    """A part of a job that must be placed together."""

    name: str = ""
    network_topology: NetworkTopology | None = None
    sub_group_size: int = 1
    min_sub_groups: int = 0
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()


class PodGroupSpec(Wire, frozen=True, kw_only=True):
    """What a job needs to start; no minimal resources: no check when it is enqueued."""

    min_member: int = 0
    min_task_member: Mapping[str, int] = msgspec.field(default_factory=SealedDict)
    queue: str = "default"
    priority_class_name: str = ""
    min_resources: ResourceList | None = None
    network_topology: NetworkTopology | None = None
    sub_group_policy: tuple[SubGroupPolicy, ...] = ()


class PodGroupStatus(Wire, frozen=True, kw_only=True):
    """How a job fares."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class PodGroup(Wire, frozen=True, kw_only=True):
    """A job."""

    metadata: ObjectMeta
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class Guarantee(Wire, frozen=True, kw_only=True):
    """What a queue always has."""

    resource: ResourceList = EMPTY


class NodeGroupTerms(Wire, frozen=True, kw_only=True):
    """Node groups that a queue must or would rather use (or shun)."""

    required: tuple[str, ...] = msgspec.field(default=(), name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[str, ...] = msgspec.field(default=(), name="preferredDuringSchedulingIgnoredDuringExecution")


class QueueAffinity(Wire, frozen=True, kw_only=True):
    """Node groups of a queue."""

    node_group_affinity: NodeGroupTerms | None = None
    node_group_anti_affinity: NodeGroupTerms | None = None


class ExtendCluster(Wire, frozen=True, kw_only=True):
    """A cluster that a queue may also use."""

    name: str = ""
    weight: int = 0
    capacity: ResourceList = EMPTY


class QueueSpec(Wire, frozen=True, kw_only=True):
    """What a queue may use and how it ranks."""

    weight: int = 1
    capability: ResourceList = EMPTY
    reclaimable: bool | None = None
    extend_clusters: tuple[ExtendCluster, ...] = ()
    guarantee: Guarantee = Guarantee()
    affinity: QueueAffinity | None = None
    type: str = ""
    parent: str = ""
    deserved: ResourceList = EMPTY
    priority: int = 0
    dequeue_strategy: str = "traverse"


class QueueReservation(Wire, frozen=True, kw_only=True):
    """Nodes locked for a queue."""

    nodes: tuple[str, ...] = ()
    resource: ResourceList = EMPTY


class QueueStatus(Wire, frozen=True, kw_only=True):
    """How a queue fares; an empty state counts as open."""

    state: str = ""
    pending: int = 0
    running: int = 0
    inqueue: int = 0
    unknown: int = 0
    completed: int = 0
    reservation: QueueReservation | None = None
    allocated: ResourceList = EMPTY


class Queue(Wire, frozen=True, kw_only=True):
    """A queue."""

    metadata: ObjectMeta
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class ExactMatch(Wire, frozen=True, kw_only=True):
    """A member by name."""

    name: str = ""


class RegexMatch(Wire, frozen=True, kw_only=True):
    """Members whose names the pattern is found in."""

    pattern: str = ""


class MemberSelector(Wire, frozen=True, kw_only=True):
    """Members of a hypernode: exactly one of the three."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: LabelSelector | None = None


class HyperNodeMember(Wire, frozen=True, kw_only=True):
    """A part of a hypernode: nodes, or a hypernode of a lower tier."""

    type: str = ""
    selector: MemberSelector = MemberSelector()


class HyperNodeSpec(Wire, frozen=True, kw_only=True):
    """Tier and members."""

    tier: int = 0
    tier_name: str = ""
    members: tuple[HyperNodeMember, ...] = ()


class HyperNodeStatus(Wire, frozen=True, kw_only=True):
    """What a controller counted."""

    node_count: int = 0
    conditions: tuple[Condition, ...] = ()


class HyperNode(Wire, frozen=True, kw_only=True):
    """A network domain."""

    metadata: ObjectMeta
    spec: HyperNodeSpec = HyperNodeSpec()
    status: HyperNodeStatus = HyperNodeStatus()


class NodeShardSpec(Wire, frozen=True, kw_only=True):
    """Nodes that a scheduler should have."""

    nodes_desired: tuple[str, ...] = ()


class NodeShardStatus(Wire, frozen=True, kw_only=True):
    """Nodes that a scheduler has."""

    last_update_time: str = ""
    nodes_in_use: tuple[str, ...] = ()
    nodes_to_remove: tuple[str, ...] = ()
    nodes_to_add: tuple[str, ...] = ()


class NodeShard(Wire, frozen=True, kw_only=True):
    """One scheduler's part of the nodes."""

    metadata: ObjectMeta
    spec: NodeShardSpec = NodeShardSpec()
    status: NodeShardStatus = NodeShardStatus()


class CpuInfo(Wire, frozen=True, kw_only=True):
    """Where a CPU sits."""

    numa: int = 0
    socket: int = 0
    core: int = 0


class NumaResource(Wire, frozen=True, kw_only=True):
    """What is free of a resource, as a CPU-set text, and how much there is."""

    allocatable: str = ""
    capacity: int = 0


class NumaContainerAllocation(Wire, frozen=True, kw_only=True):
    """What a container holds of each resource, as CPU-set texts."""

    name: str = ""
    allocations: Mapping[str, str] = EMPTY


class NumaPodAllocation(Wire, frozen=True, kw_only=True):
    """What a pod holds."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    container_allocations: tuple[NumaContainerAllocation, ...] = ()


class NumatopologySpec(Wire, frozen=True, kw_only=True):
    """The inner topology of a node."""

    policies: Mapping[str, str] = EMPTY
    res_reserved: ResourceList = EMPTY
    numares: Mapping[str, NumaResource] = msgspec.field(default_factory=SealedDict)
    cpu_detail: Mapping[str, CpuInfo] = msgspec.field(default_factory=SealedDict)
    pod_allocations: tuple[NumaPodAllocation, ...] = ()


class Numatopology(Wire, frozen=True, kw_only=True):
    """The inner topology of the node of the same name."""

    metadata: ObjectMeta
    spec: NumatopologySpec = NumatopologySpec()
