"""Harm bounds: never above the least harmful plan, which small clusters tell by trying all sets of victims."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyroclast.framework.preemption.harm import NO_VICTIM, Harm
from pyroclast.framework.preemption.harm_bounds import SINGLE, Evictable, least_harm
from tests.drawing import examples


def evictable(*tasks: tuple[int, tuple[int, ...], int, int]) -> Evictable:
    """Return tasks, each of a column, what it frees, its priority and its gang; members of gangs are all listed."""
    ordered = sorted(tasks)
    gangs = [gang for *_, gang in ordered if gang != SINGLE]
    return Evictable(
        columns=np.array([column for column, *_ in ordered], dtype=np.int64),
        freed=np.array([freed for _, freed, *_ in ordered], dtype=np.int64).reshape(len(ordered), -1),
        importance=np.array([priority for *_, priority, _ in ordered], dtype=np.int64),
        gangs=np.array([gang for *_, gang in ordered], dtype=np.int64),
        sizes=np.bincount(np.array(gangs, dtype=np.int64), minlength=1),
    )


def by_trying(room: np.ndarray, tasks: Evictable, request: np.ndarray, count: int) -> Harm | None:
    """Return the least harm of all sets of victims that make enough places."""
    units = [[each] for each in np.flatnonzero(tasks.gangs == SINGLE).tolist()]
    units += [np.flatnonzero(tasks.gangs == gang).tolist() for gang in np.unique(tasks.gangs[tasks.gangs != SINGLE])]
    best: Harm | None = None
    for chosen in product((False, True), repeat=len(units)):
        gone = [unit for unit, is_gone in zip(units, chosen, strict=True) if is_gone]
        victims = [task for unit in gone for task in unit]
        after = room.copy()
        np.add.at(after, tasks.columns[victims], tasks.freed[victims])
        if np.maximum((after // request).min(axis=1), 0).sum() >= count:
            gangs = sum(bool(tasks.gangs[unit[0]] != SINGLE) for unit in gone)
            harm = Harm(max(map(int, tasks.importance[victims]), default=NO_VICTIM), gangs, len(victims))
            best = harm if best is None else min(best, harm)
    return best


@st.composite
def small(draw: st.DrawFn) -> tuple[np.ndarray, Evictable, np.ndarray, int]:
    """Draw up to four nodes, seven tasks alone and in gangs, and what is to be placed."""
    resources = draw(st.integers(1, 2))
    nodes = draw(st.integers(1, 4))
    amounts = st.tuples(*[st.integers(-1, 6)] * resources)
    room = np.array([draw(amounts) for _ in range(nodes)], dtype=np.int64)
    freed = st.tuples(*[st.integers(0, 5)] * resources)
    task = st.tuples(st.integers(0, nodes - 1), freed, st.integers(0, 2), st.sampled_from([SINGLE, 0, 1, 2]))
    request = np.array(draw(st.tuples(*[st.integers(1, 6)] * resources)), dtype=np.int64)
    return room, evictable(*draw(st.lists(task, min_size=1, max_size=7))), request, draw(st.integers(1, 4))


GANG_BESIDE_ANOTHER = evictable((0, (0,), 0, 0), (0, (2,), 0, 1), (0, (5,), 0, 1))
"""A gang that frees nothing beside one of which both members are needed."""

OVER_COMMITTED = evictable((0, (0, 5), 0, SINGLE), (0, (1, 1), 0, SINGLE), (0, (1, 1), 0, SINGLE))
"""On a node with less than nothing free the first place needs more than the next."""


@settings(max_examples=examples(300), deadline=None)
@given(small())
@example((np.array([[0, -1]]), OVER_COMMITTED, np.array([1, 3]), 2))
@example((np.array([[2]]), GANG_BESIDE_ANOTHER, np.array([3]), 3))
def test_no_plan_is_less_harmful(given_: tuple[np.ndarray, Evictable, np.ndarray, int]) -> None:
    """The bound is None only where there is no plan, and no higher than the best one."""
    room, tasks, request, count = given_

    best = by_trying(room, tasks, request, count)
    bound = least_harm(room, tasks, request, count)

    if best is not None:
        assert bound is not None
        assert bound <= best


WHOLE_NODES = [(node, (8, 2), 0, node) for node in range(3) for _ in range(4)]  # a gang of four on each of three nodes


def test_each_place_costs_a_gang() -> None:
    """Two places of a whole node each: two gangs, eight pods."""
    room = np.zeros((3, 2), dtype=np.int64)

    assert least_harm(room, evictable(*WHOLE_NODES), np.array([32, 2]), 2) == Harm(0, 2, 8)
    assert least_harm(room, evictable(*WHOLE_NODES), np.array([32, 2]), 4) is None


def test_the_last_victim_on_a_node_makes_no_second_place() -> None:
    """Three pods of 8 make room for 20, the fourth for nothing more."""
    tasks = [(node, (8,), 0, SINGLE) for node in range(3) for _ in range(4)]

    assert least_harm(np.zeros((3, 1), dtype=np.int64), evictable(*tasks), np.array([20]), 2) == Harm(0, 0, 6)


def test_unlike_pods_count_by_their_amounts() -> None:
    """One pod of 16 and two of 8 make one place of 32: three victims."""
    tasks = [(0, (16,), 0, SINGLE), (0, (8,), 0, SINGLE), (0, (8,), 0, SINGLE)]

    assert least_harm(np.zeros((1, 1), dtype=np.int64), evictable(*tasks), np.array([32]), 1) == Harm(0, 0, 3)


@pytest.mark.parametrize(("count", "expected"), [(1, Harm(1, 0, 1)), (2, Harm(5, 0, 2))])
def test_the_priority_up_to_which_all_must_go(count: int, expected: Harm) -> None:
    """The pod of priority 1 makes one place."""
    tasks = [(0, (4,), 1, SINGLE), (1, (4,), 5, SINGLE)]

    assert least_harm(np.zeros((2, 1), dtype=np.int64), evictable(*tasks), np.array([4]), count) == expected


def test_free_room_needs_no_victim() -> None:
    """No plan need evict."""
    assert least_harm(np.array([[9]]), evictable((0, (4,), 1, SINGLE)), np.array([4]), 2) == Harm(NO_VICTIM, 0, 0)
