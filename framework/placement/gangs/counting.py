"""Counting: whether sub-groups of a gang are more than their domains hold, seen before any search for domains.

A domain holds a fixed number of equal sub-groups. It holds no more unequal sub-groups than if all their tasks were as
small as the smallest, and no more than its capacity holds of the sub-groups with the smallest requests. A few large
sub-groups may be too many where all of them are not, so those that ask for much of a resource are counted apart. K
kinds of tasks, P sub-groups, N nodes, R resources, D domains.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from pyroclast.framework.placement.gangs.members import Members
from pyroclast.framework.placement.gangs.problem import AssignmentProblem
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import SubJobId

__all__ = ["are_too_many"]

_MANY: Final = 1 << 40


def are_too_many(
    session: Session, problem: AssignmentProblem, members: Members, options: Mapping[SubJobId, Sequence[int]]
) -> bool:
    """Return whether sub-jobs are more than their domains hold, checked by counting. Never wrongly true.

    Args:
        session: The session.
        problem: The problem of all members, domains apart.
        members: The members.
        options: Numbers of the domains in which each sub-job with members may run.
    """
    rows: dict[SubJobId, list[int]] = {}
    for row, part in enumerate(members.parts):
        if part is not None:
            rows.setdefault(part, []).append(row)
    by_options: dict[tuple[int, ...], list[list[int]]] = {}
    for part, own in rows.items():
        by_options.setdefault(tuple(options[part]), []).append(own)
    if () in by_options:
        return True
    for numbers, parts in by_options.items():
        inside = np.array([session.topology.domains.mask(number) for number in numbers]).reshape(len(numbers), -1)
        if _equal_are_too_many(problem, parts, inside):
            return True
        if any(_held(problem, some, inside) < len(some) for some in _large_ones(problem, parts)):
            return True
    return False


def _equal_are_too_many(problem: AssignmentProblem, parts: Sequence[list[int]], inside: BoolArray) -> bool:
    """Return whether sub-jobs that ask for the same are too many; of each the rows of its kinds."""
    slots = {row: _slots(problem, problem.requests[row], [row]) for own in parts for row in own}
    same: dict[Any, list[list[int]]] = {}
    for own in parts:
        asked = sorted((problem.counts[row], problem.requests[row].tobytes(), slots[row].tobytes()) for row in own)
        same.setdefault(tuple(asked), []).append(own)
    for equals in same.values():
        held = [inside @ slots[row] // problem.counts[row] for row in equals[0]]
        if np.min(held, axis=0).sum() < len(equals):
            return True
    return False


def _large_ones(problem: AssignmentProblem, parts: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """Yield all sub-jobs, and those whose smallest task asks for at least so much of some resource, each set once."""
    least = np.array([problem.requests[own].min(axis=0) for own in parts])
    seen: set[bytes] = set()
    for resource in least.T:
        for amount in np.unique(resource):
            chosen = resource >= amount
            if chosen.tobytes() not in seen:
                seen.add(chosen.tobytes())
                yield [parts[at] for at in np.flatnonzero(chosen).tolist()]


def _held(problem: AssignmentProblem, parts: Sequence[list[int]], inside: BoolArray) -> int:
    """Return how many of some sub-jobs their domains hold at most, masks of shape (D, N)."""
    rows = [row for own in parts for row in own]
    counts = np.array(problem.counts)
    tasks = np.sort([counts[own].sum() for own in parts])
    amounts = np.sort([counts[own] @ problem.requests[own] for own in parts], axis=0)
    slots = inside @ _slots(problem, problem.requests[rows].min(axis=0), rows)
    held = np.searchsorted(np.cumsum(tasks), slots, side="right")
    room = np.where(problem.allowed[rows].any(axis=0), np.maximum(problem.room, 0), 0)
    for amount, of_nodes in zip(np.cumsum(amounts, axis=0).T, room, strict=True):
        if amount[-1] > 0:
            held = np.minimum(held, np.searchsorted(amount, inside @ of_nodes, side="right"))
    return int(held.sum())


def _slots(problem: AssignmentProblem, request: IntArray, rows: Sequence[int]) -> IntArray:
    """Count how many tasks with a request, of any of some kinds, each node would take alone, shape (N,)."""
    asked = request > 0
    times = (problem.room[asked] // request[asked, None]).min(axis=0, initial=_MANY)
    fits = (problem.thresholds[rows].min(axis=0)[:, None] <= problem.room).all(axis=0)
    slots: IntArray = np.where(problem.allowed[rows].any(axis=0) & fits, np.maximum(times, 0), 0)
    return slots
