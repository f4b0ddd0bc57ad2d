"""Layers of a ClusterNetworkTopology, and the domains that nodes form by their labels."""

from typing import Any

import msgspec
import pytest

from pyroclast.model import wire
from pyroclast.model.topology.layers import Layer, read_layers, topology_of_layers
from pyroclast.model.topology.tree import ROOT
from pyroclast.testing import Scenario
from tests.network_layers import network_topology

SPINE, BLOCK = Layer("SpineLayer", ("net/spine",)), Layer("BlockLayer", ("net/block",))


def layers_of(*entries: dict[str, Any]) -> tuple[tuple[Layer, ...], list[str]]:
    """The layers that a topology has, and its faults."""
    faults: list[str] = []
    found = msgspec.convert(network_topology(*entries), wire.ClusterNetworkTopology)
    return read_layers(found, lambda path, message: faults.append(f"{path}: {message}")), faults


def entry(name: str, above: str = "", keys: tuple[str, ...] = ("net/x",)) -> dict[str, Any]:
    """One layer."""
    return {"topologyLayer": name, "parentTopologyLayer": above, "labelKey": list(keys)}


def test_layers_are_chained_from_the_root_to_the_nodes() -> None:
    """Their order in the object does not matter, and the layer of nodes is built in."""
    layers, faults = layers_of(
        entry("NodeTopologyLayer", "BlockLayer", ()),
        entry("BlockLayer", "SpineLayer", ("net/block",)),
        entry("SpineLayer", keys=("net/spine",)),
    )

    assert layers == (SPINE, BLOCK)
    assert faults == []


@pytest.mark.parametrize(
    ("entries", "names", "fault"),
    [
        ([entry("A"), entry("B")], ["A"], "already has a layer below it"),
        ([entry("A"), entry("B", "C"), entry("C", "B")], ["A"], "no chain of layers leads to 'C'"),
        ([entry("A"), entry("B", "A"), entry("A", "B")], ["A", "B"], "'A' is the name of an earlier layer"),
        ([entry("A", "A")], [], "cannot be the name of a layer"),
        ([entry("")], [], "cannot be the name of a layer"),
        ([entry("A", keys=())], ["A"], "not 1 to 8 labels"),
        (
            [entry(f"L{n}", f"L{n - 1}" if n else "") for n in range(17)],
            [f"L{n}" for n in range(16)],
            "only the 16 layers",
        ),
    ],
)
def test_faulty_layers_are_left_out_and_reported(entries: list[dict[str, Any]], names: list[str], fault: str) -> None:
    """The rest of the object counts."""
    layers, faults = layers_of(*entries)

    assert [layer.name for layer in layers] == names
    assert any(fault in each for each in faults)


def test_nodes_form_domains_by_labels() -> None:
    """A node without a block is a block of its own; one without a spine is directly below the root."""
    scenario = Scenario()
    for name, labels in {
        "n1": {"net/spine": "s1", "net/block": "b1"},
        "n2": {"net/spine": "s1", "net/block": "b1"},
        "n3": {"net/spine": "s2", "net/block": "b1"},
        "n4": {"net/spine": "s2"},
        "n5": {"net/block": "b1"},
    }.items():
        scenario = scenario.node(name, cpu=1, labels=labels)
    facts = scenario.run().rounds[0].snapshot.nodes.facts
    tree = topology_of_layers((SPINE, BLOCK), facts)
    names = [facts.nodes[column].name for column in range(5)]
    found = {
        (domain.name, domain.tier): [names[column] for column in domain.columns.tolist()]
        for domain in tree.domains
        if domain.tier > 1
    }

    assert found == {
        ("s1/b1", 2): ["n1", "n2"],
        ("s2/b1", 2): ["n3"],
        ("s2/n4", 2): ["n4"],
        ("s1", 3): ["n1", "n2"],
        ("s2", 3): ["n3", "n4"],
        (ROOT, 4): ["n1", "n2", "n3", "n4", "n5"],
    }
    assert tree.domains[tree.numbers["n5"]].parent == tree.root
    assert dict(tree.tier_by_name) == {
        "NodeTopologyLayer": 1,
        "BlockLayer": 2,
        "SpineLayer": 3,
        "ClusterTopologyLayer": 4,
    }
