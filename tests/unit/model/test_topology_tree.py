"""The tree of HyperNodes."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from pyroclast.model.nodes import Node, NodeFacts
from pyroclast.model.topology.tree import NONE, ROOT, Topology, topology_of


def facts(*names: str, labels: Mapping[str, Mapping[str, str]] | None = None) -> NodeFacts:
    """Nodes of these names."""
    return NodeFacts(
        nodes=tuple(
            Node(
                name=NodeName(name),
                labels=(labels or {}).get(name, {}),
                annotations={},
                taints=(),
                unschedulable=False,
                allocatable={},
                oversubscribed={},
                images={},
                revocable_zone="",
            )
            for name in names
        )
    )


def exact(kind: str, *names: str) -> list[dict[str, Any]]:
    """Members by name."""
    return [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in names]


def tree(nodes: NodeFacts, **hyper_nodes: tuple[int, Sequence[Mapping[str, Any]]]) -> Topology:
    """The tree of HyperNodes, given as tier and members; a later one is younger."""
    objects = {
        name: msgspec.convert(
            {
                "metadata": {"name": name, "creationTimestamp": f"2026-01-01T00:00:{second:02d}Z"},
                "spec": {"tier": tier, "members": list(members)},
            },
            wire.HyperNode,
        )
        for second, (name, (tier, members)) in enumerate(hyper_nodes.items())
    }
    return topology_of(objects, nodes)


def nodes_of(topology: Topology, name: str) -> list[int]:
    """Columns of a domain."""
    columns: list[int] = topology.domains[topology.numbers[name]].columns.tolist()
    return columns


FOUR = facts("n1", "n2", "n3", "n4")
ROWS = {
    "s0": (1, exact("Node", "n1", "n2")),
    "s1": (1, exact("Node", "n3", "n4")),
    "s2": (2, exact("HyperNode", "s0", "s1")),
}


def test_a_domain_holds_the_nodes_of_those_inside_it() -> None:
    """Nodes of inner domains count for all around them, up to the root, one tier above."""
    topology = tree(FOUR, **ROWS)

    assert nodes_of(topology, "s0") == [0, 1]
    assert nodes_of(topology, "s2") == nodes_of(topology, ROOT) == [0, 1, 2, 3]
    assert topology.tiers == (1, 2, 3)
    assert topology.faults == ()


def test_without_hyper_nodes_the_root_is_tier_1() -> None:
    """The root always is there, with every node."""
    topology = tree(FOUR)

    assert topology.tiers == (1,)
    assert nodes_of(topology, ROOT) == [0, 1, 2, 3]


def test_a_pattern_is_found_anywhere_in_a_name() -> None:
    """Patterns are not anchored."""
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "[13]$"}}}]

    assert nodes_of(tree(FOUR, h=(1, members)), "h") == [0, 2]


def test_an_invalid_pattern_selects_nothing_and_is_reported() -> None:
    """The rest of the HyperNode stands."""
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}, *exact("Node", "n2")]
    topology = tree(FOUR, h=(1, members))

    assert nodes_of(topology, "h") == [1]
    assert "'(' is no pattern" in topology.faults[0].message


def test_labels_select_nodes_and_an_empty_selector_none() -> None:
    """Labels are those of the nodes."""
    nodes = facts("n1", "n2", labels={"n2": {"rack": "a"}})
    members = [{"type": "Node", "selector": {"labelMatch": {"matchLabels": {"rack": "a"}}}}]
    empty = [{"type": "Node", "selector": {"labelMatch": {}}}]

    assert nodes_of(tree(nodes, h=(1, members), e=(1, empty)), "h") == [1]
    assert nodes_of(tree(nodes, e=(1, empty)), "e") == []


def test_selectors_without_a_match_are_reported() -> None:
    """An operator that label selectors do not know, and a selector that says nothing."""
    odd = {"matchExpressions": [{"key": "rack", "operator": "Exists"}, {"key": "rack", "operator": "Is"}]}
    topology = tree(
        facts("n1", labels={"n1": {"rack": "1"}}),
        odd=(1, [{"type": "Node", "selector": {"labelMatch": odd}}]),
        silent=(1, [{"type": "Node", "selector": {}}, {"type": "Node", "selector": {"labelMatch": {}}}]),
    )

    assert (nodes_of(topology, "odd"), nodes_of(topology, "silent")) == ([], [])
    assert [(fault.name, fault.path, fault.message) for fault in topology.faults] == [
        (
            "odd",
            "spec.members[0].selector.labelMatch.matchExpressions[1].operator",
            "'Is' is none of In, NotIn, Exists, DoesNotExist; selects nothing",
        ),
        ("silent", "spec.members[0].selector", "selects nothing"),
        ("silent", "spec.members[1].selector", "selects nothing"),
    ]


def test_unknown_members_are_skipped_and_reported() -> None:
    """A node or HyperNode that is not there yet is named."""
    topology = tree(FOUR, h=(2, [*exact("Node", "n1", "gone"), *exact("HyperNode", "later")]))

    assert nodes_of(topology, "h") == [0]
    assert [fault.message for fault in topology.faults] == [
        "no HyperNode is named 'later'",
        "no node is named 'gone'",
    ]


def test_a_child_of_two_belongs_to_the_older() -> None:
    """The younger parent does without it, and is named."""
    topology = tree(
        FOUR,
        s0=(1, exact("Node", "n1")),
        z=(2, exact("HyperNode", "s0")),
        a=(2, [*exact("HyperNode", "s0"), *exact("Node", "n2")]),
    )

    assert nodes_of(topology, "z") == [0]
    assert nodes_of(topology, "a") == [1]
    assert [(fault.name, fault.message) for fault in topology.faults] == [
        ("a", "HyperNode 's0' already belongs to 'z'; not counted")
    ]


def test_a_node_in_two_hyper_nodes_of_a_tier_is_reported() -> None:
    """It counts in both; one that is in a row beside its rack is in order."""
    topology = tree(
        FOUR,
        a=(1, exact("Node", "n1", "n2", "n3")),
        b=(1, exact("Node", "n2", "n3", "n4")),
        row=(2, exact("HyperNode", "a", "b") + exact("Node", "n1")),
    )

    (fault,) = topology.faults
    assert (fault.name, fault.path) == ("b", "spec.members")
    assert fault.message == "node 'n2' and 1 more also in 'a' of the same tier; counts in both"
    assert (nodes_of(topology, "a"), nodes_of(topology, "b")) == ([0, 1, 2], [1, 2, 3])


def test_a_circle_is_left_out_and_the_rest_stands() -> None:
    """HyperNodes that contain each other go; what else they contain stands by itself under the root."""
    topology = tree(
        FOUR,
        a=(2, exact("HyperNode", "b")),
        b=(3, exact("HyperNode", "a", "s0")),
        s0=(1, exact("Node", "n1")),
        s1=(1, exact("Node", "n2")),
    )

    assert sorted(topology.numbers) == sorted([ROOT, "s0", "s1"])
    assert topology.domains[topology.numbers["s0"]].parent == topology.root
    assert sorted({fault.name for fault in topology.faults}) == ["a", "b"]


def test_a_tall_tower_of_hyper_nodes_is_no_trouble() -> None:
    """Depth is not limited by the language's stack."""
    tower = {f"h{number:04d}": (number, exact("HyperNode", f"h{number - 1:04d}")) for number in range(2, 1500)}
    topology = tree(FOUR, h0001=(1, exact("Node", "n3")), **tower)

    assert nodes_of(topology, "h1499") == [2]


def test_sums_by_domain() -> None:
    """Values of nodes add up, also for a domain without nodes."""
    topology = tree(FOUR, **ROWS, e=(1, exact("Node", "gone")))

    sums = topology.sums(np.array([1, 2, 4, 8]))

    assert {domain.name: int(value) for domain, value in zip(topology.domains, sums, strict=True)} == {
        "e": 0,
        "s0": 3,
        "s1": 12,
        "s2": 15,
        ROOT: 15,
    }


def test_the_innermost_domain_around_nodes() -> None:
    """The lowest tier that holds them all; none where there are no nodes."""
    topology = tree(FOUR, **ROWS)

    def around(*columns: int) -> int:
        return topology.innermost(np.array(columns, dtype=np.int64))

    assert around(0, 1) == topology.numbers["s0"]
    assert around(1, 2) == topology.numbers["s2"]
    assert around() == NONE


def test_the_common_domain() -> None:
    """The innermost around both; an absent one leaves the other."""
    topology = tree(FOUR, **ROWS)
    s0, s1, s2 = (topology.numbers[name] for name in ("s0", "s1", "s2"))

    assert topology.common(s0, s1) == s2
    assert topology.common(s0, s2) == s2
    assert topology.common(NONE, s1) == s1
