"""Dividing what is there among quotas: Koordinator's worked numbers, and what holds for any."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pyroclast.model.elastic.fair import Sharer, divided, scaled


def sharer(name: str, weight: int, asked: int, guaranteed: int, *, lends: bool = True) -> Sharer:
    """What a quota brings, in the order in which the tables give it."""
    return Sharer(name, guaranteed, asked, weight, lends)


N = [sharer("n1", 40, 5, 10), sharer("n2", 60, 20, 15), sharer("n3", 50, 40, 20), sharer("n4", 80, 70, 15)]
WITHOUT_WEIGHT = [*N[:3], sharer("n4", 0, 70, 15)]
ABC = [sharer("a", 60, 80, 40), sharer("b", 30, 50, 20), sharer("c", 10, 5, 20)]
BORROWERS = [sharer(f"q{at:02}", 1, 1000, 8 if at < 8 else 7) for at in range(10)]
G = 1024**3


@pytest.mark.parametrize(
    ("total", "sharers", "parts"),
    [
        pytest.param(100, N, [5, 20, 35, 40], id="all lend"),
        pytest.param(100, WITHOUT_WEIGHT, [5, 20, 40, 15], id="no weight, nothing beyond the guarantee"),
        pytest.param(100, [*N[:3], sharer("n4", 0, 70, 45)], [5, 20, 30, 45], id="a raised guarantee"),
        pytest.param(81, [sharer("p", 1, 0, 3), *BORROWERS], [0, *[9] * 3, *[8] * 5, *[7] * 2], id="ties by name"),
        pytest.param(96, [sharer("a", 96, 96, 50), sharer("b", 96, 96, 40)], [53, 43], id="equal weights, cpu"),
        pytest.param(160, [sharer("a", 160, 160, 80), sharer("b", 160, 160, 80)], [80, 80], id="the same, memory"),
        pytest.param(50, [sharer("a", 40, 30, 10), sharer("b", 40, 30, 0)], [30, 20], id="no guarantee"),
        pytest.param(120, [sharer("a", 1, 80, 50), sharer("b", 1, 100, 50)], [60, 60], id="half each"),
        pytest.param(120, [sharer("a", 1, 80, 50)], [80], id="alone, up to the maximum"),
        pytest.param(100, [sharer("t1", 1, 0, 60), sharer("t2", 1, 90, 50)], [0, 90], id="all is lent"),
        pytest.param(100, [sharer("t1", 1, 30, 60), sharer("t2", 1, 90, 50)], [30, 70], id="a part is lent"),
        pytest.param(100, [sharer("t1", 1, 60, 60), sharer("t2", 1, 90, 50)], [60, 50], id="guarantees exceed it"),
        pytest.param(100, [sharer("t1", 1, 60, 54), sharer("t2", 1, 90, 45)], [55, 45], id="guarantees were cut"),
        pytest.param(100, [sharer("a", 96, 96, 60), sharer("b", 1, 0, 40, lends=False)], [60, 40], id="one keeps"),
        pytest.param(100, ABC, [63, 32, 5], id="by weight, all lend"),
        pytest.param(100, [*ABC[:2], sharer("c", 10, 5, 20, lends=False)], [53, 27, 20], id="by weight, one keeps"),
        pytest.param(50, [sharer("a", 40, 40, 40), sharer("b", 40, 40, 5)], [40, 10], id="up to maximums"),
        pytest.param(-5, [sharer("a", 1, 10, 0)], [0], id="less than nothing is there"),
        pytest.param(10, [], [], id="nobody shares"),
    ],
)
def test_worked_numbers(total: int, sharers: list[Sharer], parts: list[int]) -> None:
    """Each row is one of the worked examples."""
    assert divided(total, sharers) == parts


@pytest.mark.parametrize(
    ("total", "guarantees", "cut"),
    [
        pytest.param(200_000, [100_000] * 3, [66_666] * 3, id="thousandths of a cpu"),
        pytest.param(200 * G, [100 * G] * 3, [71_582_788_266] * 3, id="bytes"),
        pytest.param(600, [100] * 3, [100] * 3, id="enough is there"),
        pytest.param(100, [60, 50], [54, 45], id="rounded down"),
        pytest.param(-1, [60, 50], [0, 0], id="nothing is there"),
        pytest.param(-1, [0, 0], [0, 0], id="nothing is there, or guaranteed"),
    ],
)
def test_guarantees_are_cut_in_proportion(total: int, guarantees: list[int], cut: list[int]) -> None:
    """Where together they exceed what is there, each is cut by the same part, rounded down."""
    assert scaled(total, guarantees) == cut


SHARERS = st.lists(
    st.builds(
        Sharer,
        st.sampled_from(["a", "b", "c", "d"]),
        st.integers(0, 40),
        st.integers(0, 60),
        st.integers(0, 5),
        st.booleans(),
    ),
    max_size=5,
)


@given(st.integers(-10, 200), SHARERS)
def test_what_always_holds(total: int, sharers: list[Sharer]) -> None:
    """Each gets between first and request, no unit is lost, and none is assigned twice."""
    parts = divided(total, sharers)
    firsts = [each.first for each in sharers]
    for part, first, each in zip(parts, firsts, sharers, strict=True):
        assert first <= part <= max(first, each.asked)
    assert sum(parts) <= max(total, sum(firsts))
    wanting = [each for part, each in zip(parts, sharers, strict=True) if part < each.asked and each.weight > 0]
    if wanting:
        assert sum(parts) == max(total, sum(firsts))
