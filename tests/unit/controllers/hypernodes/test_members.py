from typing import Any

import msgspec
import pytest

from pyroclast.controllers.hypernodes.members import depends_on_nodes, member_names
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.api.topology import HyperNode
from pyroclast.model.wire import Node

NODES = [
    Node(metadata=ObjectMeta(name=name, labels={"rack": rack}))
    for name, rack in (("node-1", "a"), ("node-2", "a"), ("node-10", "b"), ("other", "b"))
]


def hyper_node(*selectors: dict[str, Any], type_: str = "Node") -> HyperNode:
    """Make a HyperNode of selectors."""
    members = [{"type": type_, "selector": selector} for selector in selectors]
    return msgspec.convert({"metadata": {"name": "h"}, "spec": {"tier": 1, "members": members}}, HyperNode)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"exactMatch": {"name": "node-1"}}, {"node-1"}),
        ({"exactMatch": {"name": "nowhere"}}, {"nowhere"}),
        ({"regexMatch": {"pattern": "node-1"}}, {"node-1", "node-10"}),
        ({"regexMatch": {"pattern": "^node-1$"}}, {"node-1"}),
        ({"regexMatch": {"pattern": "("}}, set()),
        ({"labelMatch": {"matchLabels": {"rack": "b"}}}, {"node-10", "other"}),
        (
            {"labelMatch": {"matchExpressions": [{"key": "rack", "operator": "NotIn", "values": ["b"]}]}},
            {"node-1", "node-2"},
        ),
        ({"labelMatch": {}}, set()),
        ({}, set()),
    ],
)
def test_what_a_selector_gives(selector: dict[str, Any], expected: set[str]) -> None:
    """Exact names count without being looked for; an empty or broken selector gives nothing."""
    assert member_names(hyper_node(selector), NODES) == expected


def test_names_count_once() -> None:
    """However many members give them."""
    of = hyper_node({"exactMatch": {"name": "node-1"}}, {"labelMatch": {"matchLabels": {"rack": "a"}}})

    assert member_names(of, NODES) == {"node-1", "node-2"}


def test_hyper_nodes_count_by_name() -> None:
    """Each as one, whatever it consists of."""
    of = hyper_node({"exactMatch": {"name": "s0"}}, {"exactMatch": {"name": "s1"}}, type_="HyperNode")

    assert member_names(of, NODES) == {"s0", "s1"}


def test_only_selectors_depend_on_nodes() -> None:
    """Names are the same whatever nodes there are."""
    assert not depends_on_nodes(hyper_node({"exactMatch": {"name": "node-1"}}))
    assert depends_on_nodes(hyper_node({"regexMatch": {"pattern": "x"}}))
    assert depends_on_nodes(hyper_node({"labelMatch": {}}))
