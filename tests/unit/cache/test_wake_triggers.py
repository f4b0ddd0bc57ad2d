"""Which changes a scheduler at rest should not leave to the next periodic cycle."""

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
    """Books that are fed, and the triggers of each change."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self._triggers: list[Trigger] = []

    def __call__(self, kind: str, new: Any, *, old: Any = None) -> list[Trigger]:
        """Make one change, and return what it triggers."""
        self._triggers.clear()
        feeder = EventHandlers(kind, self.state, self._triggers.append)
        if old is None:
            feeder.added(new)
        else:
            feeder.updated(old, new)
        return list(self._triggers)

    def gone(self, kind: str, old: Any) -> list[Trigger]:
        """Delete an object, and return what it triggers."""
        self._triggers.clear()
        EventHandlers(kind, self.state, self._triggers.append).deleted(old)
        return list(self._triggers)


WORK, ROOM, NOTHING = [Trigger.NEW_WORK], [Trigger.NEW_ROOM], list[Trigger]()


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
    """Until then there is nothing to decide."""
    assert cluster("Pod", pod("a", group="two", cpu="1")) == NOTHING
    assert cluster("Pod", pod("b", group="two", cpu="1")) == WORK


def test_a_pod_waits_for_its_group(cluster: Cluster) -> None:
    """The group that comes after its pods is the new work."""
    assert cluster("Pod", pod("a", group="late", cpu="1")) == NOTHING
    assert cluster("PodGroup", group("late", minimum=1)) == WORK


def test_pods_of_other_schedulers_are_none_of_ours(cluster: Cluster) -> None:
    """Neither when they come nor when they go."""
    foreign = pod("a", scheduler="default-scheduler", cpu="1")

    assert cluster("Pod", foreign) == NOTHING
    assert cluster.gone("Pod", foreign) == NOTHING


def test_pods_of_other_schedulers_free_room_when_they_end(cluster: Cluster) -> None:
    """What they used on our nodes is new room."""
    running = pod("a", scheduler="default-scheduler", node="n1", phase="Running", cpu="1")
    ended = pod("a", scheduler="default-scheduler", node="n1", phase="Succeeded", cpu="1")

    assert cluster("Pod", running) == NOTHING
    assert cluster("Pod", ended, old=running) == ROOM


def test_the_last_gate_of_a_pod_that_is_lifted_is_new_work(cluster: Cluster) -> None:
    """The specification changed."""
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
def test_what_the_scheduler_writes_into_a_waiting_pod_triggers_nothing(
    cluster: Cluster, written: wire.PodStatus
) -> None:
    """Otherwise each cycle would wake the next."""
    waiting = pod("a", group="one", cpu="1")
    cluster("Pod", waiting)

    assert cluster("Pod", msgspec.structs.replace(waiting, status=written), old=waiting) == NOTHING


def test_the_scheduler_s_own_bind_triggers_nothing(cluster: Cluster) -> None:
    """Neither the annotations that go before it, nor the node, nor the start of the pod."""
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
def test_a_running_pod_that_takes_less_is_new_room(cluster: Cluster, change: Callable[[], wire.Pod]) -> None:
    """It leaves, it ends, or it shrinks in place."""
    running = pod("a", group="one", node="n1", phase="Running", cpu="2")
    cluster("Pod", running)

    assert cluster("Pod", change(), old=running) == ROOM


def test_a_pod_that_is_gone_is_new_room(cluster: Cluster) -> None:
    """Room, and places in gangs and queues."""
    running = pod("a", group="one", node="n1", phase="Running", cpu="2")
    cluster("Pod", running)

    assert cluster.gone("Pod", running) == ROOM


def test_heartbeats_trigger_nothing(cluster: Cluster) -> None:
    """They come every ten seconds from each node, and change versions and times."""
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


def test_nodes_that_come_or_offer_more_are_new_room(cluster: Cluster) -> None:
    """New amounts, labels or taints."""
    assert cluster("Node", node("n2")) == ROOM
    assert cluster("Node", node("n2", cpu="8"), old=node("n2")) == ROOM
    assert cluster("Node", node("n2", labels={"zone": "a"}), old=node("n2")) == ROOM


def test_what_the_scheduler_writes_into_groups_triggers_nothing(cluster: Cluster) -> None:
    """Phase, conditions and annotations are its own."""
    known = group("one", minimum=1)
    written = group("one", minimum=1, phase="Inqueue", annotations={"topology": "rack-1"})

    assert cluster("PodGroup", written, old=known) == NOTHING
    assert cluster("PodGroup", group("one", minimum=3), old=written) == WORK


def test_what_the_scheduler_writes_into_queues_triggers_nothing(cluster: Cluster) -> None:
    """Amounts are its own; limits and states are not."""
    known = queue()
    written = msgspec.structs.replace(known, status=wire.QueueStatus(allocated={"cpu": "1"}))

    assert cluster("Queue", written, old=known) == NOTHING
    assert cluster("Queue", queue(weight=3), old=written) == ROOM
    assert cluster("Queue", queue(state="Closed"), old=queue(state="Open")) == ROOM


def test_an_eviction_under_way_is_no_second_trigger(cluster: Cluster) -> None:
    """Its deletion mark is new room; what the kubelet writes after it is not."""
    running = pod("a", group="one", node="n1", phase="Running", cpu="2")
    cluster("Pod", running)
    assert not cluster.state.assume(eviction_plan("a", "n1"), 0.0)
    leaving = pod("a", group="one", node="n1", phase="Running", cpu="2", leaving=True)
    reported = msgspec.structs.replace(leaving, status=wire.PodStatus(phase="Running", reason="Evicted"))

    assert cluster("Pod", leaving, old=running) == ROOM
    assert cluster("Pod", reported, old=leaving) == NOTHING


def test_measurements_and_workloads_trigger_nothing(cluster: Cluster) -> None:
    """They change with every pod and every minute."""
    measured = wire.NodeMetric(metadata=wire.ObjectMeta(name="n1"))
    replicas = wire.ReplicaSet(metadata=wire.ObjectMeta(name="web", namespace="ns"))

    assert cluster("NodeMetric", measured) == NOTHING
    assert cluster("ReplicaSet", replicas) == NOTHING


def test_volumes_and_budgets_are_new_room(cluster: Cluster) -> None:
    """They may be what pods wait for."""
    claim = wire.PersistentVolumeClaim(metadata=wire.ObjectMeta(name="data", namespace="ns"))
    annotated = msgspec.structs.replace(
        claim, metadata=wire.ObjectMeta(name="data", namespace="ns", annotations={"selected-node": "n1"})
    )

    assert cluster("PersistentVolumeClaim", claim) == ROOM
    assert cluster("PersistentVolumeClaim", annotated, old=claim) == NOTHING
