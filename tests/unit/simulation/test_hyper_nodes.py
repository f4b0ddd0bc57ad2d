"""HyperNodes of cases."""

from typing import Any

import pytest

from pyroclast.scheduler.simulation.fields import CaseError
from pyroclast.scheduler.simulation.hyper_nodes import hyper_nodes

TABLES = {
    "objects": [{"metadata": {"name": "s2"}, "spec": {"tier": 2, "tierName": "block"}}],
    "byTier": {"1": ["s0", "s1"], "2": ["s2"]},
    "realNodes": {"s0": ["n1", "n2"], "s1": ["n3"], "s2": ["n1", "n2", "n3", "n4"]},
    "objectsIncomplete": True,
}


def members(each: Any) -> list[tuple[str, str]]:
    """Return type and name of the members of a HyperNode."""
    return [(member["type"], member["selector"]["exactMatch"]["name"]) for member in each["spec"]["members"]]


def test_objects_are_taken_as_they_are() -> None:
    """From a list, and from `objects`."""
    each = {"metadata": {"name": "s0"}, "spec": {"tier": 1}}

    assert hyper_nodes([each]) == [{"kind": "HyperNode", **each}]
    assert hyper_nodes({"objects": [each], "byTier": {"1": ["s0"]}}) == [{"kind": "HyperNode", **each}]
    assert hyper_nodes(None) == []


def test_incomplete_objects_give_way_to_the_tables() -> None:
    """A domain has the largest domains inside it, and nodes that are in none of them."""
    s0, s1, s2 = hyper_nodes(TABLES)

    assert members(s0) == [("Node", "n1"), ("Node", "n2")]
    assert members(s1) == [("Node", "n3")]
    assert members(s2) == [("HyperNode", "s0"), ("HyperNode", "s1"), ("Node", "n4")]
    assert [each["spec"]["tier"] for each in (s0, s1, s2)] == [1, 1, 2]


def test_tier_names_are_kept() -> None:
    """Where an object of the tier says one."""
    assert [each["spec"]["tierName"] for each in hyper_nodes(TABLES)] == ["", "", "block"]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (5, "hyperNodes: expected a list, got int"),
        (["s0"], "hyperNodes[0]: expected an object, got str"),
        ({"objects": [[]]}, "hyperNodes.objects[0]: expected an object, got list"),
        ({**TABLES, "objects": [{"spec": []}]}, "hyperNodes.objects[0].spec: expected an object, got list"),
        (
            {**TABLES, "objects": [{"spec": {"tier": None, "tierName": "rack"}}]},
            "hyperNodes.objects[0].spec.tier: expected a whole number, got None",
        ),
        ({**TABLES, "byTier": ["s0"]}, "hyperNodes.byTier: expected an object, got list"),
        ({**TABLES, "byTier": {"low": ["s0"]}}, "hyperNodes.byTier: expected a whole number, got 'low'"),
        ({**TABLES, "realNodes": {"s0": "n1"}}, "hyperNodes.realNodes.s0: expected a list, got str"),
    ],
)
def test_what_is_no_hyper_node_is_a_fault_with_its_path(value: Any, fault: str) -> None:
    """The case is answered with it, as with every other field."""
    with pytest.raises(CaseError) as error:
        hyper_nodes(value)

    assert str(error.value) == fault
