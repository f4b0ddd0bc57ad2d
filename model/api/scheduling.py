"""Gangs (PodGroup) and queues."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.definitions import AGE, Definition, KubernetesObject, PrinterColumn
from pyroclast.model.api.meta import EMPTY, LabelSelector, ResourceList, Wire
from pyroclast.model.api.rules import DEFAULTED, Count, FieldRules, Int32, ObjectName, Time
from pyroclast.model.plain_members import with_plain_members

__all__ = [
    "DequeueStrategy",
    "ExtendCluster",
    "Guarantee",
    "NetworkTopologyMode",
    "NetworkTopologySpec",
    "NodeGroupTerms",
    "PodGroup",
    "PodGroupCondition",
    "PodGroupPhase",
    "PodGroupSpec",
    "PodGroupStatus",
    "Queue",
    "QueueAffinity",
    "QueueReservation",
    "QueueSpec",
    "QueueState",
    "QueueStatus",
    "SubGroupPolicySpec",
]


# --- gangs -----------------------------------------------------------------------------------------------------------


class NetworkTopologyMode(StrEnum):
    """Whether a topology is required or preferred."""

    HARD = "hard"
    SOFT = "soft"


class NetworkTopologySpec(Wire, frozen=True, kw_only=True):
    """Network topology of the pods. At most one of the two tier fields can be set."""

    mode: Annotated[str, FieldRules(enum=NetworkTopologyMode), DEFAULTED] = "hard"
    """hard: the pods start only inside one domain of an allowed tier. soft: such a domain is preferred."""
    highest_tier_allowed: Annotated[int, FieldRules(minimum=0)] | None = None
    """Highest HyperNode tier that the pods may span, as a number."""
    highest_tier_name: Annotated[str, FieldRules(max_length=253)] = ""
    """Highest HyperNode tier that the pods may span, by its tierName."""


class SubGroupPolicySpec(Wire, frozen=True, kw_only=True):
    """One rule by which pods form sub-groups."""

    name: Annotated[str, FieldRules(max_length=253)] = ""
    """Name of the rule."""
    network_topology: NetworkTopologySpec | None = None
    """Network topology of the pods. At most one of the two tier fields can be set."""
    sub_group_size: Annotated[Int32, FieldRules(minimum=1), DEFAULTED] = 1
    """Pods that must be able to run together for a sub-group to count."""
    min_sub_groups: Annotated[Count, DEFAULTED] = 0
    """Sub-groups that must be able to run; 0 means no minimum."""
    label_selector: LabelSelector | None = None
    """Selects the pods of the rule by their labels."""
    match_label_keys: Annotated[tuple[str, ...], FieldRules(list_type="atomic")] = ()
    """Label keys; pods with equal values for all of them form one sub-group."""


class PodGroupSpec(Wire, frozen=True, kw_only=True):
    """Requirements of the gang."""

    min_member: Count = 0
    """Pods that must be able to run together before any of them starts."""
    min_task_member: Mapping[str, Int32] = EMPTY
    """Pods of each task that must be able to run together, by task name."""
    queue: Annotated[ObjectName, DEFAULTED] = names.DEFAULT_QUEUE
    """Queue of the gang."""
    priority_class_name: Annotated[str, FieldRules(max_length=253)] = ""
    """PriorityClass of the gang."""
    min_resources: ResourceList | None = None
    """Resources that must be free in the queue before the gang is admitted, by resource name."""
    network_topology: NetworkTopologySpec | None = None
    """Network topology of the pods. At most one of the two tier fields can be set."""
    sub_group_policy: tuple[SubGroupPolicySpec, ...] = ()
    """Division of the gang into sub-groups that are placed as units."""


@with_plain_members
class PodGroupPhase(StrEnum):
    """Phase of a gang."""

    PENDING = "Pending"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    INQUEUE = "Inqueue"
    COMPLETED = "Completed"


class PodGroupCondition(Wire, frozen=True, kw_only=True):
    """One condition."""

    type: str = ""
    """Unschedulable or Scheduled."""
    status: str = ""
    """True, False or Unknown."""
    transition_id: str = ""
    """Scheduling session that wrote the condition."""
    last_transition_time: Time = ""
    """Time of the last change of the condition."""
    reason: str = ""
    """Cause in one word."""
    message: str = ""
    """Human-readable details."""


class PodGroupStatus(Wire, frozen=True, kw_only=True):
    """Status written by the scheduler."""

    phase: Annotated[str, FieldRules(enum=PodGroupPhase)] = ""
    """Phase of the gang: Pending (waits for admission), Inqueue (admitted, pods can be created), Running (enough
    members are placed), Unknown (some members run, the others cannot), Completed."""
    conditions: tuple[PodGroupCondition, ...] = ()
    """Latest conditions, by type."""
    running: Count = 0
    """Pods that are running."""
    succeeded: Count = 0
    """Pods that have succeeded."""
    failed: Count = 0
    """Pods that have failed."""


class PodGroup(KubernetesObject, frozen=True, kw_only=True):
    """PodGroup is a gang: pods of one namespace that are scheduled together or not at all."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.SCHEDULING,
        kind="PodGroup",
        plural="podgroups",
        short_names=("pg", "podgroup-v1beta1"),
        has_status_subresource=False,
        columns=(
            PrinterColumn(name="STATUS", path=".status.phase"),
            PrinterColumn(name="minMember", path=".spec.minMember", type="integer"),
            PrinterColumn(name="RUNNINGS", path=".status.running", type="integer"),
            AGE,
            PrinterColumn(name="QUEUE", path=".spec.queue", is_wide=True),
        ),
    )
    spec: PodGroupSpec = PodGroupSpec()
    """Requirements of the gang."""
    status: PodGroupStatus = PodGroupStatus()
    """Status written by the scheduler. There is no status subresource, so it is written with the object."""


