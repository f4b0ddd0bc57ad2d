"""Devices of Koordinator: each device belongs to its node."""

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
    """Apply objects to a cluster state."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def node_of(state: ClusterState) -> Node:
    """Return the only node."""
    (node,) = state.snapshot().nodes.facts.nodes
    return node


def test_a_later_device_belongs_to_its_node() -> None:
    """The deletion of the device removes it from the node."""
    state = ClusterState()
    apply(state, NODE)
    assert node_of(state).device is None

    ((kind, late),) = decoded([device()])
    state.apply(kind, late)
    assert node_of(state).device is late
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []

    state.remove(kind, late)
    assert node_of(state).device is None


def test_an_update_without_changes_keeps_the_node() -> None:
    """Agents update their objects often, and computed masks of nodes must stay valid."""
    state = ClusterState()
    apply(state, NODE, device())
    before = state.snapshot().nodes.facts

    apply(state, {**device(annotations={}), "status": {"allocations": []}})
    assert state.snapshot().nodes.facts is before
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []

    apply(state, device(health=False))
    assert state.snapshot().nodes.facts is not before


def test_devices_of_other_projects_are_ignored() -> None:
    """Other API groups use the same kind name."""
    noted: list[str] = []
    objects = [{**device(), "apiVersion": "example.com/v1"}]

    assert decoded(objects, note=noted.append) == []
    assert noted == ["example.com/v1 Device does not affect scheduling: ignored"]
