"""Reservations in the cluster state: the pods that stand for them, their users, and a state that is built again."""

import json
from typing import Any

import msgspec
import pytest

from pyroclast.cache.files.audit import differences
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.wake_triggers import Trigger, trigger_of
from pyroclast.kube.api.resources import RESERVATIONS
from pyroclast.model import wire
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Plan
from pyroclast.model.required_rules import RESERVATION_AFFINITY
from pyroclast.model.reservations.names import IGNORED, OPERATING_MODE
from pyroclast.model.tasks import TaskStatus
from tests.reservations import ALLOCATED, affinity, claimed, reservation
from tests.unit.cache.builders import filled, group, node, pod, queue

A = {"app": "a"}


def decoded(version: str = "1", **fields: Any) -> wire.Reservation:
    """Return a Reservation of the server."""
    wanted = reservation(**fields)
    wanted["metadata"]["resourceVersion"] = version
    return RESERVATIONS.decoder.convert(wanted)


def owner(name: str = "a", **fields: Any) -> wire.Pod:
    """Return a waiting pod of an owner."""
    made = pod(name, group="g", cpu="1", **fields)
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, labels={"app": "a"}))


def state_with(*reservations: wire.Reservation, pods: tuple[wire.Pod, ...] = ()) -> ClusterState:
    """Return a state of one node, a job, and Reservations."""
    state = filled(
        ClusterState(StateOptions(assume_seconds=10)), queue(), queue("default"), node(), group("g", minimum=1), *pods
    )
    for each in reservations:
        state.apply("Reservation", each)
    return state


def is_same_when_built_again(state: ClusterState) -> bool:
    """Return whether the objects alone give the same snapshot, and whether an audit finds nothing."""
    snapshot = state.snapshot()
    built = (state.rebuild(), state.copy_of_objects()())
    return all(differences(snapshot, each.snapshot()) == [] for each in built)


def test_a_waiting_reservation_is_a_job_of_its_own() -> None:
    """Also where pods without a group wait for a controller; `stored` has no pod for it."""
    state = state_with(decoded())
    snapshot = state.snapshot()
    tasks = [task for job in snapshot.jobs.values() for task in job.tasks]

    assert tasks == ["uid-r"]
    assert snapshot.reserve_tasks == {"uid-r": "r"}
    assert state.stored("Pod") == {}
    assert is_same_when_built_again(state)


def test_on_a_node_it_has_no_job_and_requests_nothing() -> None:
    """Its amounts are those of the Reservation."""
    state = state_with(decoded(node="n1"))
    snapshot = state.snapshot()
    ((task,),) = [each.values() for each in snapshot.nodes.tasks]

    assert (task.job, dict(task.template.request)) == (None, {})
    (kept,) = snapshot.reservations.values()
    assert (kept.name, kept.rest()) == ("r", {"pods": 1000, "cpu": 2000})
    assert is_same_when_built_again(state)


def test_waiting_pods_match_its_owners_while_it_is_available() -> None:
    """A pod is translated again when the Reservation comes, and when it goes."""
    state = state_with(pods=(owner(),))

    def usable() -> tuple[str, ...]:
        task = state.task(TaskId("uid-a")) or next(iter(next(iter(state.snapshot().jobs.values())).tasks.values()))
        return task.template.reservations

    assert usable() == ()
    state.apply("Reservation", decoded(node="n1"))
    assert usable() == ("uid-r",)
    assert is_same_when_built_again(state)
    state.apply("Reservation", decoded(version="2", node="n1", phase="Failed"))
    assert usable() == ()
    assert state.snapshot().reservations == {}
    state.apply("Reservation", decoded(version="3", node="n1"))
    state.remove("Reservation", decoded(version="3", node="n1"))
    assert usable() == ()
    assert is_same_when_built_again(state)


def test_an_assumed_owner_counts_at_once() -> None:
    """It counts by the annotation of its bind, and no more when the bind fails."""
    state = state_with(decoded(node="n1", allocateOnce=False), pods=(owner(),))
    (task,) = next(iter(state.snapshot().jobs.values())).tasks.values()
    bind = Bind(
        task=task.id,
        job=task.job,
        namespace=task.namespace,
        name=task.name,
        node=NodeName("n1"),
        annotations={ALLOCATED: json.dumps({"name": "r", "uid": "uid-r"})},
    )
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=task.job, queue=None, binds=(bind,))

    assert state.assume(plan, 0.0) == []
    (kept,) = state.snapshot().reservations.values()
    assert list(kept.users) == [task.id]
    assert kept.rest()["cpu"] == 1000
    state.forget(task.id, NodeName("n1"))
    (kept,) = state.snapshot().reservations.values()
    assert kept.rest()["cpu"] == 2000


def test_an_assumed_reservation_is_binding_until_its_status_shows_it() -> None:
    """The assumption ends with the status."""
    state = state_with(decoded())
    bind = Bind(task=TaskId("uid-r"), job=None, namespace="default", name="uid-r", node=NodeName("n1"), reservation="r")
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=None, queue=None, binds=(bind,))

    assert state.assume(plan, 0.0) == []
    task = state.task(TaskId("uid-r"))
    assert task is not None
    assert task.status is TaskStatus.BINDING
    state.apply("Reservation", decoded(version="2", node="n1"))
    assert state.assumed() == {}
    assert is_same_when_built_again(state)


