"""Assignments are found where they exist, and ruled out where they do not."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np

from pyroclast.framework.placement.gangs.assignment import assign
from pyroclast.framework.placement.gangs.node_completion import NodeCompletion
from pyroclast.framework.placement.gangs.problem import AssignmentProblem
from pyroclast.framework.placement.gangs.tree_search import TreeSearch
from pyroclast.framework.session.memory import Assignment


def problem(requests: Sequence[Sequence[int]], room: Sequence[Sequence[int]]) -> AssignmentProblem:
    """One task of each kind, nodes with so much room, which permit all."""
    rows = np.array(requests, dtype=np.int64)
    shape = (len(requests), len(room))
    return AssignmentProblem(
        requests=rows,
        thresholds=rows,
        counts=[1] * len(requests),
        room=np.array(room, dtype=np.int64).T,
        allowed=np.ones(shape, dtype=np.bool_),
        scores=np.zeros(shape),
        alike=np.zeros(len(room), dtype=np.int64),
    )


def is_kept(asked: AssignmentProblem, found: Assignment) -> bool:
    """Whether every task has one node that permits it, and no node has more than its room."""
    assert found.places is not None
    room = asked.room.copy()
    for kind, column in found.places:
        room[:, column] -= asked.requests[kind]
        if not asked.allowed[kind, column]:
            return False
    kinds = sorted(kind for kind, _ in found.places)
    whole = sorted(kind for kind, count in enumerate(asked.counts) for _ in range(count))
    return bool((room >= 0).all()) and kinds == whole


def test_the_large_task_gets_the_large_node() -> None:
    """In whatever order they stand."""
    found = assign(problem([[30], [50]], [[53], [31]]))
    assert found.places is not None
    assert sorted(found.places) == [(0, 1), (1, 0)]


def test_what_does_not_fit_is_known_not_to() -> None:
    """Two tasks of 40 and a node that takes one of them."""
    found = assign(problem([[40], [40]], [[53], [31]]))
    assert found.places is None
    assert found.is_exhaustive


def test_a_search_that_ends_early_says_so() -> None:
    """24 odd tasks that leave hardly a gap in four nodes are not placed without going back more often."""
    chance = Random(3)
    sizes = [[chance.randint(90, 160), chance.randint(90, 160)] for _ in range(24)]
    total = np.array(sizes).sum(axis=0)
    found = assign(problem(sizes, [[int(amount) // 4 + 1 for amount in total]] * 4), budget=0)
    assert found.places is None
    assert not found.is_exhaustive


def test_scores_are_followed_where_they_may_be() -> None:
    """The task has the better node as long as another task does not need it."""
    asked = problem([[1]], [[5], [5], [5]])
    scores = np.array([[1.0, 3.0, 2.0]])
    found = assign(replace(asked, scores=scores))
    assert found.places == [(0, 1)]


def test_tasks_that_may_be_spared_are() -> None:
    """One of three may stay without a node; the large one does."""
    asked = replace(problem([[9], [5], [5]], [[10]]), spare=(1,), spare_in_all=1)
    found = assign(asked)
    assert found.places is not None
    assert sorted(found.places) == [(1, 0), (2, 0)]


def test_minimums_of_roles_are_kept() -> None:
    """The large one is the only one of its role and may not be spared; together with another it does not fit."""
    asked = replace(problem([[9], [5], [5]], [[10]]), roles=(0, 1, 1), spare=(0, 2), spare_in_all=1)
    found = assign(asked)
    assert found.places is None
    assert found.is_exhaustive


def test_unlike_tasks_that_fill_nodes_exactly_are_placed() -> None:
    """300 problems of 2 to 24 tasks, made by dividing 2 to 8 nodes, some with selectors."""
    for seed in range(300):
        asked = filled(Random(seed))
        found = assign(asked)
        assert is_kept(asked, found), seed


def filled(chance: Random) -> AssignmentProblem:
    """Divide nodes among tasks, to the last piece, and let some tasks have few nodes."""
    nodes = [(chance.choice([8, 16, 31, 32, 53]), chance.choice([32, 64, 128])) for _ in range(chance.randint(2, 8))]
    owners = [chance.randrange(len(nodes)) for _ in range(chance.randint(2, 24))]
    requests: list[list[int]] = []
    allowed: list[list[bool]] = []
    for node, room in enumerate(nodes):
        many = owners.count(node)
        if many:
            parts = [_divided(chance, amount, many) for amount in room]
            requests += [list(each) for each in zip(*parts, strict=True)]
            allowed += [
                [at == node or chance.random() < 0.5 for at in range(len(nodes))]
                if chance.random() < 0.3
                else [True] * len(nodes)
                for _ in range(many)
            ]
    return replace(problem(requests, nodes), allowed=np.array(allowed))


def _divided(chance: Random, total: int, parts: int) -> list[int]:
    cuts = sorted(chance.randint(0, total) for _ in range(parts - 1))
    edges = [0, *cuts, total]
    return [right - left for left, right in pairwise(edges)]


def test_a_hundred_unlike_tasks_fill_twenty_nodes_exactly() -> None:
    """No room is left on any node, of either resource."""
    for seed in range(5):
        chance = Random(seed)
        parts = [(_cut(chance, 32), _cut(chance, 128)) for _ in range(20)]
        tasks = [list(each) for cpu, memory in parts for each in zip(cpu, memory, strict=True)]
        chance.shuffle(tasks)
        asked = problem(tasks, [[32, 128]] * 20)
        assert is_kept(asked, assign(asked)), seed


def _cut(chance: Random, total: int) -> list[int]:
    """Divide an amount into five parts, none of which is nothing."""
    edges = [0, *sorted(chance.sample(range(1, total), 4)), total]
    return [right - left for left, right in pairwise(edges)]


def test_a_node_that_takes_thousands_of_tasks_is_completed() -> None:
    """Two nodes are filled with 4,000 tasks of two sizes, so that one unit is wasted."""
    asked = replace(problem([[2], [3]], [[5001], [5000]]), counts=[2000, 2000])
    places = NodeCompletion(asked, TreeSearch(asked).sizes).run(8000)

    assert is_kept(asked, Assignment(places=places, steps=0, is_exhaustive=False))
