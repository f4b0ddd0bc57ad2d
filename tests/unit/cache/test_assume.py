"""Assumed plans: a plan is assumed completely or not at all, until the API server shows or refuses it."""

from typing import Any

import pytest

from pyroclast.cache.files.audit import differences
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.counted import COUNTED
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.tasks import TaskStatus
from tests.unit.cache.builders import bind_plan, eviction_plan, filled, group, node, pod, queue, task, used


def gang(*pods: Any, minimum: int = 2) -> ClusterState:
    """A node of 4 CPU and a gang with two pending pods of 1 CPU, unless pods are given."""
    members = pods or (pod("a", group="g", cpu="1"), pod("b", group="g", cpu="1"))
    state = ClusterState(StateOptions(assume_seconds=10))
    return filled(state, queue(), node(), group("g", minimum=minimum), *members)


def test_an_assumed_plan_is_in_the_next_snapshot() -> None:
    """Its pods are Binding on their nodes, have the annotations of the binding, and count as used."""
    state = gang()
    plan = bind_plan(("a", "n1"), ("b", "n1"), annotations={"volcano.sh/topology-decision": "{}"})

    assert state.assume(plan, 0.0) == []

    assert (task(state, "a").status, task(state, "a").node) == (TaskStatus.BINDING, "n1")
    assert task(state, "b").pod.metadata.annotations["volcano.sh/topology-decision"] == "{}"
    assert used(state) == {"cpu": 2000, "pods": 2000}
    job = state.snapshot().jobs[JobId("ns/g")]
    assert state.snapshot().job_table.ready_counts()[job.column] == 2


@pytest.mark.parametrize(
    ("binds", "fault"),
    [
        ((("a", "n1"), ("gone", "n1")), "ns/gone: the pod is gone"),
        ((("a", "n1"), ("b", "nowhere")), "ns/b: node nowhere is gone"),
        ((("a", "n1"), ("busy", "n1")), "ns/busy: the pod is Running, not Pending"),
        ((("a", "n1"), ("big", "n1")), "ns/big: insufficient cpu on node n1"),
    ],
)
def test_one_bad_bind_refuses_the_whole_plan(binds: tuple[tuple[str, str], ...], fault: str) -> None:
    """No part of the plan is assumed, and the fault is returned."""
    state = gang(
        pod("a", group="g", cpu="1"),
        pod("b", group="g", cpu="1"),
        pod("busy", group="g", node="n1", phase="Running"),
        pod("big", group="g", cpu="3500m"),
    )
    before = state.snapshot()

    assert state.assume(bind_plan(*binds), 0.0) == [fault]
    assert state.snapshot() is before


def test_capacity_is_counted_over_the_whole_plan() -> None:
    """Two pods that fit alone but not together are refused, also because of the limit of pods."""
    state = ClusterState()
    filled(state, queue(), node(cpu="4", pods="1"), group("g"), pod("a", group="g"), pod("b", group="g"))

    (fault,) = state.assume(bind_plan(("a", "n1"), ("b", "n1")), 0.0)

    assert fault == "ns/b: insufficient pods on node n1"


def test_an_overcommitted_resource_that_the_pod_does_not_request_is_ignored() -> None:
    """The CPU of a node that shrank is overcommitted. A pod without a CPU request still fits."""
    state = gang(pod("old", node="n1", phase="Running", cpu="9"), pod("a", group="g", memory="1Gi"))

    assert state.assume(bind_plan(("a", "n1")), 0.0) == []


def test_a_pod_cannot_be_assumed_twice() -> None:
    """A second plan for the same pod is refused."""
    state = gang()
    state.assume(bind_plan(("a", "n1")), 0.0)

    assert state.assume(bind_plan(("a", "n1")), 0.0) == ["ns/a: the pod is Binding, not Pending"]


def test_an_update_without_a_node_keeps_the_assumption() -> None:
    """An older event of an assumed pod does not change its node."""
    state = gang()
    state.assume(bind_plan(("a", "n1")), 0.0)
    filled(state, pod("a", group="g", cpu="1", labels={"new": "label"}))

    assert task(state, "a").status is TaskStatus.BINDING
    assert task(state, "a").pod.metadata.labels == {"new": "label"}


@pytest.mark.parametrize(("phase", "status"), [("Pending", TaskStatus.BOUND), ("Running", TaskStatus.RUNNING)])
def test_a_pod_with_a_node_settles_the_bind(phase: str, status: TaskStatus) -> None:
    """The state of the pod counts, and no amount is counted twice."""
    state = gang()
    state.assume(bind_plan(("a", "n1")), 0.0)
    filled(state, pod("a", group="g", node="n1", phase=phase, cpu="1"))

    assert task(state, "a").status is status
    assert not state.assumed()
    assert used(state) == {"cpu": 1000, "pods": 1000}


