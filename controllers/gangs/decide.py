"""Deciding: the next status of a PodGroup, as a pure function of the group and its members.

Pending ──as many pods as the minimum──▶ PreScheduling ──▶ Scheduling ◀──▶ Scheduled ◀──▶ Running
   ▲                                                       fewer than      the minimum     the minimum
   └──no pod is left── any but Finished and Failed         it have nodes   has nodes       runs

Finished: the minimum has succeeded.  Failed: some failed, and the minimum runs or has ended.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from pyroclast.model.wire import GangPodGroup, GangPodGroupStatus, Pod, time_text, unix_seconds

__all__ = ["GangMembers", "count", "decide"]

_ENDS: Final = frozenset({"Finished", "Failed"})
_EXPIRED_SECONDS: Final = 48 * 3600.0
"""The status of a group is not updated if scheduling began that late after the creation and no member runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangMembers:
    """Numbers of members of a gang."""

    pods: int = 0
    scheduled: int = 0
    """Members that have or had a node."""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    owners: str = ""
    """`namespace/name` of their controllers, sorted, separated by commas."""


def count(pods: Iterable[Pod]) -> GangMembers:
    """Count the members of a gang."""
    known = list(pods)
    phases = [pod.status.phase for pod in known]
    controllers = ((pod.metadata.namespace, pod.metadata.controller) for pod in known)
    owners = {f"{namespace}/{controller.name}" for namespace, controller in controllers if controller is not None}
    return GangMembers(
        pods=len(known),
        scheduled=sum(bool(pod.spec.node_name) for pod in known),
        running=phases.count("Running"),
        succeeded=phases.count("Succeeded"),
        failed=phases.count("Failed"),
        owners=",".join(sorted(owners)),
    )


def decide(group: GangPodGroup, members: GangMembers, now: float) -> GangPodGroupStatus:
    """Return the desired status of a group. `now` is in seconds since 1970."""
    status = group.status
    if status.phase in _ENDS or _is_expired(group):
        return status
    if not status.phase:
        status = replace(status, phase="Pending")
    minimum = group.spec.min_member
    if status.phase == "Pending":
        if not 0 < minimum <= members.pods:
            return status
        status = replace(status, phase="PreScheduling", occupied_by=members.owners)
    if not members.pods:
        return GangPodGroupStatus(phase="Pending", schedule_start_time=status.schedule_start_time)
    return replace(
        status,
        phase=_phase(members, minimum),
        scheduled=members.scheduled,
        running=members.running,
        succeeded=members.succeeded,
        failed=members.failed,
        schedule_start_time=status.schedule_start_time or time_text(now),
    )


def _phase(members: GangMembers, minimum: int) -> str:
    if members.succeeded >= minimum > 0:
        return "Finished"
    if members.failed and members.failed + members.running + members.succeeded >= minimum:
        return "Failed"
    if members.scheduled < minimum:
        return "Scheduling"
    return "Running" if members.succeeded + members.running >= minimum else "Scheduled"


def _is_expired(group: GangPodGroup) -> bool:
    status = group.status
    if status.running or status.scheduled != group.spec.min_member or not status.schedule_start_time:
        return False
    try:
        begun, made = unix_seconds(status.schedule_start_time), unix_seconds(group.metadata.creation_timestamp)
    except ValueError:
        return False  # the field is not a time
    return begun - made > _EXPIRED_SECONDS
