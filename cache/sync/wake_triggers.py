"""Wake triggers: which changes of the cluster let a scheduler at rest decide something new.

Two kinds: new work (a pod that can be placed, a pod group that can be admitted) and new room (what may serve work that
waits already). Everything else waits for the next periodic cycle: heartbeats, measurements, what the scheduler itself
writes (binds, conditions, phases, amounts in use), and the members of a gang that is still short of its minimum.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.ids import TaskId

__all__ = ["Trigger", "trigger_of"]


class Trigger(Enum):
    """What a change may let a cycle decide."""

    NEW_WORK = "new work"
    NEW_ROOM = "new room"
    """Of use only while work waits."""


def trigger_of(kind: str, old: Any, new: Any, state: ClusterState) -> Trigger | None:
    """Return what a change may let a cycle decide; None where it can wait.

    Args:
        kind: The changed object's.
        old: The object before; None where it is new.
        new: The object after; None where it is gone.
        state: What is known, with the change in it.
    """
    rule = _RULES.get(kind)
    return None if rule is None else rule(old, new, state)


def _pod(old: wire.Pod | None, new: wire.Pod | None, state: ClusterState) -> Trigger | None:
    if new is None:
        return Trigger.NEW_ROOM
    if new.spec.node_name or _has_ended(new):
        return Trigger.NEW_ROOM if old is not None and _frees_room(old, new) else None
    if old is not None and _asks_the_same(old, new):
        return Trigger.NEW_ROOM if _begins_to_leave(old, new) else None
    task = TaskId(new.metadata.uid)
    # Preparations of a bind write annotations into pods that are assumed.
    return Trigger.NEW_WORK if task not in state.assumed() and state.is_complete_with(task) else None


def _has_ended(pod: wire.Pod) -> bool:
    return pod.status.phase in {"Succeeded", "Failed"}


def _begins_to_leave(old: wire.Pod, new: wire.Pod) -> bool:
    return bool(new.metadata.deletion_timestamp) and not old.metadata.deletion_timestamp


def _asks_the_same(old: wire.Pod, new: wire.Pod) -> bool:
    return (
        old.spec == new.spec
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
    )


def _frees_room(old: wire.Pod, new: wire.Pod) -> bool:
    """Return whether a pod that has a node, or had one, may take less room than before."""
    if _has_ended(old):
        return False
    if _has_ended(new) or _begins_to_leave(old, new):
        return True
    if not old.spec.node_name:  # a bind
        return False
    return old.metadata.labels != new.metadata.labels or old.spec != new.spec or _allotted(old) != _allotted(new)


def _allotted(pod: wire.Pod) -> tuple[Any, ...]:
    """Return the amounts that a resize in place changes."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    containers = [(each.name, each.resources, each.allocated_resources) for each in statuses]
    return containers, pod.status.resources, pod.status.allocated_resources


def _node(old: wire.Node | None, new: wire.Node | None, _state: ClusterState) -> Trigger | None:
    """Annotations, images and volumes of nodes change with every agent's report."""
    if new is None or (old is not None and _offers(old) == _offers(new)):
        return None
    return Trigger.NEW_ROOM


def _offers(node: wire.Node) -> tuple[Any, ...]:
    conditions = [(each.type, each.status) for each in node.status.conditions]
    return node.metadata.labels, node.spec, node.status.allocatable, node.status.capacity, conditions


def _pod_group(old: wire.PodGroup | None, new: wire.PodGroup | None, _state: ClusterState) -> Trigger | None:
    """The scheduler itself writes status and annotations."""
    if new is None:
        return Trigger.NEW_ROOM
    is_same = old is not None and old.spec == new.spec and old.metadata.labels == new.metadata.labels
    return None if is_same else Trigger.NEW_WORK


def _queue(old: wire.Queue | None, new: wire.Queue | None, _state: ClusterState) -> Trigger | None:
    """The scheduler itself writes allocated amounts into the status."""
    if old is None or new is None:
        return Trigger.NEW_ROOM
    is_same = (
        old.spec == new.spec
        and old.status.state == new.status.state
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
    )
    return None if is_same else Trigger.NEW_ROOM


def _whole(old: Any, new: Any, _state: ClusterState) -> Trigger | None:
    """Compare everything but identity, versions and annotations."""
    return None if old is not None and new is not None and _content(old) == _content(new) else Trigger.NEW_ROOM


def _content(each: Any) -> tuple[Any, ...]:
    fields = (getattr(each, name) for name in each.__struct_fields__ if name != "metadata")
    return each.metadata.labels, *fields


def _spec(old: Any, new: Any, _state: ClusterState) -> Trigger | None:
    """Compare labels and specification: the status is the scheduler's own, or an agent's report."""
    if old is None or new is None or old.spec != new.spec or old.metadata.labels != new.metadata.labels:
        return Trigger.NEW_ROOM
    return None


_RULES: Final[Mapping[str, Callable[[Any, Any, ClusterState], Trigger | None]]] = {
    "Pod": _pod,
    "Node": _node,
    "PodGroup": _pod_group,
    "GangPodGroup": _pod_group,
    "Queue": _queue,
    "Namespace": _whole,
    "ResourceQuota": _whole,
    "PodDisruptionBudget": _whole,
    "PersistentVolumeClaim": _whole,
    "PersistentVolume": _whole,
    "StorageClass": _whole,
    "CSINode": _whole,
    "CSIDriver": _whole,
    "CSIStorageCapacity": _whole,
    "PriorityClass": _whole,
    "ResourceClaim": _whole,
    "ResourceSlice": _whole,
    "DeviceClass": _whole,
    "HyperNode": _spec,
    "NodeShard": _spec,
    "Numatopology": _spec,
    "ElasticQuota": _spec,
    "Device": _spec,
    "ConfigMap": _whole,
}
"""Kinds that are not here are reports and measurements, or change with every pod."""
