"""Network-topology-aware: the arithmetic, by the numbers of its page."""

import numpy as np
import pytest

from pyroclast.model.arrays import IntArray
from pyroclast.model.topology.tree import Topology
from pyroclast.plugins.network_topology_aware.closeness import Closeness, Distances
from pyroclast.plugins.network_topology_aware.fullness import fullness
from pyroclast.plugins.network_topology_aware.gradients import capped_widest_first
from pyroclast.plugins.network_topology_aware.packing import Chains, Packing
from tests.unit.model.test_topology_tree import exact, facts, tree

NODES = facts("s3-n1", "s3-n2", "s4-n1", "s4-n2", "s5-n1", "s5-n2", "s6-n1", "s6-n2")
RACKS = {f"s{rack}": (1, exact("Node", f"s{rack}-n1", f"s{rack}-n2")) for rack in (3, 4, 5, 6)}
ROWS = {"s1": (2, exact("HyperNode", "s3", "s4")), "s2": (2, exact("HyperNode", "s5", "s6"))}
HALL = {"s0": (3, exact("HyperNode", "s1", "s2"))}
OFFERED: IntArray = np.array([[2, 2, 4, 4, 2, 2, 4, 4], [4, 4, 4, 4, 8, 8, 8, 8]])
"""CPUs and GB of each node."""


def by_name(topology: Topology, scores: np.ndarray) -> dict[str, float]:
    """Scores by domain."""
    return {domain.name: round(float(score), 1) for domain, score in zip(topology.domains, scores, strict=True)}


def test_domains_by_fullness() -> None:
    """Two tasks of 4 CPU / 4 GB."""
    topology = tree(NODES, **RACKS, **ROWS, **HALL)
    offered = topology.sums(OFFERED)

    scores = 100 * fullness(np.array([8, 8]), np.zeros_like(offered), offered, (1, 1))

    expected = {"s0": 25.0, "s1": 58.3, "s2": 45.8, "s3": 0.0, "s4": 100.0, "s5": 0.0, "s6": 75.0}
    assert by_name(topology, scores) == {**expected, "<cluster-top-hypernode>": 25.0}


def test_domains_by_fullness_with_other_resources() -> None:
    """Weight 10, cpu 3, memory 4, foo 3."""
    topology = tree(NODES, **RACKS, **ROWS, **HALL)
    offered = topology.sums(np.vstack([OFFERED, [8, 0, 8, 0, 16, 0, 16, 0]]))

    scores = 1000 * fullness(np.array([8, 8, 16]), np.zeros_like(offered), offered, (3, 4, 3))

    named = by_name(topology, scores)
    assert (named["s0"], named["s1"], named["s2"], named["s4"], named["s6"]) == (266.7, 700.0, 450.0, 0.0, 800.0)


def closeness(topology: Topology, *placed: str, size: int = 4, factor: float = 100.0) -> dict[str, float]:
    """Score the racks, where all nodes are candidates."""
    columns = [[str(node.name) for node in NODES.nodes].index(name) for name in placed]
    scored = Closeness(Distances(topology), placed=np.array(columns, dtype=np.int64), size=size, factor=factor)
    groups = scored.groups
    scores = scored.scores(np.bincount(groups, minlength=scored.group_count))[groups]
    return {NODES.nodes[column].name[:2]: round(float(scores[column]), 1) for column in range(8)}


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ({**RACKS, **ROWS, **HALL}, {"s3": 125.0, "s4": 66.7, "s5": 33.3, "s6": 33.3}),
        ({**RACKS, **ROWS}, {"s3": 125.0, "s4": 50.0, "s5": 0.0, "s6": 0.0}),
        (RACKS, {"s3": 125.0, "s4": 0.0, "s5": 0.0, "s6": 0.0}),
    ],
)
def test_nodes_by_closeness(layers: dict, expected: dict[str, float]) -> None:  # type: ignore[type-arg]  # made above
    """One of four tasks is on s3: its rack scores full, with its share; the others by the tier they share."""
    assert closeness(tree(NODES, **layers), "s3-n1") == expected


