"""Koordinator's pod groups on the wire (`scheduling.sigs.k8s.io/v1alpha1`, kind PodGroup), which describe gangs."""

from pyroclast.model.wire.base import ObjectMeta, Wire

__all__ = ["GangPodGroup", "GangPodGroupSpec", "GangPodGroupStatus"]


class GangPodGroupSpec(Wire, frozen=True, kw_only=True):
    """How many must come together, and how long members wait for each other."""

    min_member: int = 0
    schedule_timeout_seconds: int | None = None


class GangPodGroupStatus(Wire, frozen=True, kw_only=True):
    """How its members fare; written by a controller, read by people."""

    phase: str = ""
    occupied_by: str = ""
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str = ""


class GangPodGroup(Wire, frozen=True, kw_only=True):
    """A gang; the rest of what it says stands in annotations."""

    metadata: ObjectMeta
    spec: GangPodGroupSpec = GangPodGroupSpec()
    status: GangPodGroupStatus = GangPodGroupStatus()
