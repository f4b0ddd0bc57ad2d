"""Koordinator's pod groups on the wire (`scheduling.sigs.k8s.io/v1alpha1`, kind PodGroup), which describe gangs."""

from model.wire.base import ObjectMeta, Wire

__all__ = ["GangPodGroup", "GangPodGroupSpec"]


class GangPodGroupSpec(Wire, frozen=True, kw_only=True):
    """How many must come together, and how long members wait for each other."""

    min_member: int = 0
    schedule_timeout_seconds: int | None = None


class GangPodGroup(Wire, frozen=True, kw_only=True):
    """A gang; the rest of what it says stands in annotations."""

    metadata: ObjectMeta
    spec: GangPodGroupSpec = GangPodGroupSpec()
