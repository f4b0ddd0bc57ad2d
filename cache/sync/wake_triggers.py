"""Wake triggers: which changes of the cluster start a cycle before the next periodic one.

New work is a pod that can be placed or a pod group that can be admitted. New capacity may serve work that waits
already. Other changes do not start a cycle: heartbeats, measurements, changes that the scheduler itself writes (binds,
conditions, phases, amounts in use), and members of a gang that has fewer pods than its minimum.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.nodenuma.names import DECISIVE

__all__ = ["OnTrigger", "Trigger", "trigger_of", "waiting_namespace"]

_GROUP_KINDS: Final = frozenset({"PodGroup", "GangPodGroup", "NativePodGroup"})


class Trigger(Enum):
    """What a change offers to the next cycle."""

    NEW_WORK = "new work"
    NEW_CAPACITY = "new capacity"
    """Starts a cycle only while work waits."""


OnTrigger = Callable[[Trigger, str], None]
"""Receives the trigger of a change, and the namespace of the waiting work that it is about, or nothing."""


def waiting_namespace(kind: str, old: Any, new: Any) -> str:
    """Return the namespace of a pod without a node or of a group of pods; empty for other objects."""
    either = old if new is None else new
    if kind == "Pod":
        has_node = either.spec.node_name or (old is not None and old.spec.node_name)
        return "" if has_node else str(either.metadata.namespace)
    return str(either.metadata.namespace) if kind in _GROUP_KINDS else ""


def trigger_of(kind: str, old: Any, new: Any, state: ClusterState) -> Trigger | None:
    """Return the trigger of a change; None if the change can wait for the next periodic cycle.

    Args:
        kind: The kind of the changed object.
        old: The object before the change; None if it is new.
        new: The object after the change; None if it is deleted.
        state: The cluster state after the change.
    """
    rule = _RULES.get(kind)
    return None if rule is None else rule(old, new, state)


def _pod(old: wire.Pod | None, new: wire.Pod | None, state: ClusterState) -> Trigger | None:
    if new is None:
        return Trigger.NEW_CAPACITY
    if new.spec.node_name or _has_ended(new):
        return Trigger.NEW_CAPACITY if old is not None and _frees_capacity(old, new) else None
    if old is not None and _is_same_request(old, new):
        return Trigger.NEW_CAPACITY if _begins_to_terminate(old, new) else None
    task = TaskId(new.metadata.uid)
    # Preparations of a bind write annotations of assumed pods.
    return Trigger.NEW_WORK if task not in state.assumed() and state.is_complete_with(task) else None


def _has_ended(pod: wire.Pod) -> bool:
    return pod.status.phase in {"Succeeded", "Failed"}


def _begins_to_terminate(old: wire.Pod, new: wire.Pod) -> bool:
    return bool(new.metadata.deletion_timestamp) and not old.metadata.deletion_timestamp


def _is_same_request(old: wire.Pod, new: wire.Pod) -> bool:
    return (
        old.spec == new.spec
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
    )


def _frees_capacity(old: wire.Pod, new: wire.Pod) -> bool:
    """Return whether a pod that has or had a node may use less than before."""
    if _has_ended(old):
        return False
    if _has_ended(new) or _begins_to_terminate(old, new):
        return True
    if not old.spec.node_name:  # a bind
        return False
    return (
        old.metadata.labels != new.metadata.labels
        or old.spec != new.spec
        or _resized_amounts(old) != _resized_amounts(new)
    )


def _resized_amounts(pod: wire.Pod) -> tuple[Any, ...]:
    """Return the amounts that an in-place resize changes."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    containers = [(each.name, each.resources, each.allocated_resources) for each in statuses]
    return containers, pod.status.resources, pod.status.allocated_resources


def _node(old: wire.Node | None, new: wire.Node | None, _state: ClusterState) -> Trigger | None:
    """Ignore annotations, images and volumes, which agents on the nodes report often."""
    if new is None or (old is not None and _offers(old) == _offers(new)):
        return None
    return Trigger.NEW_CAPACITY


