"""Heartbeats: frequent updates of nodes and devices without a change for decisions; they must not start a cycle."""

from pyroclast.model import wire

__all__ = ["is_device_heartbeat", "is_node_heartbeat"]


def is_node_heartbeat(known: wire.Node, new: wire.Node) -> bool:
    """Return whether two versions of a Node differ only in times and resource versions."""
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


def is_device_heartbeat(known: wire.KoordinatorDevice, new: wire.KoordinatorDevice) -> bool:
    """Return whether two versions of a Device differ only in status and resource versions."""
    return (
        known.spec == new.spec
        and known.metadata.labels == new.metadata.labels
        and known.metadata.annotations == new.metadata.annotations
    )


def _undated(conditions: tuple[wire.Condition, ...]) -> list[tuple[str, str, str]]:
    return [(each.type, each.status, each.reason) for each in conditions]
