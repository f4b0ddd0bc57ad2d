"""Heartbeats: updates that say nothing new, which come often and must not wake a scheduler that rests."""

from pyroclast.model import wire

__all__ = ["is_heartbeat", "tells_the_same"]


def is_heartbeat(known: wire.Node, new: wire.Node) -> bool:
    """Tell whether two states of a Node differ in times and versions alone."""
    return (
        known.metadata.uid == new.metadata.uid
        and known.metadata.labels == new.metadata.labels
        and known.metadata.annotations == new.metadata.annotations
        and known.spec == new.spec
        and known.status.allocatable == new.status.allocatable
        and known.status.capacity == new.status.capacity
        and known.status.images == new.status.images
        and known.status.volumes_attached == new.status.volumes_attached
        and known.status.volumes_in_use == new.status.volumes_in_use
        and _undated(known.status.conditions) == _undated(new.status.conditions)
    )


def tells_the_same(known: wire.KoordinatorDevice, new: wire.KoordinatorDevice) -> bool:
    """Tell whether two states of a Device differ in versions and findings alone."""
    return (
        known.spec == new.spec
        and known.metadata.labels == new.metadata.labels
        and known.metadata.annotations == new.metadata.annotations
    )


def _undated(conditions: tuple[wire.Condition, ...]) -> list[tuple[str, str, str]]:
    return [(each.type, each.status, each.reason) for each in conditions]
