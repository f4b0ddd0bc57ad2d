"""Wake triggers: which changes start a cycle before the next periodic one."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.event_handlers import EventHandlers
from pyroclast.cache.sync.wake_triggers import Trigger
from pyroclast.model import wire
from tests.unit.cache.builders import bind_plan, eviction_plan, group, node, pod, queue


class Cluster:
    """A cluster state, and the triggers of each change."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self._triggers: list[Trigger] = []
        self.namespaces: list[str] = []
        """Namespaces of the waiting work that the triggers of the last change are about; or nothing."""

    def __call__(self, kind: str, new: Any, *, old: Any = None) -> list[Trigger]:
        """Make one change, and return its triggers."""
        self._triggers.clear()
        handlers = EventHandlers(kind, self.state, self._note)
        if old is None:
            handlers.added(new)
        else:
            handlers.updated(old, new)
        return list(self._triggers)

    def deleted(self, kind: str, old: Any) -> list[Trigger]:
        """Delete an object, and return the triggers."""
        self._triggers.clear()
        EventHandlers(kind, self.state, self._note).deleted(old)
        return list(self._triggers)

    def _note(self, trigger: Trigger, namespace: str) -> None:
        self._triggers.append(trigger)
        self.namespaces = [namespace]


WORK, CAPACITY, NOTHING = [Trigger.NEW_WORK], [Trigger.NEW_CAPACITY], list[Trigger]()


@pytest.fixture
def cluster() -> Cluster:
    """One node, one queue, a group of one and a group of two."""
    made = Cluster()
    for kind, each in (
        ("Queue", queue()),
        ("Node", node()),
        ("PodGroup", group("one", minimum=1)),
        ("PodGroup", group("two", minimum=2)),
    ):
        made(kind, each)
    return made


def test_a_pod_that_can_start_is_new_work(cluster: Cluster) -> None:
    """Its group has as many pods as it needs."""
    assert cluster("Pod", pod("a", group="one", cpu="1")) == WORK


def test_a_gang_is_new_work_once_it_has_its_minimum(cluster: Cluster) -> None:
    """A gang with fewer pods cannot be placed."""
    assert cluster("Pod", pod("a", group="two", cpu="1")) == NOTHING
    assert cluster("Pod", pod("b", group="two", cpu="1")) == WORK


def test_a_pod_without_its_group_triggers_nothing(cluster: Cluster) -> None:
    """The group that is created later is new work."""
    assert cluster("Pod", pod("a", group="late", cpu="1")) == NOTHING
    assert cluster("PodGroup", group("late", minimum=1)) == WORK


def test_pending_pods_of_other_schedulers_trigger_nothing(cluster: Cluster) -> None:
    """Neither their creation nor their deletion is a trigger."""
    foreign = pod("a", scheduler="default-scheduler", cpu="1")

    assert cluster("Pod", foreign) == NOTHING
    assert cluster.deleted("Pod", foreign) == NOTHING


def test_the_end_of_a_pod_of_another_scheduler_is_new_capacity(cluster: Cluster) -> None:
    """It used resources of a node."""
    running = pod("a", scheduler="default-scheduler", node="n1", phase="Running", cpu="1")
    ended = pod("a", scheduler="default-scheduler", node="n1", phase="Succeeded", cpu="1")

    assert cluster("Pod", running) == NOTHING
    assert cluster("Pod", ended, old=running) == CAPACITY


def test_the_removal_of_the_last_scheduling_gate_is_new_work(cluster: Cluster) -> None:
    """The spec of the pod changes."""
    gated, free = pod("a", group="one", gates="hold"), pod("a", group="one")
    cluster("Pod", gated)

    assert cluster("Pod", free, old=gated) == WORK


@pytest.mark.parametrize(
    "written",
    [
        wire.PodStatus(phase="Pending", conditions=(wire.Condition(type="PodScheduled", status="False"),)),
        wire.PodStatus(phase="Pending", nominated_node_name="n1"),
    ],
    ids=("condition", "nomination"),
)
def test_status_updates_of_a_waiting_pod_trigger_nothing(cluster: Cluster, written: wire.PodStatus) -> None:
    """Otherwise each cycle would start the next one."""
    waiting = pod("a", group="one", cpu="1")
    cluster("Pod", waiting)

    assert cluster("Pod", msgspec.structs.replace(waiting, status=written), old=waiting) == NOTHING


def test_the_scheduler_s_own_bind_triggers_nothing(cluster: Cluster) -> None:
    """Neither the annotations before the bind nor the node nor the start of the pod is a trigger."""
    waiting = pod("a", group="one", cpu="1")
    cluster("Pod", waiting)
    assert not cluster.state.assume(bind_plan(("a", "n1")), 0.0)
    prepared = pod("a", group="one", cpu="1", annotations={"device": "0"})
    bound = pod("a", group="one", cpu="1", annotations={"device": "0"}, node="n1")
    running = pod("a", group="one", cpu="1", annotations={"device": "0"}, node="n1", phase="Running")

    assert cluster("Pod", prepared, old=waiting) == NOTHING
    assert cluster("Pod", bound, old=prepared) == NOTHING
    assert cluster("Pod", running, old=bound) == NOTHING


@pytest.mark.parametrize(
    "change",
    [
        lambda: pod("a", group="one", node="n1", phase="Running", cpu="2", leaving=True),
        lambda: pod("a", group="one", node="n1", phase="Failed", cpu="2"),
        lambda: pod("a", group="one", node="n1", phase="Running", cpu="1"),
    ],
    ids=("leaving", "failed", "smaller"),
)
def test_a_running_pod_that_uses_less_is_new_capacity(cluster: Cluster, change: Callable[[], wire.Pod]) -> None:
    """It terminates, finishes, or is resized in place."""
    running = pod("a", group="one", node="n1", phase="Running", cpu="2")
    cluster("Pod", running)

    assert cluster("Pod", change(), old=running) == CAPACITY


