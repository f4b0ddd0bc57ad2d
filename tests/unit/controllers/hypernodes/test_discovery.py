from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.controllers.hypernodes.discovery import discovered
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.api.topology import HyperNode
from pyroclast.model.wire import Node

ROWS = {"rows": ("rack", "row")}


def node(name: str, **labels: str) -> Node:
    """Make a node."""
    return Node(metadata=ObjectMeta(name=name, labels=labels))


def hyper_node(name: str, source: str = "label", **labels: str) -> HyperNode:
    """Make a HyperNode that is there."""
    metadata = {"name": name, "labels": {"volcano.sh/network-topology-source": source, **labels}}
    return msgspec.convert({"metadata": metadata, "spec": {"tier": 1}}, HyperNode)


def members(made: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the members by the value of the domain's label."""
    return {
        each["metadata"]["labels"][each["spec"]["tierName"]]: [
            member["selector"]["exactMatch"]["name"] for member in each["spec"]["members"]
        ]
        for each in made
    }


NODES = [
    node("n3", rack="r1", row="a"),
    node("n1", rack="r0", row="a"),
    node("n2", rack="r0", row="a"),
    node("n4", rack="r2", row="b"),
]


def test_racks_are_made_of_nodes_and_rows_of_racks() -> None:
    """Names tell type and tier, labels the source and the value; members are in order."""
    made = discovered(ROWS, NODES, [])
    by_value = members(made)
    racks = {value: each["metadata"]["name"] for each in made for value in each["metadata"]["labels"].values()}

    assert by_value["r0"] == ["n1", "n2"]
    assert by_value["r1"] == ["n3"]
    assert by_value["a"] == sorted([racks["r0"], racks["r1"]])
    assert by_value["b"] == [racks["r2"]]
    row = next(each for each in made if each["metadata"]["labels"].get("row") == "a")
    assert row["metadata"]["name"].startswith("hypernode-rows-tier2-")
    assert row["metadata"]["labels"] == {"volcano.sh/network-topology-source": "label", "row": "a"}
    assert (row["spec"]["tier"], row["spec"]["tierName"]) == (2, "row")
    assert {member["type"] for member in row["spec"]["members"]} == {"HyperNode"}


def test_a_node_without_a_label_is_in_no_domain_above_it() -> None:
    """Its rack is unknown, and so is its place in the row."""
    made = discovered(ROWS, [node("n1", row="a"), node("n2", rack="r0")], [])

    assert members(made) == {"r0": ["n2"]}


def test_names_in_use_are_kept() -> None:
    """Also those that Volcano made up; of several the first by name."""
    there = [hyper_node("hypernode-rows-tier1-zzzzz", rack="r0"), hyper_node("hypernode-rows-tier1-abcde", rack="r0")]

    made = discovered(ROWS, NODES, there)

    names = [each["metadata"]["name"] for each in made if each["metadata"]["labels"].get("rack") == "r0"]
    assert names == ["hypernode-rows-tier1-abcde"]


def test_names_of_others_are_left_to_them() -> None:
    """A domain of another source, type or tier."""
    first = {each["metadata"]["name"] for each in discovered(ROWS, NODES, [])}
    others = [hyper_node(name, source="ufm") for name in first]
    others.append(hyper_node("hypernode-rows-tier10-abcde", rack="r0"))

    second = {each["metadata"]["name"] for each in discovered(ROWS, NODES, others)}

    assert len(second) == len(first)
    assert not second & first
    assert "hypernode-rows-tier10-abcde" not in second


def test_a_label_in_two_types_makes_one_domain() -> None:
    """A node in two racks at once would be a fault."""
    made = discovered({"a": ("rack",), "b": ("rack", "row")}, NODES, [])

    racks = [each for each in made if each["spec"]["tierName"] == "rack"]
    assert len(racks) == 3
    assert all(each["metadata"]["name"].startswith("hypernode-a-tier1-") for each in racks)


def test_type_names_become_parts_of_names() -> None:
    """In lower case, with a dash for what a name may not have."""
    (made,) = discovered({"Row A_1": ("rack",)}, [node("n", rack="r")], [])

    assert made["metadata"]["name"].startswith("hypernode-row-a-1-tier1-")


@given(order=st.permutations(NODES))
def test_the_order_of_nodes_does_not_matter(order: list[Node]) -> None:
    """Nor whether it was discovered before."""
    made = discovered(ROWS, order, [])

    assert made == discovered(ROWS, NODES, [])
    assert made == discovered(ROWS, NODES, [msgspec.convert(each, HyperNode) for each in made])