def test_nodes_by_closeness_of_a_row() -> None:
    """Two of four tasks on s3, one on s4: the racks of the row are equally close, then count by their share."""
    topology = tree(NODES, **RACKS, **ROWS, **HALL)

    scores = closeness(topology, "s3-n1", "s3-n2", "s4-n1")

    assert scores == {"s3": 116.7, "s4": 91.7, "s5": 33.3, "s6": 33.3}


def test_nothing_placed_scores_nothing() -> None:
    """The first place is free."""
    assert set(closeness(tree(NODES, **RACKS)).values()) == {0.0}


def packing(
    topology: Topology, fading: float, request: list[int], weights: tuple[int, ...], offered: IntArray
) -> list[float]:
    """Score the first node of each rack for one task on an empty cluster."""
    by_domain = topology.sums(offered)
    scored = Packing(
        Chains(topology, fading),
        request=np.array(request),
        used=np.zeros_like(by_domain),
        allocatable=by_domain,
        weights=weights,
        factor=100.0,
    )
    scores = scored.scores(np.zeros(0, dtype=np.int64))[scored.groups]
    return [round(float(score), 1) for score in scores[::2]]


def test_other_tasks_break_the_fullest_domains() -> None:
    """2 CPU / 4 GB on the empty cluster."""
    assert packing(tree(NODES, **RACKS, **ROWS, **HALL), 0.8, [2, 4], (1, 1), OFFERED) == [25.8, 21.6, 19.9, 15.7]


def test_without_fading_only_tier_1_counts() -> None:
    """A task of 8 foo beside CPU and memory; weight 10."""
    offered = np.vstack([OFFERED, [8, 8, 8, 8, 16, 16, 16, 16]])
    scores = packing(tree(NODES, **RACKS, **ROWS, **HALL), 0.0, [2, 4, 8], (1, 4, 3), offered)

    assert [10 * score for score in scores] == [500.0, 469.0, 281.0, 250.0]


@pytest.mark.parametrize("fading", [0.8, 1.0, 1.25])
def test_tiers_without_domains_count_as_full(fading: float) -> None:
    """Racks in tier 1, a hall in tier 4, all above it: what the two tiers between them weigh is full everywhere."""
    hall = {"s0": (4, exact("HyperNode", "s3", "s4", "s5", "s6"))}
    weights = [fading**tier for tier in range(5)]
    in_hall = (2 / 24 + 4 / 48) / 2

    expected = [
        round(100 * (weights[0] * rack + weights[1] + weights[2] + sum(weights[3:]) * in_hall) / sum(weights), 1)
        for rack in (0.5, 0.375, 0.375, 0.25)
    ]
    assert packing(tree(NODES, **RACKS, **hall), fading, [2, 4], (1, 1), OFFERED) == expected


@pytest.mark.parametrize(
    ("fading", "expected"),
    [(0.8, [90.0, 87.5, 87.5, 85.0]), (0.0, [50.0, 37.5, 37.5, 25.0]), (1.25, [67.0, 67.0, 67.0, 67.0])],
)
@pytest.mark.parametrize("tier", [2_000_000_000, 2**62])
def test_tiers_may_be_as_far_apart_as_numbers(tier: int, fading: float, expected: list[float]) -> None:
    """The sum over all that lie between has an end, or the one that weighs most settles it."""
    hall = {"s0": (tier, exact("HyperNode", "s3", "s4", "s5", "s6"))}

    assert packing(tree(NODES, **RACKS, **hall), fading, [2, 4], (1, 1), OFFERED) == expected


def test_a_tier_below_nothing_is_a_tier() -> None:
    """No API server takes one; here it weighs the most, and the racks next to nothing."""
    cellar = {"s0": (-3180, exact("Node", "s3-n1", "s3-n2"))}
    scores = packing(tree(NODES, **RACKS, **cellar), 0.8, [2, 4], (1, 1), OFFERED)

    assert scores == [90.0, 100.0, 100.0, 100.0]


def test_domains_for_victims_go_widest_first() -> None:
    """At most so many; of the tier that is cut the last ones stay."""
    assert capped_widest_first([[0, 1], [2, 3]], 3) == [[2, 3], [1]]
