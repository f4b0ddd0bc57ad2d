"""Arguments of predicates, with Volcano's names."""

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
    """Used storage in percent, 0 to 100."""
    score: int
    """0 to 10."""


DEFAULT_SHAPE: Final = (ShapePoint(utilization=0, score=10), ShapePoint(utilization=100, score=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicatesArgs:
    """Filters to apply. Unschedulable nodes and the number of pods are always checked."""

    node_affinity: bool = argument("predicate.NodeAffinityEnable", True)
    """Node selector and required node affinity."""
    node_ports: bool = argument("predicate.NodePortsEnable", True)
    """Host ports."""
    taints: bool = argument("predicate.TaintTolerationEnable", True)
    pod_affinity: bool = argument("predicate.PodAffinityEnable", True)
    """Required pod affinity and anti-affinity."""
    volume_restrictions: bool = argument("predicate.VolumeRestrictionsEnable", True)
    """One pod at a time for claims of the access mode ReadWriteOncePod."""
    volume_limits: bool = argument("predicate.NodeVolumeLimitsEnable", True)
    """Volumes that CSI drivers attach to a node."""
    volume_zone: bool = argument("predicate.VolumeZoneEnable", True)
    topology_spread: bool = argument("predicate.PodTopologySpreadEnable", True)
    """`DoNotSchedule` constraints."""
    volume_binding: bool = argument("predicate.VolumeBindingEnable", True)
    """Whether volume claims are filtered, reserved and prepared for binding."""
    devices: bool = argument("predicate.DynamicResourceAllocationEnable", True)
    """Whether devices are allocated to resource claims. Otherwise pods with claims wait."""
    cache: bool = argument("predicate.CacheEnable", False)
    """Has no effect: results that depend only on facts of nodes are always cached, with their reasons."""
    bind_timeout_seconds: int = argument("volumebinding.bindTimeoutSeconds", 600, refuse=True)
    """Maximum time that a bind waits for its volumes; at least 0."""
    volume_weight: int = argument("volumebinding.weight", 1, refuse=True)
    """Weight of the volume score."""
    volume_shape: tuple[ShapePoint, ...] = argument("volumebinding.shape", DEFAULT_SHAPE, refuse=True)
    """Score by utilization, ascending."""
    volume_score: bool = argument("volumebinding.StorageCapacityScoringEnable", False)
    """Whether volumes are scored; counterpart of Kubernetes' alpha feature gate StorageCapacityScoring."""
    device_filter_timeout_seconds: int = argument("dynamicresources.filterTimeoutSeconds", 10, refuse=True)
    """Has no effect: the search for devices is bounded by steps."""

    def __post_init__(self) -> None:
        """Refuse the values that Volcano refuses."""
        if self.bind_timeout_seconds < 0:
            raise ArgumentError("volumebinding.bindTimeoutSeconds", self.bind_timeout_seconds, "at least 0")
        utilizations = [point.utilization for point in self.volume_shape]
        if not utilizations or utilizations != sorted(set(utilizations)):
            raise ArgumentError("volumebinding.shape", utilizations, "points with rising utilization, at least one")
        for point in self.volume_shape:
            if not (0 <= point.utilization <= _MAX_PERCENT and 0 <= point.score <= _MAX_SCORE):
                raise ArgumentError("volumebinding.shape", point, "utilization from 0 to 100, score from 0 to 10")
