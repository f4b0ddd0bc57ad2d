"""Arguments of the plugin reservation, with Koordinator's names."""

from dataclasses import dataclass
from typing import Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.model.errors import ArgumentError

__all__ = ["PreAllocationConfig", "ReservationArgs", "SelectorIndex"]

_NATIVE: Final = ("cpu", "memory", "pods", "ephemeral-storage")
_KUBERNETES: Final = "kubernetes.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreAllocationConfig:
    """How Reservations take over running pods."""

    cluster_mode: bool = argument("enableClusterMode", False)
    """Whether `preAllocationPolicy.mode: Cluster` is permitted."""
    label: str = argument("clusterLabelKey", "pod.koordinator.sh/is-pre-allocatable")
    """Label of pods that Reservations of this mode may take over, with the value `true`."""
    priority: str = argument("clusterPriorityAnnotationKey", "pod.koordinator.sh/pre-allocatable-priority")
    """Annotation of such pods, an integer; the highest is taken over first."""
    prefers_none: bool = argument("preferNoPreAllocatedPods", False)
    """Whether no pod is taken over where the free capacity of a node is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorIndex:
    """Index of labels of Reservations."""

    enabled: bool = False
    """Has no effect: decisions are equal with and without the index."""
    prefixes: tuple[str, ...] = argument("keyPrefixes", ())
    """Has no effect."""
    keys: tuple[str, ...] = ()
    """Has no effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationArgs:
    """Arguments, spelled as in the configuration file."""

    weight: int = argument("reservation.weight", 5000)
    """Weight of the score of nodes with a Reservation for the pod; 0 disables it."""
    enable_preemption: bool = argument("enablePreemption", False)
    """Whether pods of a lower priority are evicted for a Reservation that waits."""
    ignoring_namespaces: tuple[str, ...] | None = argument("ignoringNamespaces", None)
    """Namespaces in which the label `reservation-ignored` of pods counts; all if it is not given."""
    pre_allocation: PreAllocationConfig = argument("preAllocationConfig", PreAllocationConfig(), nested=True)
    """How Reservations take over running pods."""
    ignored_resources: tuple[str, ...] = argument("ignoredResources", ())
    """Extended resources that the policy `Restricted` does not restrict."""
    ignored_groups: tuple[str, ...] = argument("ignoredResourceGroups", ())
    """Domains of extended resources that `Restricted` does not restrict: `example.com` for `example.com/…`."""
    candidate_percentage: int = argument("minCandidateNodesPercentage", 10, least=0, most=100)
    """Has no effect: searches for victims have their own bounds."""
    candidate_nodes: int = argument("minCandidateNodesAbsolute", 100, least=0)
    """Has no effect, see above."""
    controller_workers: int = argument("controllerWorkers", 1, least=1)
    """Has no effect: the flags of the controllers have."""
    gc_duration_seconds: int = argument("gcDurationSeconds", 86400, least=0)
    """Has no effect, see above."""
    gc_interval_seconds: int = argument("gcIntervalSeconds", 60, least=0)
    """Has no effect, see above."""
    resync_interval_seconds: int = argument("resyncIntervalSeconds", 60, least=0)
    """Has no effect: metrics are written in each cycle."""
    disable_garbage_collection: bool = argument("disableGarbageCollection", False)
    """Has no effect, see above."""
    selector_index: SelectorIndex = argument("reservationSelectorIndex", SelectorIndex(), nested=True)
    """Has no effect: decisions are equal with and without the index."""

    def __post_init__(self) -> None:
        """Refuse native resources, as Koordinator does."""
        for name in self.ignored_resources:
            if name in _NATIVE or name.startswith("hugepages-"):
                raise ArgumentError("ignoredResources", name, "extended resources, such as example.com/gpu")
        for group in self.ignored_groups:
            if "/" in group or group == _KUBERNETES or group.endswith(f".{_KUBERNETES}"):
                raise ArgumentError("ignoredResourceGroups", group, "domains other than kubernetes.io, without /")

    def ignores(self, name: str) -> bool:
        """Return whether a resource is not restricted."""
        return name in self.ignored_resources or name.partition("/")[0] in self.ignored_groups
