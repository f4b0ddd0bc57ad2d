"""Node completion: one node after the other is filled so that it wastes no more capacity than may be wasted.

Where tasks ask for nearly all the capacity there is, placing task after task leaves small gaps that nothing fills. Here
the whole set of tasks for a node is chosen at once, first those that few nodes permit, then the largest; the last two
of a set are found together, by comparing all pairs. What all nodes may waste together is the capacity less the
requests. As in bin completion (Korf 2002), a branch ends when a node has no such set.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pyroclast.framework.placement.gangs.problem import AssignmentProblem
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray

__all__ = ["NodeCompletion"]

_PAIRS_PER_STEP = 10_000
"""Pairs of kinds that are compared in the time of one set of few kinds."""


@dataclass(slots=True)
class _Level:
    """A node that is being filled, and the sets of kinds that are still to be tried for it."""

    column: int
    sets: Iterator[Sequence[int]]
    waste: IntArray
    """Resources that may be wasted before this node is filled, shape (R,)."""
    chosen: Sequence[int] = ()


@dataclass(slots=True)
class _OpenSet:
    """A set of tasks for a node, and the kinds that may extend it."""

    kinds: IntArray
    requests: IntArray
    """Their requests, shape (kinds, R)."""
    room: IntArray
    """What the set leaves of the node, shape (R,)."""
    position: int = 0
    """Number of kinds that were tried."""


class NodeCompletion:
    """One search over nodes; nothing of it depends on placed tasks but their capacity."""

    def __init__(self, problem: AssignmentProblem, sizes: FloatArray) -> None:
        """Begin.

        Args:
            problem: The problem; tasks that may be spared are placed too.
            sizes: How large a task of each kind is, shape (K,); larger ones are chosen first.
        """
        self._requests = problem.requests
        self._room: IntArray = np.maximum(problem.room.T, 0)
        self._allowed: BoolArray = problem.allowed & np.array(
            [(threshold[:, None] <= problem.room).all(axis=0) for threshold in problem.thresholds]
        )
        self._left: IntArray = np.array(problem.counts, dtype=np.int64)
        # Kinds that few nodes permit come first, since other nodes cannot take them; then large ones, since small ones
        # fill the gaps at the end.
        self._in_turn: IntArray = np.lexsort((-sizes, np.count_nonzero(problem.allowed, axis=1)))
        self._is_open: BoolArray = np.ones(self._room.shape[0], dtype=np.bool_)
        self.steps = 0
        """Sets of tasks that were begun, one of very many kinds as several, and sets that were tried for a node."""
        self._budget = 0

    def run(self, budget: int) -> list[tuple[int, int]] | None:
        """Return kind and column of each task; None if no assignment was found within so many steps."""
        self._budget = budget
        waste: IntArray = self._room.sum(axis=0) - self._left @ self._requests
        levels: list[_Level] = []
        while self.steps < budget:
            if not self._left.any():
                return [(kind, level.column) for level in levels for kind in level.chosen]
            self.steps += 1
            level = self._next_node(waste)
            if level is not None:
                levels.append(level)
            while levels and not self._advance(levels[-1]):
                self._is_open[levels.pop().column] = True
            if not levels:
                return None
            last = levels[-1]
            filled = self._requests[np.array(last.chosen, dtype=np.int64)].sum(axis=0)
            waste = last.waste - (self._room[last.column] - filled)
        return None

    def _next_node(self, waste: IntArray) -> _Level | None:
        """Return the open node that the fewest kinds fit; None if the others would waste too much."""
        waits = np.flatnonzero(self._left)
        columns = np.flatnonzero(self._is_open)
        fits = self._allowed[np.ix_(waits, columns)] & (
            self._requests[waits][:, None, :] <= self._room[columns][None, :, :]
        ).all(axis=2)
        kinds = np.count_nonzero(fits, axis=0)
        lost = self._room[columns[kinds == 0]].sum(axis=0)
        if not kinds.any() or (lost > waste).any():
            return None
        column = int(columns[np.where(kinds > 0, kinds, waits.size + 1).argmin()])
        self._is_open[column] = False
        return _Level(column, self._sets_for(column, waste), waste)

    def _advance(self, level: _Level) -> bool:
        """Take the next set for a node; False if there is none."""
        for kind in level.chosen:
            self._left[kind] += 1
        chosen = next(level.sets, None)
        level.chosen = chosen or ()
        for kind in level.chosen:
            self._left[kind] -= 1
        return chosen is not None

    def _sets_for(self, column: int, waste: IntArray) -> Iterator[Sequence[int]]:
        """Yield sets of kinds that fill a node as far as it must be filled, those of large tasks first."""
        room = self._room[column]
        counts = self._left.copy()
        kinds = [
            kind
            for kind in self._in_turn.tolist()
            if counts[kind] and self._allowed[kind, column] and (self._requests[kind] <= room).all()
        ]
        requests = self._requests[kinds]
        for at in np.flatnonzero((room - requests <= waste).all(axis=1)).tolist():
            yield [kinds[at]]
        yield from self._larger_sets(np.array(kinds, dtype=np.int64), counts, room, waste)
        if (room <= waste).all():
            yield []

    def _larger_sets(
        self, kinds: IntArray, counts: IntArray, room: IntArray, waste: IntArray
    ) -> Iterator[Sequence[int]]:
        """Yield sets of two kinds or more. Each kind comes no earlier than the one before it.

        A node may take thousands of tasks, so that calls must not be nested.
        """
        chosen: list[int] = []
        open_sets: list[_OpenSet] = []
        begun = self._begin_set(kinds, counts, room, waste)
        while begun is not None or open_sets:
            if begun is not None:
                for first, second in self._pairs(begun.requests, counts[begun.kinds], begun.room, waste):
                    yield [*chosen, int(begun.kinds[first]), int(begun.kinds[second])]
                open_sets.append(begun)
            last = open_sets[-1]
            if last.position:
                counts[chosen.pop()] += 1
            begun = None
            if last.position == last.kinds.size:
                open_sets.pop()
                continue
            kind = int(last.kinds[last.position])
            chosen.append(kind)
            counts[kind] -= 1
            rest = last.room - last.requests[last.position]
            begun = self._begin_set(last.kinds[last.position :], counts, rest, waste)
            last.position += 1

    def _begin_set(self, kinds: IntArray, counts: IntArray, room: IntArray, waste: IntArray) -> "_OpenSet | None":
        """Return what may extend a set that leaves some capacity; None if nothing may, or too many steps were taken."""
        self.steps += 1 + kinds.size**2 // _PAIRS_PER_STEP
        if self.steps > self._budget:
            return None
        kinds = kinds[(self._requests[kinds] <= room).all(axis=1) & (counts[kinds] > 0)]
        requests = self._requests[kinds]
        if not kinds.size or ((counts[kinds, None] * requests).sum(axis=0) < room - waste).any():
            return None
        return _OpenSet(kinds, requests, room)

    def _pairs(self, requests: IntArray, counts: IntArray, room: IntArray, waste: IntArray) -> list[tuple[int, int]]:
        """Return the pairs of kinds, the earlier one first, that fill capacity together as far as it must be filled."""
        rest = room - (requests[:, None, :] + requests[None, :, :])
        fill = ((rest >= 0) & (rest <= waste)).all(axis=2)
        first, second = np.nonzero(np.triu(fill))
        return [(a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True) if a != b or counts[a] > 1]
