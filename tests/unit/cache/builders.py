"""Builders of objects for the tests of the cache."""

from typing import Any

from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Bind, Eviction, Plan
from pyroclast.model.tasks import Task

GROUP = "scheduling.k8s.io/group-name"


def pod(
    name: str,
    *,
    group: str = "",
    node: str = "",
    phase: str = "Pending",
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    leaving: bool = False,
    uid: str = "",
    owner: str = "",
    reason: str = "",
    volumes: tuple[wire.Volume, ...] = (),
    **requests: str,
) -> wire.Pod:
    """A pod of namespace `ns` for the scheduler `volcano`; its UID is its name."""
    scheduler = requests.pop("scheduler", "volcano")
    gates = tuple(wire.PodSchedulingGate(name=gate) for gate in requests.pop("gates", "").split())
    return wire.Pod(
        metadata=wire.ObjectMeta(
            name=name,
            namespace="ns",
            uid=uid or name,
            annotations={**({GROUP: group} if group else {}), **(annotations or {})},
            labels=labels or {},
            deletion_timestamp="2026-01-01T00:00:00Z" if leaving else "",
            owner_references=(wire.OwnerReference(name=owner),) if owner else (),
        ),
        spec=wire.PodSpec(
            scheduler_name=scheduler,
            node_name=node,
            containers=(wire.Container(name="c", resources=wire.ResourceRequirements(requests=requests)),),
            scheduling_gates=gates,
            volumes=volumes,
        ),
        status=wire.PodStatus(phase=phase, reason=reason),
    )


def node(name: str = "n1", *, labels: dict[str, str] | None = None, **allocatable: str) -> wire.Node:
    """A node of 4 CPU and 10 pods by default."""
    return wire.Node(
        metadata=wire.ObjectMeta(name=name, uid=name, labels=labels or {}),
        status=wire.NodeStatus(allocatable=allocatable or {"cpu": "4", "memory": "8Gi", "pods": "10"}),
    )


def group(name: str, *, queue: str = "q", minimum: int = 0, uid: str = "", **spec: Any) -> wire.PodGroup:
    """A group of namespace `ns`."""
    phase = spec.pop("phase", "")
    annotations = spec.pop("annotations", {})
    return wire.PodGroup(
        metadata=wire.ObjectMeta(name=name, namespace="ns", uid=uid or name, annotations=annotations),
        spec=wire.PodGroupSpec(queue=queue, min_member=minimum, **spec),
        status=wire.PodGroupStatus(phase=phase),
    )


def queue(name: str = "q", *, state: str = "", **spec: Any) -> wire.Queue:
    """A queue."""
    return wire.Queue(
        metadata=wire.ObjectMeta(name=name, uid=name),
        spec=wire.QueueSpec(**spec),
        status=wire.QueueStatus(state=state),
    )


def filled(cluster_state: ClusterState, *objects: Any) -> ClusterState:
    """Apply objects to a cluster state."""
    for each in objects:
        cluster_state.apply(type(each).__name__, each)
    return cluster_state


def task(cluster_state: ClusterState, uid: str) -> Task:
    """Return a task that must exist."""
    found = cluster_state.task(TaskId(uid))
    assert found is not None
    return found


def used(cluster_state: ClusterState, name: str = "n1") -> dict[str, int]:
    """Return the used amounts of a node."""
    snapshot = cluster_state.snapshot()
    table = snapshot.nodes
    return snapshot.resources.amounts(table.state[table.rows.used, table.column[NodeName(name)]])


def bind_plan(*binds: tuple[str, str], annotations: dict[str, str] | None = None) -> Plan:
    """A plan that binds pods to nodes."""
    made = tuple(
        Bind(
            task=TaskId(name),
            job=JobId("ns/g"),
            namespace="ns",
            name=name,
            node=NodeName(node_name),
            annotations=annotations or {},
        )
        for name, node_name in binds
    )
    return Plan(number=0, cycle=1, configuration=1, action="allocate", job=JobId("ns/g"), queue=None, binds=made)


def eviction_plan(name: str, node_name: str) -> Plan:
    """A plan that evicts a pod."""
    eviction = Eviction(
        task=TaskId(name), job=JobId("ns/g"), namespace="ns", name=name, node=NodeName(node_name), reason="preempt"
    )
    return Plan(number=0, cycle=1, configuration=1, action="preempt", job=None, queue=None, evictions=(eviction,))
