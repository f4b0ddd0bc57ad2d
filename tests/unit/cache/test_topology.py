"""The tree of HyperNodes follows the objects."""

from typing import Any

from pyroclast.cache.files.objects import decoded
from pyroclast.cache.state import ClusterState
from pyroclast.model.errors import ObjectError
from pyroclast.model.topology.tree import Topology


def node(name: str, **labels: str) -> dict[str, Any]:
    """A node."""
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "1", "pods": "10"}},
    }


def hyper_node(name: str, selector: dict[str, Any]) -> dict[str, Any]:
    """A HyperNode whose members are nodes."""
    members = [{"type": "Node", "selector": selector}]
    return {"kind": "HyperNode", "metadata": {"name": name}, "spec": {"tier": 1, "members": members}}


BY_LABEL = hyper_node("rack", {"labelMatch": {"matchLabels": {"rack": "a"}}})


def apply(state: ClusterState, *objects: dict[str, Any]) -> None:
    """Apply objects to a cluster state."""
    for kind, each in decoded(objects, report=_fail, note=_fail):
        state.apply(kind, each)


def _fail(error: object) -> None:
    raise AssertionError(error)


def nodes_of(state: ClusterState, name: str) -> list[str]:
    """Return the names of the nodes of a domain."""
    snapshot = state.snapshot()
    topology = snapshot.topology
    assert isinstance(topology, Topology)
    columns = topology.domains[topology.numbers[name]].columns.tolist()
    return [snapshot.nodes.names[column] for column in columns]


def test_a_node_that_loses_its_label_is_no_member() -> None:
    """Members by label are the nodes that have the label now."""
    state = ClusterState()
    apply(state, BY_LABEL, node("n1", rack="a"), node("n2", rack="a"))
    assert nodes_of(state, "rack") == ["n1", "n2"]

    apply(state, node("n1", rack="b"))

    assert nodes_of(state, "rack") == ["n2"]


def test_a_deleted_node_is_no_member() -> None:
    """It is removed from all HyperNodes."""
    state = ClusterState()
    apply(state, BY_LABEL, node("n1", rack="a"), node("n2", rack="a"))
    state.remove("Node", state.stored("Node")["n1"])

    assert nodes_of(state, "rack") == ["n2"]


def test_the_tree_is_the_same_object_until_it_changes() -> None:
    """Changes of pods do not make a new tree."""
    state = ClusterState()
    apply(state, BY_LABEL, node("n1", rack="a"))
    before = state.snapshot().topology
    apply(
        state,
        {
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "d", "uid": "p"},
            "spec": {"schedulerName": "volcano", "nodeName": "n1", "containers": [{"name": "c"}]},
            "status": {"phase": "Running"},
        },
    )

    assert state.snapshot().topology is before


def test_a_new_fault_is_reported() -> None:
    """It is reported once, and again if it disappears and appears again."""
    reported: list[ObjectError] = []
    state = ClusterState(report=reported.append)
    broken = hyper_node("rack", {"exactMatch": {"name": "n9"}})
    apply(state, broken, node("n1"))
    state.snapshot()
    apply(state, node("n2"))
    state.snapshot()
    assert [(error.kind, error.name) for error in reported] == [("HyperNode", "rack")]

    apply(state, node("n9"))
    state.snapshot()
    state.remove("Node", state.stored("Node")["n9"])
    state.snapshot()

    assert len(reported) == 2
