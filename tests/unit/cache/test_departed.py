"""Departed members of gangs: they have ended and are deleted."""

from typing import Any

import msgspec

from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.jobs import Departed
from tests.unit.cache.builders import filled, group, node, pod, queue


def state(*pods: wire.Pod, phase: str = "Running") -> ClusterState:
    """A gang of two on a node of 4 CPU."""
    return filled(ClusterState(), queue(), node(), group("g", minimum=2, phase=phase), *pods)


def member(name: str, phase: str = "Running", **more: Any) -> wire.Pod:
    """A member of the gang on the node."""
    return pod(name, group="g", node="n1", phase=phase, cpu="1", **more)


def group_with_status(**status: Any) -> wire.PodGroup:
    """The gang's PodGroup with a status."""
    return msgspec.structs.replace(group("g", minimum=2), status=wire.PodGroupStatus(**status))


def test_members_that_ended_and_are_deleted_are_counted() -> None:
    """A member that was deleted while it ran is not counted."""
    cluster = state(member("a", "Succeeded"), member("b", "Failed"), member("c"), member("d"))
    for name, phase in (("a", "Succeeded"), ("b", "Failed"), ("c", "Running")):
        cluster.remove("Pod", member(name, phase))

    assert cluster.snapshot().departed == {"ns/g": Departed(1, 1)}


def test_a_completed_gang_has_no_departed_members() -> None:
    """Later pods of its PodGroup start with a count of zero."""
    cluster = state(member("a", "Succeeded"), member("b", "Succeeded"))
    cluster.remove("Pod", member("a", "Succeeded"))
    cluster.apply("PodGroup", group_with_status(phase="Completed", succeeded=2))
    cluster.remove("Pod", member("b", "Succeeded"))

    assert cluster.snapshot().departed == {}


def test_a_gang_that_is_evicted_completely_keeps_its_succeeded_members() -> None:
    """The other members, including failed ones, are created again."""
    cluster = filled(ClusterState(), queue(), node(), group("g", minimum=3, phase="Running"))
    for name, phase in (("a", "Succeeded"), ("b", "Failed"), ("c", "Running")):
        cluster.apply("Pod", member(name, phase))
    for name, phase in (("a", "Succeeded"), ("b", "Failed"), ("c", "Running")):
        cluster.remove("Pod", member(name, phase))

    assert cluster.snapshot().departed == {"ns/g": Departed(1, 0)}


def test_a_new_pod_group_with_the_same_name_has_no_departed_members() -> None:
    """The old PodGroup was deleted."""
    cluster = state(member("a", "Succeeded"), member("b"))
    cluster.remove("Pod", member("a", "Succeeded"))
    cluster.remove("PodGroup", group("g"))
    cluster.apply("PodGroup", group("g", minimum=2, uid="other"))

    assert cluster.snapshot().departed == {}


def test_departed_members_are_read_from_the_status_after_a_start() -> None:
    """The gang that lacks them does not count as broken."""
    cluster = filled(
        ClusterState(), queue(), node(), group_with_status(phase="Running", running=1, succeeded=1), member("b")
    )
    cluster.mark_half_bound()

    assert cluster.snapshot().departed == {"ns/g": Departed(1, 0)}
    assert cluster.snapshot().broken_gangs == frozenset()


def test_a_gang_with_a_failed_member_is_not_broken_after_a_start() -> None:
    """The containers of the member failed. A member that its node refused still breaks the gang."""
    failed = state(member("a", "Failed"), member("b"))
    failed.mark_half_bound()
    refused = state(member("a", "Failed", reason="OutOfcpu"), member("b"))
    refused.mark_half_bound()

    assert failed.snapshot().broken_gangs == frozenset()
    assert refused.snapshot().broken_gangs == {"ns/g"}