def test_a_deletion_settles_a_bind() -> None:
    """A pod that is deleted before its bind is not bound."""
    state = gang()
    state.assume(bind_plan(("a", "n1")), 0.0)
    state.remove("Pod", pod("a"))

    assert used(state) == {}
    assert not state.assumed()


def test_an_assumed_eviction_is_releasing_until_the_pod_is_deleted() -> None:
    """Its amounts count as used and releasing. An update without a deletion does not change that."""
    running = pod("a", group="g", node="n1", phase="Running", cpu="1")
    state = gang(running)
    assert state.assume(eviction_plan("a", "n1"), 0.0) == []
    filled(state, running)
    snapshot = state.snapshot()
    rows = snapshot.nodes.rows

    assert task(state, "a").status is TaskStatus.RELEASING
    assert snapshot.nodes.state[rows.releasing, 0][0] == 1000

    filled(state, pod("a", group="g", node="n1", phase="Running", cpu="1", leaving=True))
    assert not state.assumed()
    assert task(state, "a").status is TaskStatus.RELEASING


@pytest.mark.parametrize(
    ("victim", "at", "fault"),
    [
        ("gone", "n1", "ns/gone: the pod is gone"),
        ("a", "n2", "ns/a: the pod is not on node n2"),
        ("done", "n1", "ns/done: the pod has finished"),
        ("b", "n1", "ns/b: the pod is being bound, and the API server has not confirmed its node"),
    ],
)
def test_an_eviction_of_a_pod_that_cannot_be_evicted_is_refused(victim: str, at: str, fault: str) -> None:
    """The pod is gone, on another node, finished, or not bound yet."""
    state = gang(pod("a", node="n1", phase="Running"), pod("done", node="n1", phase="Succeeded"), pod("b", group="g"))
    state.assume(bind_plan(("b", "n1")), 0.0)

    assert state.assume(eviction_plan(victim, at), 0.0) == [fault]


def test_forgetting_a_bind_makes_the_pod_pending_again() -> None:
    """Its amounts are idle, and the annotations of the binding are removed."""
    state = gang()
    state.assume(bind_plan(("a", "n1"), annotations={"x": "y"}), 0.0)

    assert state.forget(TaskId("a"), NodeName("n1"))

    assert (task(state, "a").status, task(state, "a").node) == (TaskStatus.PENDING, None)
    assert "x" not in task(state, "a").pod.metadata.annotations
    assert used(state) == {}
    assert not state.forget(TaskId("a"), NodeName("n1"))


def test_a_gang_with_a_failed_bind_is_broken() -> None:
    """The gang counts as broken until enough members run."""
    state = gang()
    state.assume(bind_plan(("a", "n1"), ("b", "n1")), 0.0)
    filled(state, pod("a", group="g", node="n1", phase="Running", cpu="1"))
    state.forget(TaskId("b"), NodeName("n1"), failed=True)
    assert state.snapshot().broken_gangs == {"ns/g"}

    state.assume(bind_plan(("b", "n1")), 0.0)
    assert state.snapshot().broken_gangs == frozenset()


def test_a_gang_without_bound_members_is_not_broken() -> None:
    """All of its binds failed, so it is placed like a new gang."""
    state = gang()
    state.assume(bind_plan(("a", "n1"), ("b", "n1")), 0.0)
    state.forget(TaskId("a"), NodeName("n1"), failed=True)
    state.forget(TaskId("b"), NodeName("n1"), failed=True)

    assert state.snapshot().broken_gangs == frozenset()


def test_a_gang_with_a_pod_that_its_node_refused_is_broken() -> None:
    """A kubelet fails a bound pod with OutOfcpu, so that the gang lacks a member."""
    state = gang(
        pod("a", group="g", node="n1", phase="Running", cpu="1"), pod("b", group="g", node="n1", phase="Pending")
    )
    assert state.snapshot().broken_gangs == frozenset()
    filled(state, pod("b", group="g", node="n1", phase="Failed", reason="OutOfcpu"))

    assert state.snapshot().broken_gangs == {"ns/g"}


def test_a_gang_that_a_killed_scheduler_left_half_bound_is_broken() -> None:
    """After the first lists, a gang with fewer bound members than its minimum counts as broken."""
    state = gang(pod("a", group="g", node="n1", phase="Running", cpu="1"), pod("b", group="g", cpu="1"))
    state.mark_half_bound()

    assert state.snapshot().broken_gangs == {"ns/g"}


def test_assumptions_without_confirmation_are_overdue() -> None:
    """They are overdue after ten seconds in this test, and later if they are extended."""
    state = gang()
    state.assume(bind_plan(("a", "n1")), 100.0)

    assert state.overdue(109.0) == []
    assert state.overdue(110.0) == ["a"]
    state.extend(TaskId("a"), 110.0)
    assert state.overdue(115.0) == []