def test_a_deleted_pod_is_new_capacity(cluster: Cluster) -> None:
    """It frees resources of its node and of its queue."""
    running = pod("a", group="one", node="n1", phase="Running", cpu="2")
    cluster("Pod", running)

    assert cluster.deleted("Pod", running) == CAPACITY


def test_heartbeats_trigger_nothing(cluster: Cluster) -> None:
    """Each node sends them every ten seconds. They change versions and times."""
    first, second = (
        msgspec.structs.replace(node(), metadata=wire.ObjectMeta(name="n1", uid="n1", resource_version=version))
        for version in ("7", "8")
    )
    cluster("Node", first)

    assert cluster("Node", second, old=first) == NOTHING


def test_reports_of_agents_in_annotations_of_nodes_trigger_nothing(cluster: Cluster) -> None:
    """The next periodic cycle reads them."""
    known = node()
    metadata = msgspec.structs.replace(known.metadata, annotations={"load": "0.3"})

    assert cluster("Node", msgspec.structs.replace(known, metadata=metadata), old=known) == NOTHING


def test_new_or_changed_nodes_are_new_capacity(cluster: Cluster) -> None:
    """They have new amounts, labels or taints."""
    assert cluster("Node", node("n2")) == CAPACITY
    assert cluster("Node", node("n2", cpu="8"), old=node("n2")) == CAPACITY
    assert cluster("Node", node("n2", labels={"zone": "a"}), old=node("n2")) == CAPACITY


def test_status_updates_of_groups_trigger_nothing(cluster: Cluster) -> None:
    """The scheduler writes phase, conditions and annotations."""
    known = group("one", minimum=1)
    written = group("one", minimum=1, phase="Inqueue", annotations={"topology": "rack-1"})

    assert cluster("PodGroup", written, old=known) == NOTHING
    assert cluster("PodGroup", group("one", minimum=3), old=written) == WORK


def test_allocated_amounts_of_queues_trigger_nothing(cluster: Cluster) -> None:
    """The scheduler writes these amounts. Limits and states are triggers."""
    known = queue()
    written = msgspec.structs.replace(known, status=wire.QueueStatus(allocated={"cpu": "1"}))

    assert cluster("Queue", written, old=known) == NOTHING
    assert cluster("Queue", queue(weight=3), old=written) == CAPACITY
    assert cluster("Queue", queue(state="Closed"), old=queue(state="Open")) == CAPACITY


def test_an_eviction_triggers_once(cluster: Cluster) -> None:
    """The deletion timestamp is new capacity. Later updates of the kubelet are not."""
    running = pod("a", group="one", node="n1", phase="Running", cpu="2")
    cluster("Pod", running)
    assert not cluster.state.assume(eviction_plan("a", "n1"), 0.0)
    leaving = pod("a", group="one", node="n1", phase="Running", cpu="2", leaving=True)
    reported = msgspec.structs.replace(leaving, status=wire.PodStatus(phase="Running", reason="Evicted"))

    assert cluster("Pod", leaving, old=running) == CAPACITY
    assert cluster("Pod", reported, old=leaving) == NOTHING


def test_measurements_and_workloads_trigger_nothing(cluster: Cluster) -> None:
    """They change with every pod and every minute."""
    measured = wire.NodeMetric(metadata=wire.ObjectMeta(name="n1"))
    replicas = wire.ReplicaSet(metadata=wire.ObjectMeta(name="web", namespace="ns"))

    assert cluster("NodeMetric", measured) == NOTHING
    assert cluster("ReplicaSet", replicas) == NOTHING


def test_volumes_and_budgets_are_new_capacity(cluster: Cluster) -> None:
    """Pods may wait for them."""
    claim = wire.PersistentVolumeClaim(metadata=wire.ObjectMeta(name="data", namespace="ns"))
    annotated = msgspec.structs.replace(
        claim, metadata=wire.ObjectMeta(name="data", namespace="ns", annotations={"selected-node": "n1"})
    )

    assert cluster("PersistentVolumeClaim", claim) == CAPACITY
    assert cluster("PersistentVolumeClaim", annotated, old=claim) == NOTHING


def test_topologies_of_nodes(cluster: Cluster) -> None:
    """CPUs that pods share change with every pod; what decides about CPUs of pods' own is new capacity."""

    def topology(**annotations: str) -> wire.NodeResourceTopology:
        named = {f"node.koordinator.sh/{key.replace('_', '-')}": text for key, text in annotations.items()}
        return wire.NodeResourceTopology(metadata=wire.ObjectMeta(name="n1", annotations=named))

    first, shared = topology(), topology(cpu_shared_pools="[]")
    assert cluster("NodeResourceTopology", first) == CAPACITY
    assert cluster("NodeResourceTopology", shared, old=first) == NOTHING
    assert cluster("NodeResourceTopology", topology(reservation="{}"), old=shared) == CAPACITY


def test_triggers_name_the_namespace_of_waiting_work(cluster: Cluster) -> None:
    """Pods without nodes and groups wait; a pod on a node and a new node may serve others."""
    waiting = pod("a", group="one", cpu="1")
    cluster("Pod", waiting)
    assert cluster.namespaces == ["ns"]

    cluster.deleted("Pod", waiting)
    assert cluster.namespaces == ["ns"]

    bound = pod("b", group="one", cpu="1", node="n1")
    cluster("Pod", bound)
    cluster.deleted("Pod", bound)
    assert cluster.namespaces == [""]

    cluster("Node", node("n9"))
    assert cluster.namespaces == [""]
