"""Odd objects cost nobody else anything, and what changes is seen at once: amounts, classes, nodes, members."""

import msgspec
import pytest

from pyroclast.cache.state import ClusterState
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model import wire
from pyroclast.model.ids import JobId, NodeName
from pyroclast.model.tasks import TaskStatus
from pyroclast.plugins.nodeorder.facts import image_scores
from pyroclast.plugins.priority import sub_job_rank
from tests.unit.cache.builders import bind_plan, filled, group, node, pod, queue, task

MEBIBYTE = 2**20


def test_a_negative_amount_is_fenced_and_named() -> None:
    """The group that needs less than nothing waits; its neighbour is served."""
    state = filled(
        ClusterState(),
        queue(),
        group("odd", min_resources={"cpu": "-4"}),
        group("sound"),
        pod("a", group="odd"),
        pod("b", group="sound"),
    )
    snapshot = state.snapshot()

    assert list(snapshot.jobs) == ["ns/sound"]
    (outsider,) = snapshot.orphan_pods
    assert (outsider.task.name, outsider.refusal.reason) == ("a", "InvalidPodGroup")
    assert "spec.minResources.cpu" in outsider.refusal.message


@pytest.mark.parametrize("names", [("high", "low"), ("low", "high")])
def test_of_two_default_classes_the_lower_holds(names: tuple[str, str]) -> None:
    """Whichever came first."""
    values = {"high": 100, "low": 10}
    classes = (
        wire.PriorityClass(metadata=wire.ObjectMeta(name=name), value=values[name], global_default=True)
        for name in names
    )
    state = filled(ClusterState(), queue(), group("g"), *classes)

    assert state.snapshot().jobs[JobId("ns/g")].priority == 10


def test_a_pod_on_its_way_to_a_node_that_shrank_counts() -> None:
    """It is there, and the node has less than nothing free."""
    state = filled(ClusterState(), queue(), node(), group("g"), pod("a", group="g", cpu="3"))
    assert state.assume(bind_plan(("a", "n1")), 0.0) == []

    state.apply("Node", node(cpu="2", memory="8Gi", pods="10"))

    snapshot = state.snapshot()
    table = snapshot.nodes
    idle = (table.allocatable - table.state[table.rows.used])[:, table.column[NodeName("n1")]]
    assert task(state, "a").status is TaskStatus.BINDING
    assert snapshot.resources.amounts(idle)["cpu"] == -1000


def test_images_are_counted_anew_when_nodes_come_and_go() -> None:
    """An image on the only node is on all of them; with a second node it is on half, and counts half."""
    held = (wire.ContainerImage(names=("app:1",), size_bytes=1000 * MEBIBYTE),)
    first = node()
    first = msgspec.structs.replace(first, status=msgspec.structs.replace(first.status, images=held))
    spec = wire.PodSpec(containers=(wire.Container(name="c", image="app:1"),))
    state = filled(ClusterState(), first)

    def scores() -> list[int]:
        found = image_scores(state.snapshot().nodes.facts, spec)
        assert found is not None
        return [int(score) for score in found]

    assert scores() == [100]
    second = filled(state, node("n2"))
    assert scores() == [48, 0]
    second.remove("Node", node("n2"))
    assert scores() == [100]


def member(name: str, priority: int) -> wire.Pod:
    """A pod of part a of the group."""
    made = pod(name, group="g", labels={"part": "a"})
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, priority=priority))


def test_a_sub_job_is_as_important_as_its_members_are_now() -> None:
    """When the important one is gone the part is what the others are, in books that have known it."""
    policy = wire.SubGroupPolicySpec(name="part", match_label_keys=("part",), sub_group_size=1)
    state = filled(
        ClusterState(), queue(), group("g", sub_group_policy=(policy,)), member("usual", 2), member("more", 9)
    )

    def ranks() -> list[int]:
        snapshot = state.snapshot()
        (job,) = snapshot.jobs.values()
        return [sub_job_rank(part) for part in SessionJob(job, snapshot.job_table).sub_jobs.values()]

    assert ranks() == [-9]
    state.remove("Pod", member("more", 9))
    assert ranks() == [-2]
