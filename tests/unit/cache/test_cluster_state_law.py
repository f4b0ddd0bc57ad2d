"""Law of the cluster state: after any events in any order it equals a rebuild from its objects."""

from typing import Any

import hypothesis.strategies as st
import msgspec
from hypothesis import given, settings

from pyroclast.cache.files.audit import differences
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.node_selector import NodeFilter
from pyroclast.model import wire
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Bind, Eviction, Plan

NODES = (NodeName("n1"), NodeName("n2"), NodeName("n3"))
JOBS = ("a", "b")
AMOUNTS: tuple[dict[str, str], ...] = (
    {"cpu": "1"},
    {"cpu": "500m", "memory": "1Gi"},
    {"nvidia.com/gpu": "500m"},
    {"example.com/x": "2"},
    {},
)
AFFINITY = wire.Affinity(pod_anti_affinity=wire.PodAffinity())
VERSIONS = iter(range(1, 10**9))


@st.composite
def pods(draw: st.DrawFn) -> wire.Pod:
    """Any pod of a small cluster, in any state."""
    name = draw(st.sampled_from(("p1", "p2", "p3", "p4")))
    group = draw(st.sampled_from((*JOBS, *JOBS, "")))
    phase = draw(st.sampled_from(("Pending", "Pending", "Running", "Succeeded", "Failed", "Unknown")))
    node = draw(st.sampled_from((*NODES, "")))
    request = draw(st.sampled_from((*AMOUNTS, {"cpu": "broken"})))
    gates = draw(st.sampled_from(((), (), (), ("scheduling.volcano.sh/queue-allocation-gate",), ("other",))))
    volumes = (wire.Volume(name="v", persistent_volume_claim=wire.PersistentVolumeClaimVolumeSource(claim_name="c")),)
    return wire.Pod(
        metadata=wire.ObjectMeta(
            name=name,
            namespace="ns",
            uid=name + draw(st.sampled_from(("", "-again"))),
            resource_version=str(next(VERSIONS)),
            deletion_timestamp=draw(st.sampled_from(("", "", "", "2026-01-01T00:00:00Z"))),
            annotations={"scheduling.k8s.io/group-name": group} if group else {},
        ),
        spec=wire.PodSpec(
            scheduler_name=draw(st.sampled_from(("volcano", "volcano", "other"))),
            node_name=node,
            containers=(wire.Container(name="c", resources=wire.ResourceRequirements(requests=request)),),
            scheduling_gates=tuple(wire.PodSchedulingGate(name=gate) for gate in gates),
            affinity=draw(st.sampled_from((None, AFFINITY))),
            volumes=draw(st.sampled_from(((), volumes))),
        ),
        status=wire.PodStatus(phase=phase),
    )


@st.composite
def nodes(draw: st.DrawFn) -> wire.Node:
    """A node, sometimes one that the selector does not match."""
    return wire.Node(
        metadata=wire.ObjectMeta(
            name=draw(st.sampled_from(NODES)), uid="n", labels=draw(st.sampled_from(({"use": "yes"}, {})))
        ),
        status=wire.NodeStatus(
            allocatable=draw(st.sampled_from(({"cpu": "4", "pods": "10"}, {"cpu": "1500m", "example.com/y": "1"})))
        ),
    )


@st.composite
def groups(draw: st.DrawFn) -> wire.PodGroup:
    """A group, sometimes a broken one."""
    return wire.PodGroup(
        metadata=wire.ObjectMeta(name=draw(st.sampled_from(JOBS)), namespace="ns", uid="g"),
        spec=wire.PodGroupSpec(
            min_member=draw(st.integers(0, 3)),
            queue=draw(st.sampled_from(("q1", "q2", ""))),
            min_resources=draw(st.sampled_from((None, {"cpu": "1"}, {"example.com/z": "1"}, {"cpu": "-1"}))),
            priority_class_name=draw(st.sampled_from(("", "high"))),
        ),
        status=wire.PodGroupStatus(phase=draw(st.sampled_from(("", "Inqueue", "Running")))),
    )


OTHERS: tuple[tuple[str, Any], ...] = (
    *(("Queue", wire.Queue(metadata=wire.ObjectMeta(name=name))) for name in ("q1", "q2", "default")),
    ("PriorityClass", wire.PriorityClass(metadata=wire.ObjectMeta(name="high"), value=7)),
    ("PriorityClass", wire.PriorityClass(metadata=wire.ObjectMeta(name="base"), value=3, global_default=True)),
    (
        "PersistentVolumeClaim",
        wire.PersistentVolumeClaim(
            metadata=wire.ObjectMeta(name="c", namespace="ns"),
            spec=wire.PersistentVolumeClaimSpec(storage_class_name="fast"),
        ),
    ),
    ("StorageClass", wire.StorageClass(metadata=wire.ObjectMeta(name="fast"), provisioner="disk.example.com")),
    (
        "CSINode",
        wire.CSINode(
            metadata=wire.ObjectMeta(name="n1"),
            spec=wire.CSINodeSpec(drivers=(wire.CSINodeDriver(name="disk.example.com"),)),
        ),
    ),
    (
        "Device",
        wire.KoordinatorDevice(
            metadata=wire.ObjectMeta(name="n1"),
            spec=wire.KoordinatorDeviceSpec(devices=(wire.KoordinatorDeviceInfo(type="gpu", minor=0, health=True),)),
        ),
    ),
    (
        "NodeResourceTopology",
        wire.NodeResourceTopology(
            metadata=wire.ObjectMeta(name="n1"),
            zones=(wire.TopologyZone(name="node-0", type="Node"),),
        ),
    ),
    (
        "NodeShard",
        wire.NodeShard(metadata=wire.ObjectMeta(name="volcano"), spec=wire.NodeShardSpec(nodes_desired=("n1",))),
    ),
)


