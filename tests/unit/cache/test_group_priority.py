"""The priority of a PodGroup, limited to the priority of its pods."""

import msgspec
import pytest

from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.ids import JobId
from tests.unit.cache.builders import filled, group, pod, queue

HIGH = wire.PriorityClass(metadata=wire.ObjectMeta(name="high"), value=100)
LOW = wire.PriorityClass(metadata=wire.ObjectMeta(name="low"), value=5)


def member(name: str, priority: int | None, *, phase: str = "Pending", of: str = "") -> wire.Pod:
    """A pod of the group, with the priority in its spec."""
    made = pod(name, group="g", phase=phase)
    spec = msgspec.structs.replace(made.spec, priority=priority, priority_class_name=of)
    return msgspec.structs.replace(made, spec=spec)


def priority(*pods: wire.Pod, caps: bool) -> int:
    """The priority of a group that names the class `high`, with these pods."""
    named = group("g", priority_class_name="high")
    state = filled(ClusterState(StateOptions(caps_group_priority=caps)), queue(), HIGH, LOW, named, *pods)
    return state.snapshot().jobs[JobId(f"{named.metadata.namespace}/g")].priority


@pytest.mark.parametrize("value", [0, 7])
def test_a_group_has_at_most_the_priority_of_its_pods(value: int) -> None:
    """The option applies because quotas on priority classes limit only pods."""
    members = [member("a", value), member("b", -3)]

    assert priority(*members, caps=True) == value
    assert priority(*members, caps=False) == 100


def test_a_pod_without_a_priority_has_that_of_its_class() -> None:
    """The admission plugin of priorities may be disabled."""
    assert priority(member("a", None, of="low"), caps=True) == 5
    assert priority(member("a", None), caps=True) == 0


def test_pods_do_not_raise_a_group_and_a_group_without_pods_has_the_priority_of_its_class() -> None:
    """A group without living pods has nothing to place, and no pod is evicted for it."""
    ended = member("b", 2000, phase="Succeeded")

    assert priority(member("a", 2000), caps=True) == 100
    assert priority(caps=True) == 100
    assert priority(member("a", 1), ended, caps=True) == 1