def _offers(node: wire.Node) -> tuple[Any, ...]:
    conditions = [(each.type, each.status) for each in node.status.conditions]
    return node.metadata.labels, node.spec, node.status.allocatable, node.status.capacity, conditions


def _pod_group(old: wire.PodGroup | None, new: wire.PodGroup | None, _state: ClusterState) -> Trigger | None:
    """Ignore status and annotations, which the scheduler itself writes."""
    if new is None:
        return Trigger.NEW_CAPACITY
    is_same = old is not None and old.spec == new.spec and old.metadata.labels == new.metadata.labels
    return None if is_same else Trigger.NEW_WORK


def _queue(old: wire.Queue | None, new: wire.Queue | None, _state: ClusterState) -> Trigger | None:
    """Ignore the allocated amounts in the status, which the scheduler itself writes."""
    if old is None or new is None:
        return Trigger.NEW_CAPACITY
    is_same = (
        old.spec == new.spec
        and old.status.state == new.status.state
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
    )
    return None if is_same else Trigger.NEW_CAPACITY


def _any_change(old: Any, new: Any, _state: ClusterState) -> Trigger | None:
    """Compare everything except the metadata, of which only the labels count."""
    return None if old is not None and new is not None and _content(old) == _content(new) else Trigger.NEW_CAPACITY


def _content(each: Any) -> tuple[Any, ...]:
    fields = (getattr(each, name) for name in each.__struct_fields__ if name != "metadata")
    return each.metadata.labels, *fields


def _spec_change(old: Any, new: Any, _state: ClusterState) -> Trigger | None:
    """Compare labels and spec, since the scheduler itself or an agent writes the status."""
    if old is None or new is None or old.spec != new.spec or old.metadata.labels != new.metadata.labels:
        return Trigger.NEW_CAPACITY
    return None


def _topology(
    old: wire.NodeResourceTopology | None, new: wire.NodeResourceTopology | None, _state: ClusterState
) -> Trigger | None:
    """Ignore other annotations: the agent writes its shared pools of CPUs there, which change with every pod."""
    if old is not None and new is not None and _decisive(old) == _decisive(new):
        return None
    return Trigger.NEW_CAPACITY


def _decisive(topology: wire.NodeResourceTopology) -> tuple[Any, ...]:
    annotations = tuple(map(topology.metadata.annotations.get, DECISIVE))
    return topology.topology_policies, topology.zones, annotations


def _reservation(old: wire.Reservation | None, new: wire.Reservation | None, _state: ClusterState) -> Trigger | None:
    """A new one needs a node; one that becomes Available, or ends, offers capacity. Other changes of status do not."""
    if new is not None and old is None:
        return Trigger.NEW_WORK
    if old is None or new is None or old.status.phase != new.status.phase or old.spec != new.spec:
        return Trigger.NEW_CAPACITY
    return None


_RULES: Final[Mapping[str, Callable[[Any, Any, ClusterState], Trigger | None]]] = {
    "Pod": _pod,
    "Node": _node,
    "PodGroup": _pod_group,
    "GangPodGroup": _pod_group,
    "NativePodGroup": _pod_group,
    "Queue": _queue,
    "Namespace": _any_change,
    "ResourceQuota": _any_change,
    "PodDisruptionBudget": _any_change,
    "PersistentVolumeClaim": _any_change,
    "PersistentVolume": _any_change,
    "StorageClass": _any_change,
    "CSINode": _any_change,
    "CSIDriver": _any_change,
    "CSIStorageCapacity": _any_change,
    "PriorityClass": _any_change,
    "ResourceClaim": _any_change,
    "ResourceSlice": _any_change,
    "DeviceClass": _any_change,
    "HyperNode": _spec_change,
    "NodeShard": _spec_change,
    "Numatopology": _spec_change,
    "ClusterNetworkTopology": _spec_change,
    "NodeResourceTopology": _topology,
    "ElasticQuota": _spec_change,
    "Device": _spec_change,
    "ConfigMap": _any_change,
    "Reservation": _reservation,
}
"""Rules by kind. Other kinds are reports and measurements, or change with every pod."""
