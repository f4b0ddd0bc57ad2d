"""Nodes are assigned to shards by Volcano's policies."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.controllers.sharding.assignment import (
    CpuRange,
    NodeLimit,
    Shard,
    ShardNode,
    Warmup,
    assigned,
    is_due,
)


def node(name: str, used: int = 0, **labels: str) -> ShardNode:
    """Return a node."""
    return ShardNode(name=name, labels=labels, used_percent=used)


def test_nodes_are_divided_by_their_use() -> None:
    """A node between two ranges is in no shard, and the first shard has the choice where ranges overlap."""
    low = Shard(name="low", ranges=(CpuRange(maximum=60),))
    high = Shard(name="high", ranges=(CpuRange(minimum=60, maximum=80),))
    nodes = [node("a", 0), node("b", 60), node("c", 70), node("d", 81)]

    assert assigned([low, high], nodes) == {"low": ("a", "b"), "high": ("c",)}
    assert assigned([high, low], nodes) == {"high": ("b", "c"), "low": ("a",)}


def test_the_fullest_nodes_are_taken_first() -> None:
    """Then by name, up to the limit; the smallest limit counts."""
    shard = Shard(name="s", ranges=(CpuRange(),), limits=(NodeLimit(maximum=3), NodeLimit(minimum=9, maximum=2)))

    assert assigned([shard], [node("a", 1), node("d", 5), node("c", 5), node("b", 5)]) == {"s": ("b", "c")}


@pytest.mark.parametrize(("weight", "first"), [(1, "full"), (2, "warm")])
def test_warmup_nodes_come_first_by_weight(weight: int, first: str) -> None:
    """The weights of policies are added."""
    shard = Shard(
        name="s",
        ranges=(CpuRange(minimum=0, maximum=50),),
        warmups=(Warmup(label="warm", value="yes", weight=weight),),
        limits=(NodeLimit(maximum=1),),
    )
    nodes = [node("full", 50), node("warm", 0 if weight == 1 else 1, warm="yes")]

    # with weight 1 both score 1, and the name decides
    assert assigned([shard], nodes) == {"s": (first,)}


def test_a_range_of_one_point_scores_alike() -> None:
    """There is nothing to divide by."""
    shard = Shard(name="s", ranges=(CpuRange(minimum=50, maximum=50),), limits=(NodeLimit(maximum=1),))

    assert assigned([shard], [node("b", 50), node("a", 50), node("c", 49)]) == {"s": ("a",)}


def test_shards_without_policies_take_all_nodes() -> None:
    """The next ones get none."""
    assert assigned([Shard(name="a"), Shard(name="b")], [node("n")]) == {"a": ("n",), "b": ()}


RANGES = st.builds(
    lambda low, size, weight: CpuRange(minimum=low, maximum=min(100, low + size), weight=weight),
    st.integers(0, 100),
    st.integers(0, 100),
    st.integers(1, 5),
)
SHARDS = st.lists(
    st.tuples(st.lists(RANGES, max_size=2), st.lists(st.integers(1, 4), max_size=2)), min_size=1, max_size=4
)


@given(shards=SHARDS, used=st.lists(st.integers(0, 100), max_size=12), order=st.randoms(use_true_random=False))
def test_a_node_is_in_one_shard_at_most_whatever_the_order(
    shards: list[tuple[list[CpuRange], list[int]]],
    used: list[int],
    order: Random,
) -> None:
    """Each shard has nodes of its ranges alone, and at most its limits."""
    made = [
        Shard(name=f"s{number}", ranges=tuple(ranges), limits=tuple(NodeLimit(maximum=each) for each in limits))
        for number, (ranges, limits) in enumerate(shards)
    ]
    nodes = [node(f"n{number:02}", each) for number, each in enumerate(used)]
    found = assigned(made, nodes)
    shuffled = list(nodes)
    order.shuffle(shuffled)

    assert assigned(made, shuffled) == found
    everywhere = [name for names in found.values() for name in names]
    assert len(everywhere) == len(set(everywhere))
    by_name = {each.name: each for each in nodes}
    for shard in made:
        assert len(found[shard.name]) <= min((each.maximum for each in shard.limits), default=len(nodes))
        for name in found[shard.name]:
            assert all(each.minimum <= by_name[name].used_percent <= each.maximum for each in shard.ranges)


TWENTY = [f"n{number:02}" for number in range(20)]


@pytest.mark.parametrize(
    ("current", "desired", "due"),
    [
        ({}, [], True),
        ({"s": []}, [], False),
        ({"s": ["n00"]}, ["n01"], True),
        ({"s": ["n00"]}, [], True),
        ({"s": TWENTY[:10]}, TWENTY[1:11], True),
        ({"s": TWENTY}, [*TWENTY[1:], "m0"], False),
        ({"s": TWENTY}, [*TWENTY[2:], "m0", "m1"], True),
        ({"s": ["gone", *TWENTY[1:]]}, TWENTY, True),
    ],
)
def test_small_changes_wait(current: dict[str, list[str]], desired: list[str], due: bool) -> None:
    """A tenth of the nodes, another number of nodes, or a node that is gone is a reason to write."""
    assert is_due(current, {"s": desired}, [*TWENTY, "m0", "m1"]) is due
