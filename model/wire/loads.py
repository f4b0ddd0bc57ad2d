"""What nodes use, on the wire (`slo.koordinator.sh/v1alpha1`), as Koordinator's agent writes it."""

from collections.abc import Mapping

from msgspec import field

from pyroclast.model.sealed import SealedDict
from pyroclast.model.wire.base import EMPTY, ObjectMeta, ResourceList, Wire

__all__ = [
    "AggregatedUsage",
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
    """What all of a node uses."""

    node_usage: ResourceMap = ResourceMap()
    aggregated_node_usages: tuple[AggregatedUsage, ...] = ()
    system_usage: ResourceMap = ResourceMap()


class PodMetricInfo(Wire, frozen=True, kw_only=True):
    """What a pod uses."""

    name: str = ""
    namespace: str = ""
    pod_usage: ResourceMap = ResourceMap()
    priority: str = ""


class NodeMetricCollectPolicy(Wire, frozen=True, kw_only=True):
    """How often the agent reports."""

    report_interval_seconds: int | None = None


class NodeMetricSpec(Wire, frozen=True, kw_only=True):
    """What the agent is asked for."""

    metric_collect_policy: NodeMetricCollectPolicy = NodeMetricCollectPolicy()


class NodeMetricStatus(Wire, frozen=True, kw_only=True):
    """What it reported last."""

    update_time: str = ""
    node_metric: NodeMetricInfo | None = None
    pods_metric: tuple[PodMetricInfo, ...] = ()


class NodeMetric(Wire, frozen=True, kw_only=True):
    """What a node, by whose name the object goes, and its pods were measured to use."""

    metadata: ObjectMeta
    spec: NodeMetricSpec = NodeMetricSpec()
    status: NodeMetricStatus = NodeMetricStatus()