def test_a_rebuild_keeps_assumptions() -> None:
    """No object contains them, so they are carried over."""
    state = gang()
    state.assume(bind_plan(("a", "n1")), 0.0)

    assert used(state.rebuild()) == used(state) == {"cpu": 1000, "pods": 1000}


def test_a_pod_whose_eviction_a_budget_refused_is_no_victim_until_budgets_change() -> None:
    """A rebuild keeps the protection, and a new budget ends it."""
    state = filled(
        ClusterState(), queue(), group("g"), node(), pod("a", group="g", node="n1", phase="Running", cpu="1")
    )
    state.assume(eviction_plan("a", "n1"), 0.0)

    assert state.forget(TaskId("a"), None, failed=True)
    assert not task(state, "a").preemptable
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []
    assert state.snapshot().broken_gangs == frozenset()

    state.apply("PodDisruptionBudget", wire.PodDisruptionBudget(metadata=wire.ObjectMeta(name="b", namespace="ns")))
    assert task(state, "a").preemptable


def test_the_late_failure_of_a_bind_keeps_a_later_eviction() -> None:
    """The pod was seen as bound, and another plan evicts it. The old failure does not end that assumption."""
    state = gang()
    state.assume(bind_plan(("a", "n1")), 0.0)
    filled(state, pod("a", group="g", node="n1", phase="Running", cpu="1"))
    state.assume(eviction_plan("a", "n1"), 0.0)

    assert not state.forget(TaskId("a"), NodeName("n1"), failed=True)

    assert task(state, "a").status is TaskStatus.RELEASING
    assert state.snapshot().broken_gangs == frozenset()
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []


def test_the_late_failure_of_a_bind_keeps_a_later_bind() -> None:
    """The first bind was forgotten, and another plan binds the pod to another node. It stays there."""
    state = filled(gang(), node("n2"))
    state.assume(bind_plan(("a", "n1")), 0.0)
    state.forget(TaskId("a"), NodeName("n1"))
    state.assume(bind_plan(("a", "n2")), 0.0)

    assert not state.forget(TaskId("a"), NodeName("n1"), failed=True)

    assert task(state, "a").node == "n2"
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []


@pytest.mark.parametrize("at", ["n2", ""], ids=["moved", "deleted"])
def test_a_pod_on_another_node_does_not_count_on_the_assumed_node(at: str) -> None:
    """Another scheduler bound or deleted it before the failure is known. The audit finds no difference."""
    state = filled(gang(), node("n2"))
    state.assume(bind_plan(("a", "n1")), 0.0)
    if at:
        filled(state, pod("a", group="g", node=at, phase="Running", cpu="1"))
    else:
        state.remove("Pod", pod("a"))
    state.forget(TaskId("a"), NodeName("n1"), failed=True)
    nodes = state.snapshot().nodes

    assert [list(tasks) for tasks in nodes.tasks] == [[], ["a"] if at else []]
    assert used(state) == {}
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []


def test_an_assumed_pod_counts_as_its_bind_says() -> None:
    """On its node and for its job, until the bind fails; and when the server shows the pod."""
    state, counted = gang(), {COUNTED: '{"cpu": "3"}'}
    assert state.assume(bind_plan(("a", "n1"), annotations=counted), 0.0) == []
    job = state.snapshot().jobs[JobId("ns/g")]

    assert used(state) == {"cpu": 3000, "pods": 1000}
    assert int(state.snapshot().job_table.allocated[0, job.column]) == 3000
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []

    state.forget(TaskId("a"), NodeName("n1"), failed=True)
    assert used(state) == {}

    filled(state, pod("a", group="g", node="n1", phase="Running", cpu="1", annotations=counted))
    assert used(state) == {"cpu": 3000, "pods": 1000}


def test_a_plan_beyond_what_its_pods_count_as_is_refused() -> None:
    """Their requests alone would fit."""
    state = gang()
    (fault,) = state.assume(bind_plan(("a", "n1"), ("b", "n1"), annotations={COUNTED: '{"cpu": "3"}'}), 0.0)

    assert fault == "ns/b: insufficient cpu on node n1"


@pytest.mark.parametrize("text", ["much", '{"cpu": "-1"}', "[" * 5000])
def test_a_plan_with_amounts_that_cannot_be_read_is_refused(text: str) -> None:
    """The fault names the annotation, and the cycle goes on."""
    state = gang()
    (fault,) = state.assume(bind_plan(("a", "n1"), annotations={COUNTED: text}), 0.0)

    assert fault.startswith(f"ns/a: annotation {COUNTED}: ")
    assert used(state).get("cpu", 0) == 0
