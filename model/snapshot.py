"""Snapshot: the cluster at one moment, as immutable values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyroclast.model import wire
from pyroclast.model.arrays import IntArray
from pyroclast.model.elastic import ParsedQuota, QuotaUses
from pyroclast.model.gangs import GangGroup
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.jobs import Departed, Job, JobTable
from pyroclast.model.load import NodeLoad
from pyroclast.model.nodenuma.topology import NodeTopology
from pyroclast.model.nodes import NodeTable
from pyroclast.model.numa import NumaNode
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.model.reservations.reserved import ReservedCapacity
from pyroclast.model.resources import PODS, ResourceSpace
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task
from pyroclast.model.topology.layers import Layer
from pyroclast.model.topology.tree import Topology
from pyroclast.model.usage import NO_USAGE, NodeUsage
from pyroclast.model.watched import Unstructured, WatchedKind

__all__ = ["ClusterObjects", "OrphanPod", "Snapshot"]

_NO_OBJECTS: Final[Mapping[str, Unstructured]] = SealedDict()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterObjects:
    """Objects that plugins look up by name; keys are `namespace/name`, or the name of a cluster-wide object."""

    namespaces: Mapping[str, wire.Namespace] = field(default_factory=SealedDict)
    resource_quotas: Mapping[str, wire.ResourceQuota] = field(default_factory=SealedDict)
    disruption_budgets: Mapping[str, wire.PodDisruptionBudget] = field(default_factory=SealedDict)
    volume_claims: Mapping[str, wire.PersistentVolumeClaim] = field(default_factory=SealedDict)
    volumes: Mapping[str, wire.PersistentVolume] = field(default_factory=SealedDict)
    storage_classes: Mapping[str, wire.StorageClass] = field(default_factory=SealedDict)
    csi_nodes: Mapping[str, wire.CSINode] = field(default_factory=SealedDict)
    csi_drivers: Mapping[str, wire.CSIDriver] = field(default_factory=SealedDict)
    csi_capacities: Mapping[str, wire.CSIStorageCapacity] = field(default_factory=SealedDict)
    volume_attachments: Mapping[str, wire.VolumeAttachment] = field(default_factory=SealedDict)
    services: Mapping[str, wire.Service] = field(default_factory=SealedDict)
    replication_controllers: Mapping[str, wire.ReplicationController] = field(default_factory=SealedDict)
    replica_sets: Mapping[str, wire.ReplicaSet] = field(default_factory=SealedDict)
    stateful_sets: Mapping[str, wire.StatefulSet] = field(default_factory=SealedDict)
    resource_claims: Mapping[str, wire.ResourceClaim] = field(default_factory=SealedDict)
    resource_slices: Mapping[str, wire.ResourceSlice] = field(default_factory=SealedDict)
    device_classes: Mapping[str, wire.DeviceClass] = field(default_factory=SealedDict)
    hyper_nodes: Mapping[str, wire.HyperNode] = field(default_factory=SealedDict)
    node_shards: Mapping[str, wire.NodeShard] = field(default_factory=SealedDict)
    numatopologies: Mapping[str, wire.Numatopology] = field(default_factory=SealedDict)
    config_maps: Mapping[str, wire.ConfigMap] = field(default_factory=SealedDict)
    elastic_quotas: Mapping[str, wire.ElasticQuota] = field(default_factory=SealedDict)
    gang_pod_groups: Mapping[str, wire.GangPodGroup] = field(default_factory=SealedDict)
    workloads: Mapping[str, wire.Workload] = field(default_factory=SealedDict)
    native_pod_groups: Mapping[str, wire.NativePodGroup] = field(default_factory=SealedDict)
    node_metrics: Mapping[str, wire.NodeMetric] = field(default_factory=SealedDict)
    node_topologies: Mapping[str, wire.NodeResourceTopology] = field(default_factory=SealedDict)
    devices: Mapping[str, wire.KoordinatorDevice] = field(default_factory=SealedDict)
    """Koordinator's, by node; nodes have theirs, too."""
    reservations: Mapping[str, wire.Reservation] = field(default_factory=SealedDict)
    network_topologies: Mapping[str, wire.ClusterNetworkTopology] = field(default_factory=SealedDict)
    watched: Mapping[str, Mapping[str, Unstructured]] = field(default_factory=SealedDict)
    """Objects of the kinds that plugins watch, by the name of the declaration; see `of`."""

    def of(self, kind: WatchedKind) -> Mapping[str, Unstructured]:
        """Return the objects of a kind that a plugin watches, in the order of their keys.

        The mapping is empty for a kind that no plugin watches, that the server lacks, or that could not be listed yet.
        """
        return self.watched.get(kind.name, _NO_OBJECTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanPod:
    """A pending pod that belongs to no job of the snapshot, and the reason."""

    task: Task
    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """The cluster at one moment."""

    generation: int
    """Grows with every change of the cluster; equal generations are equal snapshots."""
    resources: ResourceSpace
    nodes: NodeTable
    jobs: Mapping[JobId, Job]
    """Jobs that have a PodGroup and a known queue, in the order of their ids."""
    job_table: JobTable
    queues: Mapping[QueueName, Queue]
    queue_names: tuple[QueueName, ...]
    """Ascending; the position is the queue's number in the job table."""
    objects: ClusterObjects
    topology: Topology | None = None
    """The tree of HyperNodes; None if there is no HyperNode."""
    orphan_pods: tuple[OrphanPod, ...] = ()
    shard_mode: str = "none"
    """`none`, `hard` or `soft`."""
    counts_resized_pods: bool = True
    """Whether pods count as what plugins resize them to; otherwise no plugin may resize pods."""
    lifts_queue_gates: bool = False
    """Whether this scheduler removes the scheduling gates of queues from pods."""
    tasks_with_affinity: tuple[Task, ...] = ()
    """Tasks on nodes that have pod (anti-)affinity terms, in the order of their names."""
    tasks_with_claims: tuple[Task, ...] = ()
    """Tasks of jobs that use resource claims, in the order of their names."""
    broken_gangs: frozenset[JobId] = frozenset()
    """Jobs that hold places but lost some on the way (a bind failed, a node refused a pod); they are repaired first."""
    departed: Mapping[JobId, Departed] = field(default_factory=SealedDict)
    """Members that have ended and whose pods are gone, of gangs that are not completed, in the order of ids."""
    usage: Mapping[NodeName, NodeUsage] = field(default_factory=lambda: NO_USAGE)
    """Last measured usage of nodes; nodes without a measurement are absent."""
    numa: Mapping[NodeName, NumaNode | None] = field(default_factory=SealedDict)
    """NUMA topology of nodes that have a Numatopology; None if it cannot be parsed."""
    topologies: Mapping[NodeName, NodeTopology | None] = field(default_factory=SealedDict)
    """CPUs and NUMA nodes of nodes that have a NodeResourceTopology; unreadable parts are left out."""
    loads: Mapping[NodeName, NodeLoad | None] = field(default_factory=SealedDict)
    """Usage of nodes that have a NodeMetric, and of their pods; None if it cannot be parsed."""
    elastic_quotas: Mapping[str, ParsedQuota] = field(default_factory=SealedDict)
    """Quotas by name, which is unique in the cluster. The oldest of several quotas of one name counts."""
    quota_uses: QuotaUses | None = None
    """Requests and usage of pods, by claim on a quota; None if there is no elastic quota."""
    uncounted: Mapping[TaskId, IntArray] = field(default_factory=SealedDict)
    """Requests of tasks beyond the allocatable amounts of their nodes, base units, shape (R,). They count for no queue
    and no quota. Tasks that count in full are absent."""
    layers: tuple[Layer, ...] | None = None
    """Layers of the network, those at the top first; None if there is no ClusterNetworkTopology."""
    gangs: Mapping[JobId, GangGroup] = field(default_factory=SealedDict)
    """The gangs of jobs that consist of gangs, in the order of their ids; empty if no pod is in a gang."""

    reservations: Mapping[TaskId, ReservedCapacity] = field(default_factory=SealedDict)
    """Capacity of the Reservations that are Available, by UID, in the order of their names."""
    reserve_tasks: Mapping[TaskId, str] = field(default_factory=SealedDict)
    """Name of the Reservation by the task that stands for it."""

    def has_node_of(self, task: Task) -> bool:
        """Return whether a task counts on its node: the node exists and its `pods` amount is sufficient."""
        uncounted = self.uncounted.get(task.id)
        return uncounted is None or not uncounted[self.resources.rows[PODS]]