# --- queues ----------------------------------------------------------------------------------------------------------


class Guarantee(Wire, frozen=True, kw_only=True):
    """Resources guaranteed to the queue."""

    resource: ResourceList = EMPTY
    """Amounts that no other queue can use, by resource name."""


class NodeGroupTerms(Wire, frozen=True, kw_only=True):
    """Node groups that pods use, or avoid in an anti-affinity."""

    required: tuple[str, ...] = msgspec.field(default=(), name="requiredDuringSchedulingIgnoredDuringExecution")
    """Node groups that pods must use, or must not use in an anti-affinity."""
    preferred: tuple[str, ...] = msgspec.field(default=(), name="preferredDuringSchedulingIgnoredDuringExecution")
    """Node groups that pods prefer, or avoid if possible in an anti-affinity."""


class QueueAffinity(Wire, frozen=True, kw_only=True):
    """Node groups that the queue's pods use or avoid."""

    node_group_affinity: NodeGroupTerms | None = None
    """Node groups to run on."""
    node_group_anti_affinity: NodeGroupTerms | None = None
    """Node groups to avoid."""


class ExtendCluster(Wire, frozen=True, kw_only=True):
    """One other cluster."""

    name: str = ""
    """Name of the cluster."""
    weight: Int32 = 0
    """Weight of the cluster among the others."""
    capacity: ResourceList = EMPTY
    """Capacity of the cluster, by resource name."""


class DequeueStrategy(StrEnum):
    """Effect of a gang that cannot be placed on the gangs behind it."""

    FIFO = "fifo"
    TRAVERSE = "traverse"


class QueueSpec(Wire, frozen=True, kw_only=True):
    """Limits of the queue and how it is served."""

    weight: Annotated[Int32, FieldRules(minimum=1, maximum=65535), DEFAULTED] = 1
    """Weight of the queue when spare resources are divided among its siblings."""
    capability: ResourceList = EMPTY
    """Upper limit of the queue, by resource name. Other resources are not limited."""
    reclaimable: bool | None = None
    """Whether other queues can reclaim resources that this queue uses above its share."""
    extend_clusters: tuple[ExtendCluster, ...] = ()
    """Other clusters that jobs of the queue can be forwarded to."""
    guarantee: Guarantee = Guarantee()
    """Resources guaranteed to the queue."""
    affinity: QueueAffinity | None = None
    """Node groups that the queue's pods use or avoid."""
    type: Annotated[str, FieldRules(max_length=253)] = ""
    """Free text for the operator."""
    parent: ObjectName = ""
    """Queue above this one; the root queue when empty."""
    deserved: ResourceList = EMPTY
    """Deserved amount of the queue, by resource name. Other queues can reclaim use above it."""
    priority: Count = 0
    """Priority of the queue. A queue with a higher number is served earlier and reclaimed from later."""
    dequeue_strategy: Annotated[str, FieldRules(enum=DequeueStrategy), DEFAULTED] = "traverse"
    """fifo: a gang that cannot be placed blocks the gangs behind it. traverse: the next gang is tried."""


class QueueState(StrEnum):
    """Whether a queue accepts gangs."""

    OPEN = "Open"
    CLOSED = "Closed"
    CLOSING = "Closing"
    UNKNOWN = "Unknown"


class QueueReservation(Wire, frozen=True, kw_only=True):
    """Nodes and amounts locked for the queue."""

    nodes: tuple[str, ...] = ()
    """Nodes locked for the queue."""
    resource: ResourceList = EMPTY
    """Amounts locked for the queue, by resource name."""


class QueueStatus(Wire, frozen=True, kw_only=True):
    """State and use of the queue."""

    state: Annotated[str, FieldRules(enum=QueueState)] = ""
    """Open: the queue accepts gangs. Closing: it accepts none and waits for the end of its gangs. Closed: it accepts
    none and has none."""
    unknown: Count = 0
    """Gangs in phase Unknown."""
    pending: Count = 0
    """Gangs in phase Pending."""
    running: Count = 0
    """Gangs in phase Running."""
    inqueue: Count = 0
    """Gangs in phase Inqueue."""
    completed: Count = 0
    """Gangs in phase Completed."""
    reservation: QueueReservation | None = None
    """Nodes and amounts locked for the queue."""
    allocated: ResourceList = EMPTY
    """Requests of the queue's placed pods, by resource name. The scheduler writes them."""


class Queue(KubernetesObject, frozen=True, kw_only=True):
    """Queue is a share of the cluster for gangs. Queues form a tree."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.SCHEDULING,
        kind="Queue",
        plural="queues",
        short_names=("q", "queue-v1beta1"),
        is_namespaced=False,
        columns=(PrinterColumn(name="PARENT", path=".spec.parent"),),
    )
    spec: QueueSpec = QueueSpec()
    """Limits of the queue and how it is served."""
    status: QueueStatus = QueueStatus()
    """State and use of the queue."""
