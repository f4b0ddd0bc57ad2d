"""Unusual objects and changes: amounts, priority classes, nodes and members of sub-jobs."""

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


def test_a_group_with_a_negative_amount_is_refused_and_reported() -> None:
    """Other groups are not affected."""
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
    (orphan,) = snapshot.orphan_pods
    assert (orphan.task.name, orphan.refusal.reason) == ("a", "InvalidPodGroup")
    assert "spec.minResources.cpu" in orphan.refusal.message


@pytest.mark.parametrize("names", [("high", "low"), ("low", "high")])
def test_the_lower_of_two_default_classes_counts(names: tuple[str, str]) -> None:
    """The order of their events has no effect."""
    values = {"high": 100, "low": 10}
    classes = (
        wire.PriorityClass(metadata=wire.ObjectMeta(name=name), value=values[name], global_default=True)
        for name in names
    )
    state = filled(ClusterState(), queue(), group("g"), *classes)

    assert state.snapshot().jobs[JobId("ns/g")].priority == 10


def test_a_pod_bound_to_a_node_that_shrank_counts() -> None:
    """Its amounts are used, and the idle amount of the node is negative."""
    state = filled(ClusterState(), queue(), node(), group("g"), pod("a", group="g", cpu="3"))
    assert state.assume(bind_plan(("a", "n1")), 0.0) == []

    state.apply("Node", node(cpu="2", memory="8Gi", pods="10"))

    snapshot = state.snapshot()
    table = snapshot.nodes
    idle = (table.allocatable - table.state[table.rows.used])[:, table.column[NodeName("n1")]]
    assert task(state, "a").status is TaskStatus.BINDING
    assert snapshot.resources.amounts(idle)["cpu"] == -1000


def test_image_scores_change_with_the_number_of_nodes() -> None:
    """An image on the only node counts fully. With a second node without the image it counts half."""
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
    """A pod of sub-group a of the group."""
    made = pod(name, group="g", labels={"part": "a"})
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, priority=priority))


def test_a_sub_job_has_the_priority_of_its_current_members() -> None:
    """After the deletion of the member with the highest priority, the sub-job has that of the others."""
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
