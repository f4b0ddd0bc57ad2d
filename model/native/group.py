"""Settings of one native group."""

from dataclasses import dataclass
from enum import StrEnum

from pyroclast.model import wire

__all__ = ["Disruption", "NativeGroup"]


class Disruption(StrEnum):
    """Which pods of a group can be evicted together."""

    SINGLE = "Single"
    """Any pod alone, whether the minimum is kept or not."""
    ALL = "All"
    """All pods or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeGroup:
    """One valid PodGroup of `scheduling.k8s.io`."""

    object: wire.NativePodGroup
    minimum: int
    """Pods that must be scheduled together; 1 for the basic policy."""
    disruption: Disruption
    topology_key: str
    """Label of nodes; all pods run on nodes with one value of it. Empty without a constraint."""

    @property
    def preempts(self) -> bool:
        """Whether other pods may be evicted for the group."""
        return self.object.spec.preemption_policy != "Never"
