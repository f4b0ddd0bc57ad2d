"""Koordinator: kinds that other programs write. NodeMetric is the usage of a node, PodGroup is a gang."""

from collections.abc import Mapping

from msgspec import field

from pyroclast.model.api.meta import EMPTY, ObjectMeta, ResourceList, Wire
from pyroclast.model.sealed import SealedDict

__all__ = [
    "AggregatedUsage",
    "ClusterNetworkTopology",
    "ClusterNetworkTopologySpec",
    "GangPodGroup",
    "GangPodGroupSpec",
    "GangPodGroupStatus",
    "NetworkTopologyLayer",
    "NodeMetric",
    "NodeMetricCollectPolicy",
    "NodeMetricInfo",
    "NodeMetricSpec",
    "NodeMetricStatus",
    "PodMetricInfo",
    "ResourceMap",
]


class ResourceMap(Wire, frozen=True, kw_only=True):
    """Amounts in use."""

    resources: ResourceList = EMPTY


class AggregatedUsage(Wire, frozen=True, kw_only=True):
    """Statistics of a period by their kind: `avg`, `p50`, `p90`, `p95`, `p99`."""

    usage: Mapping[str, ResourceMap] = field(default_factory=SealedDict)
    duration: str = ""


class NodeMetricInfo(Wire, frozen=True, kw_only=True):
    """Usage of a whole node."""

    node_usage: ResourceMap = ResourceMap()
    aggregated_node_usages: tuple[AggregatedUsage, ...] = ()
    system_usage: ResourceMap = ResourceMap()


class PodMetricInfo(Wire, frozen=True, kw_only=True):
    """Usage of a pod."""

    name: str = ""
    namespace: str = ""
    pod_usage: ResourceMap = ResourceMap()
    priority: str = ""


class NodeMetricCollectPolicy(Wire, frozen=True, kw_only=True):
    """Report interval of the agent."""

    report_interval_seconds: int | None = None


class NodeMetricSpec(Wire, frozen=True, kw_only=True):
    """Settings of the agent."""

    metric_collect_policy: NodeMetricCollectPolicy = NodeMetricCollectPolicy()


class NodeMetricStatus(Wire, frozen=True, kw_only=True):
    """Last report of the agent."""

    update_time: str = ""
    node_metric: NodeMetricInfo | None = None
    pods_metric: tuple[PodMetricInfo, ...] = ()


class NodeMetric(Wire, frozen=True, kw_only=True):
    """Measured usage of a node and its pods. The object has the name of the node."""

    metadata: ObjectMeta
    spec: NodeMetricSpec = NodeMetricSpec()
    status: NodeMetricStatus = NodeMetricStatus()


class NetworkTopologyLayer(Wire, frozen=True, kw_only=True):
    """One layer of the network: nodes with equal values of a label are below one switch."""

    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: tuple[str, ...] = ()


class ClusterNetworkTopologySpec(Wire, frozen=True, kw_only=True):
    """Layers of the network."""

    network_topology_spec: tuple[NetworkTopologyLayer, ...] = ()


class ClusterNetworkTopology(Wire, frozen=True, kw_only=True):
    """Layers of the cluster's network. Only the object named `default` counts."""

    metadata: ObjectMeta
    spec: ClusterNetworkTopologySpec = ClusterNetworkTopologySpec()


class GangPodGroupSpec(Wire, frozen=True, kw_only=True):
    """Minimum number of members, and the time that members wait for each other."""

    min_member: int = 0
    schedule_timeout_seconds: int | None = None


class GangPodGroupStatus(Wire, frozen=True, kw_only=True):
    """Status of the members; written by a controller, for users."""

    phase: str = ""
    occupied_by: str = ""
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str = ""


class GangPodGroup(Wire, frozen=True, kw_only=True):
    """A gang. Its other settings are annotations."""

    metadata: ObjectMeta
    spec: GangPodGroupSpec = GangPodGroupSpec()
    status: GangPodGroupStatus = GangPodGroupStatus()