START: tuple[tuple[str, Any], ...] = (
    *OTHERS,
    *(("PodGroup", wire.PodGroup(metadata=wire.ObjectMeta(name=name, namespace="ns", uid="g"))) for name in JOBS),
    *(
        (
            "Node",
            wire.Node(
                metadata=wire.ObjectMeta(name=name, uid="n", labels={"use": "yes"}),
                status=wire.NodeStatus(allocatable={"cpu": "4", "memory": "4Gi", "nvidia.com/gpu": "2", "pods": "10"}),
            ),
        )
        for name in NODES
    ),
)
"""A valid cluster, so that most changes have an effect."""


def binds(state: ClusterState) -> st.SearchStrategy[Plan]:
    """A valid or invalid plan that binds or evicts a known task."""
    tasks = sorted(task for task in (TaskId("p1"), TaskId("p2"), TaskId("p3"), TaskId("p4")) if state.task(task))
    return st.builds(
        lambda task, node, leaves: plan_for(state, task, node, leaves=leaves),
        st.sampled_from(tasks or [TaskId("p1")]),
        st.sampled_from(NODES),
        st.booleans(),
    )


def plan_for(state: ClusterState, task: str, node: str, *, leaves: bool) -> Plan:
    """Bind the task to the node, or evict it from its node."""
    known = state.task(TaskId(task))
    common: dict[str, Any] = {"task": TaskId(task), "job": JobId("ns/a"), "namespace": "ns", "name": task}
    if leaves:
        at = known.node if known is not None and known.node is not None else NodeName(node)
        evictions = (Eviction(**common, node=at, reason="preempt"),)
        return Plan(number=0, cycle=0, configuration=0, action="preempt", job=None, queue=None, evictions=evictions)
    bound = (Bind(**common, node=NodeName(node), annotations={"decided": node}),)
    return Plan(number=0, cycle=0, configuration=0, action="allocate", job=None, queue=None, binds=bound)


def step(state: ClusterState, data: st.DataObject, now: float) -> None:
    """Make one random change."""
    match data.draw(st.integers(0, 8)):
        case 0 | 1 | 2:
            state.apply("Pod", data.draw(pods()))
        case 3:
            state.apply("Node", data.draw(nodes()))
        case 4:
            state.apply("PodGroup", data.draw(groups()))
        case 5:
            kind, each = data.draw(st.sampled_from(OTHERS))
            state.apply(kind, each)
        case 6:
            state.assume(data.draw(binds(state)), now)
        case 7:
            kind, each = data.draw(
                st.one_of(
                    st.sampled_from(OTHERS),
                    st.tuples(st.just("Pod"), pods()),
                    st.tuples(st.just("Node"), nodes()),
                    st.tuples(st.just("PodGroup"), groups()),
                )
            )
            state.remove(kind, each)
        case _:
            for task in state.overdue(now)[:1]:
                node = data.draw(st.sampled_from((*NODES, None, state.assumed()[task].node)))
                state.forget(task, node, failed=data.draw(st.booleans()))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), ungrouped=st.sampled_from(("wait", "single")))
def test_the_running_state_equals_a_rebuild_after_any_events(data: st.DataObject, ungrouped: str) -> None:
    """Objects and plans change in any order, and a rebuild equals the running state."""
    options = StateOptions(
        ungrouped_pods=ungrouped,
        node_selector=NodeFilter.parse(["use:yes"]),
        shard_mode="soft",
        assume_seconds=2.0,
    )
    state = ClusterState(options)
    for kind, each in START:
        state.apply(kind, each)
    for now in range(data.draw(st.integers(1, 25))):
        step(state, data, float(now))
        if data.draw(st.booleans()):
            state.snapshot()

    running = state.snapshot()

    assert differences(running, state.rebuild().snapshot()) == []
    assert state.snapshot() is running


@settings(max_examples=50, deadline=None)
@given(objects=st.lists(st.one_of(pods(), groups(), nodes()), max_size=15), order=st.randoms(use_true_random=False))
def test_the_order_of_events_does_not_matter(objects: list[Any], order: Any) -> None:
    """Equal last versions of all objects give equal snapshots."""
    latest = {(type(each).__name__, each.metadata.key): each for each in objects}
    everything = [(kind, each) for (kind, _), each in latest.items()] + list(OTHERS)
    shuffled = everything.copy()
    order.shuffle(shuffled)

    one, other = ClusterState(), ClusterState()
    for kind, each in everything:
        one.apply(kind, each)
    for kind, each in shuffled:
        other.apply(kind, each)

    assert differences(one.snapshot(), other.snapshot()) == []


def test_differences_are_found_and_reported() -> None:
    """The audit reports a pod that the running state does not contain."""
    state = ClusterState()
    for kind, each in OTHERS:
        state.apply(kind, each)
    group = wire.PodGroup(metadata=wire.ObjectMeta(name="a", namespace="ns"), spec=wire.PodGroupSpec(queue="q1"))
    state.apply("PodGroup", group)
    other = state.rebuild()
    state.apply("PodGroup", msgspec.structs.replace(group, spec=wire.PodGroupSpec(queue="q1", min_member=5)))

    found = differences(state.snapshot(), other.snapshot())

    assert len(found) == 1
    assert found[0].startswith("jobs ns/a: ")
