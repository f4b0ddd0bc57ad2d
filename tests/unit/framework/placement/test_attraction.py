"""Ranks of nodes by pods that attract a task."""

import numpy as np
import pytest

from pyroclast.framework.placement.topology.attraction import closeness_ranks
from pyroclast.model.topology.layers import Layer, topology_of_layers
from pyroclast.testing import Scenario

LAYERS = (Layer("SpineLayer", ("net/spine",)), Layer("BlockLayer", ("net/block",)))
BLOCKS = (("s1", "b1"), ("s1", "b1"), ("s1", "b2"), ("s2", "b3"), ("", ""))


@pytest.mark.parametrize(
    ("attraction", "candidates", "expected"),
    [
        ([0, 0, 0, 0, 0], [0, 1, 2, 3, 4], [3, 4, 2, 0, 1]),
        ([0, 0, 2, 0, 0], [0, 1, 2, 3, 4], [1, 2, 0, 3, 4]),
        ([0, 1, 0, 1, 0], [0, 1, 2, 3], [2, 1, 3, 0]),
        ([5, 0, 0, 0, 1], [1, 2, 3, 4], [1, 2, 3, 0]),
        ([0, 0, 0, 0, 0], [2], [0]),
    ],
)
def test_nodes_are_ranked_from_the_node_upwards(
    attraction: list[int], candidates: list[int], expected: list[int]
) -> None:
    """More attracting pods first, then the domain with fewer candidates, then the name."""
    scenario = Scenario()
    for number, (spine, block) in enumerate(BLOCKS):
        scenario = scenario.node(f"n{number}", labels={"net/spine": spine, "net/block": block} if spine else {})
    tree = topology_of_layers(LAYERS, scenario.run().rounds[0].snapshot.nodes.facts)
    ranks = closeness_ranks(tree, np.array(attraction, dtype=np.int64), np.array(candidates, dtype=np.int64))

    assert ranks.tolist() == expected
