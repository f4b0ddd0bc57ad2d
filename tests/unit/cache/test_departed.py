"""Members of gangs that have ended and are there no more, as the books count them."""

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


def said(**status: Any) -> wire.PodGroup:
    """The gang's PodGroup with a status."""
    return msgspec.structs.replace(group("g", minimum=2), status=wire.PodGroupStatus(**status))


def test_members_that_ended_and_are_deleted_are_counted() -> None:
    """A member that was deleted while it ran is none of them."""
    there = state(member("a", "Succeeded"), member("b", "Failed"), member("c"), member("d"))
    for name, phase in (("a", "Succeeded"), ("b", "Failed"), ("c", "Running")):
        there.remove("Pod", member(name, phase))

    assert there.snapshot().departed == {"ns/g": Departed(1, 1)}


def test_a_gang_that_is_completed_has_none() -> None:
    """What begins in its PodGroup afterwards begins anew."""
    there = state(member("a", "Succeeded"), member("b", "Succeeded"))
    there.remove("Pod", member("a", "Succeeded"))
    there.apply("PodGroup", said(phase="Completed", succeeded=2))
    there.remove("Pod", member("b", "Succeeded"))

    assert there.snapshot().departed == {}


def test_a_gang_that_is_evicted_whole_keeps_those_that_succeeded() -> None:
    """The others are made again, and so may be those that failed."""
    there = filled(ClusterState(), queue(), node(), group("g", minimum=3, phase="Running"))
    for name, phase in (("a", "Succeeded"), ("b", "Failed"), ("c", "Running")):
        there.apply("Pod", member(name, phase))
    for name, phase in (("a", "Succeeded"), ("b", "Failed"), ("c", "Running")):
        there.remove("Pod", member(name, phase))

    assert there.snapshot().departed == {"ns/g": Departed(1, 0)}


def test_another_pod_group_of_the_name_has_none() -> None:
    """The one before was deleted."""
    there = state(member("a", "Succeeded"), member("b"))
    there.remove("Pod", member("a", "Succeeded"))
    there.remove("PodGroup", group("g"))
    there.apply("PodGroup", group("g", minimum=2, uid="other"))

    assert there.snapshot().departed == {}


def test_after_a_start_the_status_tells_how_many_there_were() -> None:
    """And the gang that lacks them is not repaired as a broken one."""
    there = filled(ClusterState(), queue(), node(), said(phase="Running", running=1, succeeded=1), member("b"))
    there.mark_half_bound()

    assert there.snapshot().departed == {"ns/g": Departed(1, 0)}
    assert there.snapshot().broken_gangs == frozenset()


def test_after_a_start_a_gang_with_a_failed_member_is_not_broken() -> None:
    """Its containers failed; one that its node refused lacks as before."""
    failed = state(member("a", "Failed"), member("b"))
    failed.mark_half_bound()
    refused = state(member("a", "Failed", reason="OutOfcpu"), member("b"))
    refused.mark_half_bound()

    assert failed.snapshot().broken_gangs == frozenset()
    assert refused.snapshot().broken_gangs == {"ns/g"}