def test_another_node_in_its_status_takes_its_capacity_along() -> None:
    """Another scheduler moved it, and its user stays where it runs as an ordinary pod (R44)."""
    runs = pod("a", cpu="1", node="n1", phase="Running", labels=A, annotations=claimed("r"))
    state = state_with(decoded(node="n1", allocateOnce=False), pods=(runs,))
    state.apply("Node", node("n2"))
    state.snapshot()
    state.apply("Reservation", decoded(version="2", node="n2", allocateOnce=False))
    (kept,) = state.snapshot().reservations.values()

    assert (kept.node, dict(kept.users), kept.rest()["cpu"]) == ("n2", {}, 2000)
    assert [len(tasks) for tasks in state.snapshot().nodes.tasks] == [1, 1]
    assert is_same_when_built_again(state)


def test_users_are_read_from_pods_on_its_node() -> None:
    """Finished pods, and pods on other nodes, do not count (R28)."""
    runs = pod("a", cpu="1", node="n1", phase="Running", labels=A, annotations=claimed("r"))
    done = pod("b", cpu="1", node="n1", phase="Succeeded", labels=A, annotations=claimed("r"))
    away = pod("c", cpu="1", node="n2", phase="Running", labels=A, annotations=claimed("r"))
    state = state_with(decoded(node="n1", allocateOnce=False), pods=(runs, done, away))
    (kept,) = state.snapshot().reservations.values()

    assert len(kept.users) == 1
    assert kept.rest()["cpu"] == 1000
    assert is_same_when_built_again(state)


def test_a_pod_that_is_not_of_the_owners_takes_nothing_by_its_annotation() -> None:
    """Every author of a pod can write the annotation. It counts as soon as the pod matches."""
    foreign = pod("a", cpu="1", node="n1", phase="Running", annotations=claimed("r"))
    state = state_with(decoded(node="n1"), pods=(foreign,))
    (before,) = state.snapshot().reservations.values()
    state.apply("Pod", pod("a", cpu="1", node="n1", phase="Running", labels=A, annotations=claimed("r")))
    (after,) = state.snapshot().reservations.values()

    assert (before.is_spent, before.rest()["cpu"]) == (False, 2000)
    assert (after.is_spent, after.rest()["cpu"]) == (True, 1000)


def test_a_deeply_nested_annotation_does_not_hide_a_pod() -> None:
    """The pod counts on its node."""
    hostile = pod("a", cpu="1", node="n1", phase="Running", annotations={ALLOCATED: '{"x":' + "[" * 1000})
    state = state_with(decoded(node="n1"), pods=(hostile,))

    assert state.task(TaskId("a")) is not None


def test_a_template_copied_from_a_user_makes_no_user() -> None:
    """A Reservation neither uses a Reservation, nor must it, nor does it act as a pod in operating mode."""
    copied = {
        "annotations": {**claimed("r"), **affinity()},
        "labels": {**A, OPERATING_MODE: "Reservation", IGNORED: "true"},
    }
    state = state_with(decoded(node="n1", template_metadata=copied))
    (kept,) = state.snapshot().reservations.values()
    stands = state.task(TaskId("uid-r"))

    assert kept.users == {}
    assert stands is not None
    assert RESERVATION_AFFINITY not in stands.pod.metadata.annotations
    assert stands.pod.metadata.labels == A


def test_a_list_of_reservations_is_compared_with_waiting_pods_once() -> None:
    """Not once for each event: with many pods and Reservations that would take minutes."""
    compared: list[str] = []
    state = state_with(pods=tuple(owner(f"p{number}") for number in range(3)))
    whole = state._reservations.rematch  # the pass itself is what is counted

    def counted(tasks: Any) -> Any:
        found = whole(tasks)
        compared.extend(found)
        return found

    state._reservations.rematch = counted  # type: ignore[method-assign]  # see above
    for number in range(5):
        state.apply("Reservation", decoded(name=f"r{number}", node="n1"))
    assert compared == []
    snapshot = state.snapshot()

    assert sorted(compared) == ["p0", "p1", "p2"]
    tasks = [task for job in snapshot.jobs.values() for task in job.tasks.values()]
    assert {task.template.reservations for task in tasks} == {tuple(f"uid-r{number}" for number in range(5))}
    assert is_same_when_built_again(state)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, {}, Trigger.NEW_WORK),
        ({}, {"node": "n1"}, Trigger.NEW_CAPACITY),
        ({"node": "n1"}, {"node": "n1"}, None),
        ({"node": "n1"}, None, Trigger.NEW_CAPACITY),
    ],
)
def test_what_starts_a_cycle(old: Any, new: Any, expected: Trigger | None) -> None:
    """A new Reservation needs a node; one that changes its phase or goes offers capacity."""
    before, after = (None if fields is None else decoded(**fields) for fields in (old, new))

    assert trigger_of("Reservation", before, after, ClusterState()) is expected
