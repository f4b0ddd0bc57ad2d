"""Koordinator's Devices: each is part of what is known of its node."""

from typing import Any

from pyroclast.cache.files.audit import differences
from pyroclast.cache.files.objects import decoded
from pyroclast.cache.state import ClusterState
from pyroclast.model.nodes import Node

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def device(health: bool = True, **metadata: Any) -> dict[str, Any]:
    """A Device with one GPU."""
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": "n", **metadata},
        "spec": {"devices": [{"type": "gpu", "minor": 0, "health": health}]},
    }


def apply(state: ClusterState, *objects: dict[str, Any]) -> None:
    """Take over objects."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def node_of(state: ClusterState) -> Node:
    """Return the one node."""
    (node,) = state.snapshot().nodes.facts.nodes
    return node


def test_a_device_that_comes_late_is_its_nodes() -> None:
    """And goes as it came."""
    state = ClusterState()
    apply(state, NODE)
    assert node_of(state).device is None

    ((kind, late),) = decoded([device()])
    state.apply(kind, late)
    assert node_of(state).device is late
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []

    state.remove(kind, late)
    assert node_of(state).device is None


def test_what_says_nothing_new_leaves_the_node_as_it_is() -> None:
    """An agent dates its findings again and again: what was worked out about all nodes stays."""
    state = ClusterState()
    apply(state, NODE, device())
    before = state.snapshot().nodes.facts

    apply(state, {**device(annotations={}), "status": {"allocations": []}})
    assert state.snapshot().nodes.facts is before
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []

    apply(state, device(health=False))
    assert state.snapshot().nodes.facts is not before


def test_devices_of_other_projects_are_others() -> None:
    """The name of the kind is anybody's."""
    noted: list[str] = []
    objects = [{**device(), "apiVersion": "example.com/v1"}]

    assert decoded(objects, note=noted.append) == []
    assert noted == ["example.com/v1 Device plays no part in scheduling: ignored"]
