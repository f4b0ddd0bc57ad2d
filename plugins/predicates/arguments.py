"""Arguments of predicates, spelled as Volcano spells them."""

from dataclasses import dataclass
from typing import Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.model.errors import ArgumentError

__all__ = ["PredicatesArgs", "ShapePoint"]

_MAX_PERCENT: Final = 100
_MAX_SCORE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapePoint:
    """A point of the function from utilization to score."""

    utilization: int
    """Per cent of the storage that would be used, 0 to 100."""
    score: int
    """0 to 10."""


DEFAULT_SHAPE: Final = (ShapePoint(utilization=0, score=10), ShapePoint(utilization=100, score=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicatesArgs:
    """Which filters are asked; unschedulable nodes and the number of pods are always looked at."""

    node_affinity: bool = argument("predicate.NodeAffinityEnable", True)
    """Node selector and required node affinity."""
    node_ports: bool = argument("predicate.NodePortsEnable", True)
    """Host ports."""
    taints: bool = argument("predicate.TaintTolerationEnable", True)
    pod_affinity: bool = argument("predicate.PodAffinityEnable", True)
    """Required pod affinity and anti-affinity."""
    volume_limits: bool = argument("predicate.NodeVolumeLimitsEnable", True)
    """Volumes that CSI drivers attach to a node."""
    volume_zone: bool = argument("predicate.VolumeZoneEnable", True)
    topology_spread: bool = argument("predicate.PodTopologySpreadEnable", True)
    """Constraints that say `DoNotSchedule`."""
    volume_binding: bool = argument("predicate.VolumeBindingEnable", True)
    """Claims: judged, taken and prepared for binding."""
    devices: bool = argument("predicate.DynamicResourceAllocationEnable", True)
    """Claims for devices keep a pod waiting: they are not allocated yet. Off, no plugin serves them."""
    cache: bool = argument("predicate.CacheEnable", False)
    """Has no effect: what depends on facts of nodes alone is always kept, and keeps its reason."""
    bind_timeout_seconds: int = argument("volumebinding.bindTimeoutSeconds", 600, refuse=True)
    """How long a bind waits for its volumes; at least 0."""
    volume_weight: int = argument("volumebinding.weight", 1, refuse=True)
    """Say of the volume score in the node order."""
    volume_shape: tuple[ShapePoint, ...] = argument("volumebinding.shape", DEFAULT_SHAPE, refuse=True)
    """Score by utilization, ascending."""
    volume_score: bool = argument("volumebinding.StorageCapacityScoringEnable", False)
    """Counterpart of Kubernetes' feature gate StorageCapacityScoring (alpha): whether volumes are scored."""
    device_filter_timeout_seconds: int = argument("dynamicresources.filterTimeoutSeconds", 10, refuse=True)
    """Read for what is to come; a negative value is ignored."""

    def __post_init__(self) -> None:
        """Refuse what Volcano refuses."""
        if self.bind_timeout_seconds < 0:
            raise ArgumentError("volumebinding.bindTimeoutSeconds", self.bind_timeout_seconds, "at least 0")
        utilizations = [point.utilization for point in self.volume_shape]
        if not utilizations or utilizations != sorted(set(utilizations)):
            raise ArgumentError("volumebinding.shape", utilizations, "points with rising utilization, at least one")
        for point in self.volume_shape:
            if not (0 <= point.utilization <= _MAX_PERCENT and 0 <= point.score <= _MAX_SCORE):
                raise ArgumentError("volumebinding.shape", point, "utilization from 0 to 100, score from 0 to 10")
