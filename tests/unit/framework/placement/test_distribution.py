"""Distribution of a gang over the domains of the network: the numbers of Koordinator's planner."""

from collections.abc import Mapping

import numpy as np
import pytest

from pyroclast.framework.placement.topology.distribution import Distribution
from pyroclast.model.topology.tree import NONE, ROOT, Domain, Topology

NODES = ("n1", "n2", "n3", "n4")
NODE_TIER, BLOCK_TIER = 1, 2


def spine() -> Topology:
    """Spine s1 with the blocks b1 of n1 and n2, and b2 of n3 and n4."""

    def domain(name: str, tier: int, parent: int, children: tuple[int, ...], columns: list[int]) -> Domain:
        return Domain(name=name, tier=tier, parent=parent, children=children, columns=np.array(columns, dtype=np.int64))

    domains = [
        *(domain(name, 1, 4 + column // 2, (), [column]) for column, name in enumerate(NODES)),
        domain("s1/b1", 2, 6, (0, 1), [0, 1]),
        domain("s1/b2", 2, 6, (2, 3), [2, 3]),
        domain("s1", 3, 7, (4, 5), [0, 1, 2, 3]),
        domain(ROOT, 4, NONE, (6,), [0, 1, 2, 3]),
    ]
    return Topology(domains, nodes=4, tier_by_name={}, faults=())


def distribution(
    offers: list[int], multiples: Mapping[int, int] | None = None, scores: tuple[float, ...] = (0, 0, 0, 0)
) -> Distribution:
    """The distribution over the spine."""
    return Distribution(spine(), np.array(offers, dtype=np.int64), multiples=multiples or {}, scores=np.array(scores))


def attracted(offers: list[int], attraction: list[int]) -> Distribution:
    """The distribution over the spine, where nodes have pods that attract the tasks."""
    return Distribution(
        spine(),
        np.array(offers, dtype=np.int64),
        multiples={},
        scores=np.zeros(4),
        attraction=np.array(attraction, dtype=np.int64),
    )


def counts(found: list[tuple[int, int]] | None) -> list[int] | None:
    """Tasks of each node, in the order of nodes."""
    if found is None:
        return None
    by_node = dict(found)
    return [by_node.get(column, 0) for column in range(len(NODES))]


@pytest.mark.parametrize(
    ("count", "offers", "multiples", "expected"),
    [
        (15, [5, 7, 6, 4], {}, [5, 7, 3, 0]),
        (20, [5, 7, 6, 4], {NODE_TIER: 4}, None),
        (16, [5, 7, 6, 4], {NODE_TIER: 4}, [4, 4, 4, 4]),
        (16, [5, 7, 6, 4], {BLOCK_TIER: 8}, [1, 7, 6, 2]),
        (16, [5, 7, 6, 4], {NODE_TIER: 2, BLOCK_TIER: 8}, [2, 6, 6, 2]),
        (10, [5, 5, 0, 0], {NODE_TIER: 4}, None),
        (7, [5, 7, 6, 4], {}, [0, 7, 0, 0]),
        (6, [5, 7, 6, 4], {}, [0, 0, 6, 0]),
        (11, [5, 7, 6, 4], {}, [4, 7, 0, 0]),
    ],
)
def test_tasks_are_distributed_as_in_koordinator(
    count: int, offers: list[int], multiples: dict[int, int], expected: list[int] | None
) -> None:
    """The lowest domains that hold all tasks, tightest first, and the largest offers first inside them."""
    assert counts(distribution(offers, multiples).places(count, range(8))) == expected


def test_offers_are_rounded_before_they_are_added_up() -> None:
    """Offers after rounding: by nodes, by blocks, and by both."""
    by_nodes = distribution([5, 7, 6, 4], {NODE_TIER: 4})
    assert [by_nodes.offer(number) for number in (4, 5, 6)] == [8, 8, 16]
    by_blocks = distribution([5, 7, 6, 4], {BLOCK_TIER: 8})
    assert [by_blocks.offer(number) for number in (4, 5, 6)] == [8, 8, 16]
    by_both = distribution([5, 7, 6, 4], {NODE_TIER: 2, BLOCK_TIER: 8})
    assert [by_both.offer(number) for number in range(7)] == [4, 6, 6, 4, 8, 8, 16]


def test_only_allowed_domains_hold_the_gang() -> None:
    """A gang that must be in one block does not use the spine."""
    blocks = [0, 1, 2, 3, 4, 5]

    assert counts(distribution([5, 7, 6, 4]).places(12, blocks)) == [5, 7, 0, 0]
    assert distribution([5, 7, 6, 4]).places(13, blocks) is None


def test_of_equal_domains_the_one_in_the_smaller_domain_is_first() -> None:
    """Two nodes offer what is needed; the block of the second one offers less."""
    assert counts(distribution([5, 7, 5, 4]).places(5, range(8))) == [0, 0, 5, 0]


def test_scores_decide_among_equal_offers() -> None:
    """Both among domains that hold the gang, and among those inside one."""
    assert counts(distribution([5, 5, 5, 5], scores=(0, 0, 0, 1)).places(5, range(8))) == [0, 0, 0, 5]
    assert counts(distribution([5, 5, 5, 5], scores=(0, 1, 0, 0)).places(6, range(8))) == [1, 5, 0, 0]
    assert counts(distribution([5, 5, 5, 5], scores=(0, 0, 0, 1)).places(6, range(8))) == [0, 0, 1, 5]


@pytest.mark.parametrize(
    ("count", "attraction", "expected"),
    [
        (5, [0, 0, 0, 0], [0, 0, 5, 0]),
        (5, [1, 0, 0, 0], [5, 0, 0, 0]),
        (5, [0, 0, 0, 1], [0, 0, 5, 0]),
        (8, [2, 0, 1, 0], [5, 3, 0, 0]),
        (8, [0, 0, 1, 2], [0, 0, 4, 4]),
    ],
)
def test_domains_with_pods_that_attract_come_first(count: int, attraction: list[int], expected: list[int]) -> None:
    """The domain itself decides before those around it, and inside it its nodes with most such pods come first."""
    assert counts(attracted([5, 7, 5, 4], attraction).places(count, range(8))) == expected
