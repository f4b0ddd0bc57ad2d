"""Assignments of tasks that bear on where others may go: spread, affinity and anti-affinity on paper."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pyroclast.framework.placement.gangs.assignment import assign
from pyroclast.framework.placement.gangs.problem import AssignmentProblem, Companions, Shunning, Spread


def problem(cpus: Sequence[int], room: Sequence[int]) -> AssignmentProblem:
    """One task of each kind, nodes with so much room, which permit all."""
    requests = np.array(cpus, dtype=np.int64)[:, None]
    shape = (len(cpus), len(room))
    return AssignmentProblem(
        requests=requests,
        thresholds=requests,
        counts=[1] * len(cpus),
        room=np.array([room], dtype=np.int64),
        allowed=np.ones(shape, dtype=np.bool_),
        scores=np.zeros(shape),
        alike=np.zeros(len(room), dtype=np.int64),
    )


def spread(kinds: int, domains: Sequence[int], *, skew: int, before: Sequence[int], from_zero: bool = False) -> Spread:
    """All kinds lie evenly."""
    return Spread(
        kinds=np.ones(kinds, dtype=np.bool_),
        domains=np.array(domains),
        before=np.array(before),
        max_skew=skew,
        is_from_zero=from_zero,
    )


def columns_of(asked: AssignmentProblem) -> list[int] | None:
    """Return the node of each kind; None where no assignment exists."""
    found = assign(asked)
    assert found.places is not None or found.is_exhaustive
    return None if found.places is None else [column for _, column in sorted(found.places)]


def test_a_node_is_left_room_for_as_many_as_evenness_asks_for() -> None:
    """The node of 8 must get two of four, so not the one that fills it."""
    asked = replace(problem([8, 2, 1, 1], [8, 30]), spreads=[spread(4, [0, 1], skew=0, before=[0, 0])])

    columns = columns_of(asked)

    assert columns is not None
    assert columns[0] == 1
    assert sum(columns) == 2


def test_pods_that_are_there_count() -> None:
    """The first zone has two already, so that both tasks go to the second."""
    asked = replace(problem([1, 1], [9, 9, 9]), spreads=[spread(2, [0, 0, 1], skew=0, before=[2, 0])])

    assert columns_of(asked) == [2, 2]


def test_with_too_few_domains_the_least_is_zero() -> None:
    """Each of two domains may have one task then, however even two in each would be."""
    few = spread(4, [0, 1], skew=1, before=[0, 0], from_zero=True)

    assert columns_of(replace(problem([1] * 4, [9, 9]), spreads=[few])) is None


def test_a_domain_that_takes_few_limits_the_others() -> None:
    """The small node takes one of four tasks, so the other one may have two at most."""
    asked = replace(problem([2, 2, 2, 2], [3, 30]), spreads=[spread(4, [0, 1], skew=1, before=[0, 0])])

    assert columns_of(asked) is None


def companions(wanting: Sequence[bool], wanted: Sequence[bool], before: Sequence[int]) -> Companions:
    """Each node is a domain."""
    return Companions(
        sources=np.array(wanting),
        targets=np.array(wanted),
        domains=np.arange(len(before)),
        before=np.array(before),
    )


def test_followers_lie_beside_their_leader() -> None:
    """The leader fits both nodes; with its two followers it fits the second."""
    asked = replace(
        problem([2, 3, 3], [7, 8]), companions=[companions([False, True, True], [True, False, False], [0, 0])]
    )

    assert columns_of(asked) == [1, 1, 1]


def test_a_pod_that_is_there_is_a_leader_too() -> None:
    """The first of two nodes has one."""
    asked = replace(problem([1], [9, 9]), companions=[companions([True], [False], [1, 0])])

    assert columns_of(asked) == [0]


def test_followers_without_a_leader_have_no_assignment() -> None:
    """Neither node has one, nor does any come."""
    asked = replace(problem([1], [9, 9]), companions=[companions([True], [False], [0, 0])])

    assert columns_of(asked) is None


def test_both_sides_keep_apart() -> None:
    """Those of 4 shun those of 3: two and two fill the nodes, but not with one of each."""
    sides = Shunning(
        shunning=np.array([True, True, False, False]),
        shunned=np.array([False, False, True, True]),
        domains=np.array([0, 1]),
    )

    columns = columns_of(replace(problem([4, 4, 3, 3], [8, 8]), shunnings=[sides]))

    assert columns is not None
    assert columns[0] == columns[1] != columns[2] == columns[3]


def test_what_shuns_its_own_kind_lies_in_a_domain_alone() -> None:
    """Three tasks and two zones."""
    own = Shunning(shunning=np.ones(3, dtype=np.bool_), shunned=np.ones(3, dtype=np.bool_), domains=np.array([0, 0, 1]))

    assert columns_of(replace(problem([1, 1, 1], [9, 9, 9]), shunnings=[own])) is None
