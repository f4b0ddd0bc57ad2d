"""Tree search: one task after the other gets a node, and the search goes back where a task is left without one.

Next is always a task of the kind that the fewest nodes take, the largest first among equals. A kind whose tasks found
no place in many branches comes earlier, as if fewer nodes took it. A branch is left as soon as some kind has fewer
places than tasks, or the nodes have less usable capacity than the tasks ask for. What was refused once under the same
circumstances is not tried again: neither another task of the same kind on that node, nor the same task on a node that
is equal to one that failed.

Where tasks may be spared, the hardest ones are spared first. Where nodes that refuse a kind now may permit it later
(spread, affinity), the order of placements matters, so a task may also be postponed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.placement.gangs.affinity_bounds import AffinityBounds, AntiAffinityBounds
from pyroclast.framework.placement.gangs.problem import AssignmentProblem, Trial
from pyroclast.framework.placement.gangs.spread_bounds import SpreadBounds
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray

__all__ = ["NodeOrder", "TreeSearch", "best_score_first", "tightest_first"]

_MANY: Final = 1 << 40
_SPARED: Final = -1
"""Value instead of a column: the task stays without a node."""

Move = tuple[int, int]
"""A kind and a column."""


class _Level:
    """One choice on the way down: the moves that are still to be tried, and what failed here."""

    __slots__ = ("bans", "moves", "settled")

    def __init__(self, moves: Iterator[Move]) -> None:
        self.moves = moves
        self.bans: list[Move] = []
        """Moves that are not tried again below this level."""
        self.settled: list[int] = []
        """Kinds of which no task is spared below this level."""


class TreeSearch:
    """One search; its state is that of the branch it stands on."""

    def __init__(self, problem: AssignmentProblem, trial: Trial | None = None) -> None:
        self.problem = problem
        self._trial = trial
        self.room: IntArray = np.array(problem.room.T, order="C")
        """Capacity left on each node, shape (N, R)."""
        self.left: IntArray = np.array(problem.counts, dtype=np.int64)
        """Tasks without a node, by kind, shape (K,)."""
        self._most = self.left.copy()
        self._demand: IntArray = self.left @ problem.requests
        self._roles: IntArray = np.array(problem.roles or np.zeros(self.left.size), dtype=np.int64)
        self._spare: list[int] = list(problem.spare)
        self._spare_in_all = problem.spare_in_all
        self._settled = np.zeros(self.left.size, dtype=np.int64)
        self._opens: BoolArray = np.array(problem.opens or np.zeros(self.left.size), dtype=np.bool_)
        self._order_matters = trial is not None and bool(self._opens.any())
        self._bounds: list[SpreadBounds | AffinityBounds | AntiAffinityBounds] = [
            *(SpreadBounds(problem, each) for each in problem.spreads),
            *(AffinityBounds(problem, each) for each in problem.companions),
            *(AntiAffinityBounds(problem, each) for each in problem.shunnings),
        ]
        self._allowed = problem.allowed.copy()
        self._permitted: BoolArray | None = None if trial is None else np.ones_like(problem.allowed)
        self._asks: BoolArray = problem.requests > 0
        self._divisors = np.where(self._asks, problem.requests, 1)
        self.weights = _weights(problem)
        """Weight of one base unit of each resource, shape (R,)."""
        self.sizes: FloatArray = problem.requests @ self.weights
        """Weighted request of a task of each kind, shape (K,)."""
        self.slots: IntArray = np.zeros(problem.allowed.shape, dtype=np.int64)
        """Maximum number of tasks of each kind that each node can still hold, shape (K, N)."""
        self.placed_on: dict[int, list[int]] = {}
        """Kinds that this search placed, by column."""
        self.moves: list[Move] = []
        """Moves that led to this state, in order."""
        self.steps = 0
        """Moves tried."""
        self._failures: IntArray = np.zeros(self.left.size, dtype=np.int64)
        """Number of branches in which a task of each kind found no place, shape (K,)."""
        self._saved: list[tuple[IntArray, list[tuple[int, BoolArray, IntArray]]]] = []
        self._capacity: IntArray = np.zeros(self.left.size, dtype=np.int64)
        self._open: IntArray = np.zeros(self.left.size, dtype=np.int64)
        for kind in range(self.left.size):
            self._set_row(kind, self._slots_of(kind, slice(None)))
        self._ask_again()

    @property
    def places(self) -> list[Move]:
        """Kind and column of each placed task, in order."""
        return [move for move in self.moves if move[1] != _SPARED]

    # Searching --------------------------------------------------------------------------------------------------------

    def run(self, order: "NodeOrder", budget: int) -> bool | None:
        """Place all tasks that are left, but for spared ones, within a number of steps.

        Returns:
            True if all are placed, False if that is impossible; None if the budget ended before either, and
            nothing is placed then.
        """
        if not self.left.any():
            return True
        if self.is_dead():
            return False
        levels = [_Level(self._moves(order))]
        while levels:
            level = levels[-1]
            move = next(level.moves, None)
            if move is None:
                self._leave(levels.pop())
                if levels:
                    self._fail(levels[-1])
            elif self.steps >= budget:
                self._unwind(levels)
                return None
            elif not self._go(move):
                self._ban(level, [move])
            elif self.is_dead():
                self._failures += self.left > self._capacity
                self._fail(level)
            elif not self.left.any():
                return True
            else:
                levels.append(_Level(self._moves(order)))
        return False

    def _moves(self, order: "NodeOrder") -> Iterator[Move]:
        """Yield what may be done next, those moves left out that equal one that failed."""
        for kind in self._hardest_first():
            if self._may_spare(kind):
                yield kind, _SPARED
            columns = self._columns(kind)
            if columns.size:
                ranks = order(self, kind, columns)
                first = int(columns[ranks.argmin()])
                yield kind, first
                skipped = set(self._equals(first)) if self._order_matters else set()
                for column in columns[np.argsort(ranks, kind="stable")].tolist():
                    if column != first and column not in skipped and self.slots[kind, column]:
                        if self._order_matters:
                            skipped.update(self._equals(column))
                        yield kind, column
            self._failures[kind] += 1
            if not self._may_be_postponed(kind):
                return

    def _hardest_first(self) -> list[int]:
        waits = np.flatnonzero(self.left)
        nodes = self._open[waits]
        if self._bounds and not self._order_matters:
            nodes = np.array([np.count_nonzero(self._takes(kind)) for kind in waits.tolist()])
        order: list[int] = waits[np.lexsort((-self.sizes[waits], nodes / (1 + self._failures[waits])))].tolist()
        return order

    def _columns(self, kind: int) -> IntArray:
        """Return the nodes that take a task of a kind now."""
        if self._order_matters and self._opens[kind]:
            assert self._permitted is not None, "there is a trial"
            return np.flatnonzero((self.slots[kind] > 0) & self._permitted[kind])
        return np.flatnonzero(self._takes(kind))

    def _takes(self, kind: int) -> BoolArray:
        """Return which nodes take a task of a kind, evenness and companions counted, shape (N,)."""
        takes: BoolArray = self.slots[kind] > 0
        for each in self._bounds:
            inside = each.inside(kind)
            if inside is not None:
                takes &= inside
        return takes

    def _may_be_postponed(self, kind: int) -> bool:
        """Return whether more nodes may take a task of a kind once others are placed."""
        if not (self._order_matters and self._opens[kind]):
            return False
        assert self._permitted is not None, "there is a trial"
        return bool(((self.slots[kind] > 0) & ~self._permitted[kind]).any())

    def _may_spare(self, kind: int) -> bool:
        return self._spare_in_all > 0 and self._spare[int(self._roles[kind])] > 0 and not self._settled[kind]

    def _fail(self, level: _Level) -> None:
        """Take back the last move and do not repeat it, nor what equals it."""
        kind, column = self.moves[-1]
        self.take_back()
        if column == _SPARED:
            self._settled[kind] += 1
            level.settled.append(kind)
        elif not self._order_matters:
            self._ban(level, [(kind, each) for each in self._equals(column)])

    def _equals(self, column: int) -> list[int]:
        """Return a node and those that equal it currently."""
        same = (self.problem.alike == self.problem.alike[column]) & (self.room == self.room[column]).all(axis=1)
        columns = np.flatnonzero(same)
        if columns.size == 1:
            return [column]
        alike = (self._allowed[:, columns] == self._allowed[:, [column]]).all(axis=0)
        if self._permitted is not None:
            alike &= (self._permitted[:, columns] == self._permitted[:, [column]]).all(axis=0)
        elif not self._bounds:
            return [int(each) for each in columns[alike]]
        there = sorted(self.placed_on.get(column, ()))
        return [each for each in columns[alike].tolist() if sorted(self.placed_on.get(each, ())) == there]

    def _ban(self, level: _Level, moves: Sequence[Move]) -> None:
        level.bans += moves
        for kind, column in moves:
            self._allowed[kind, column] = False
        self._set_cells(moves)

    def _leave(self, level: _Level) -> None:
        for kind in level.settled:
            self._settled[kind] -= 1
        for kind, column in level.bans:
            self._allowed[kind, column] = self.problem.allowed[kind, column]
        self._set_cells(level.bans)

    def _unwind(self, levels: list[_Level]) -> None:
        while levels:
            self._leave(levels.pop())
            if levels:
                self.take_back()

    # State ------------------------------------------------------------------------------------------------------------

    def _go(self, move: Move) -> bool:
        kind, column = move
        return self.place(kind, column) if column != _SPARED else self._spare_one(kind)

    def _spare_one(self, kind: int) -> bool:
        self.steps += 1
        self.moves.append((kind, _SPARED))
        self._change_spare(kind, -1)
        return True

    def _change_spare(self, kind: int, times: int) -> None:
        self.left[kind] += times
        self._demand = self._demand + self.problem.requests[kind] * times
        self._spare[int(self._roles[kind])] += times
        self._spare_in_all += times

    def place(self, kind: int, column: int) -> bool:
        """Place a task of a kind on a node; False if the trial refuses it."""
        self.steps += 1
        if self._trial is not None and not self._trial.place(kind, column):
            return False
        self.moves.append((kind, column))
        self.placed_on.setdefault(column, []).append(kind)
        self._take(kind, column, 1)
        self._saved.append((self.slots[:, column].copy(), self._ask_again()))
        self._set_column(column, self._slots_on(column))
        return True

    def take_back(self) -> None:
        """Take back the last move."""
        kind, column = self.moves.pop()
        if column == _SPARED:
            self._change_spare(kind, 1)
            return
        self.placed_on[column].pop()
        if self._trial is not None:
            self._trial.undo()
        self._take(kind, column, -1)
        slots, rows = self._saved.pop()
        for each, permitted, before in rows:
            assert self._permitted is not None, "only a trial changes what is permitted"
            self._permitted[each] = permitted
            self._set_row(each, before)
        self._set_column(column, slots)

    def _ask_again(self) -> list[tuple[int, BoolArray, IntArray]]:
        """Query what the trial permits now. Return the changed rows with their earlier values."""
        changed: list[tuple[int, BoolArray, IntArray]] = []
        if self._trial is None or self._permitted is None:
            return changed
        for kind in np.flatnonzero(self.left).tolist():
            mask = self._trial.permitted(kind)
            before = self._permitted[kind].copy()
            self._permitted[kind] = True if mask is None else mask
            columns = np.flatnonzero(before != self._permitted[kind])
            if columns.size:
                changed.append((kind, before, self.slots[kind].copy()))
                row = self.slots[kind].copy()
                row[columns] = self._slots_of(kind, columns)
                self._set_row(kind, row)
        return changed

    def _take(self, kind: int, column: int, times: int) -> None:
        request = self.problem.requests[kind] * times
        for each in self._bounds:
            each.change(kind, column, times)
        self.room[column] -= request
        self._demand = self._demand - request
        self.left[kind] -= times

    def _set_column(self, column: int, slots: IntArray) -> None:
        before = self.slots[:, column]
        self._capacity += slots - before
        self._open += (slots > 0).astype(np.int64) - (before > 0)
        self.slots[:, column] = slots

    def _set_cells(self, cells: Sequence[Move]) -> None:
        for kind in dict.fromkeys(kind for kind, _ in cells):
            columns = [column for each, column in cells if each == kind]
            row = self.slots[kind].copy()
            row[columns] = self._slots_of(kind, columns)
            self._set_row(kind, row)

    def _set_row(self, kind: int, row: IntArray) -> None:
        self.slots[kind] = row
        self._capacity[kind] = row.sum()
        self._open[kind] = np.count_nonzero(row)

    def _slots_on(self, column: int) -> IntArray:
        """Count how many tasks of each kind a node takes, shape (K,)."""
        room = self.room[column]
        times = np.where(self._asks, room // self._divisors, _MANY).min(axis=1)
        fits = (self.problem.thresholds <= room).all(axis=1) & self._allowed[:, column]
        if self._permitted is not None:
            fits &= self._permitted[:, column] | self._opens
        return np.where(fits, np.minimum(times, self._most), 0)

    def _slots_of(self, kind: int, columns: Sequence[int] | IntArray | slice) -> IntArray:
        """Count how many tasks of a kind each of some nodes takes, shape of the columns."""
        room = self.room[columns]
        times = np.where(self._asks[kind], room // self._divisors[kind], _MANY).min(axis=1)
        fits = (self.problem.thresholds[kind] <= room).all(axis=1) & self._allowed[kind, columns]
        if self._permitted is not None and not self._opens[kind]:
            fits &= self._permitted[kind, columns]
        return np.where(fits, np.minimum(times, self._most[kind]), 0)

    def is_dead(self) -> bool:
        """Return whether the tasks that are left cannot all be placed, checked by counting."""
        missing = np.maximum(self.left - self._capacity, 0)
        if missing.any():
            if missing.sum() > self._spare_in_all:
                return True
            by_role = np.bincount(self._roles, weights=missing, minlength=len(self._spare))
            if (by_role > self._spare).any():
                return True
        waits = self.left > 0
        usable = self.slots[waits].any(axis=0)
        most_spared = self._spare_in_all * self.problem.requests[waits].max(axis=0, initial=0)
        if (np.maximum(self.room[usable], 0).sum(axis=0) < self._demand - most_spared).any():
            return True
        return any(each.is_dead(self.slots, self.room, self.left, self._spare_in_all) for each in self._bounds)


NodeOrder = Callable[[TreeSearch, int, IntArray], FloatArray]
"""Ranks some nodes for a kind, smaller first, shape of the columns."""


def tightest_first(search: TreeSearch, kind: int, columns: IntArray) -> FloatArray:
    """Prefer the node that has least capacity left with the task on it; equal ones by name."""
    after = np.maximum(search.room[columns] - search.problem.requests[kind], 0)
    ranks: FloatArray = (after * search.weights).sum(axis=1)
    return ranks


def best_score_first(search: TreeSearch, kind: int, columns: IntArray) -> FloatArray:
    """Prefer the node with the highest score."""
    scores: FloatArray = -search.problem.scores[kind, columns]
    return scores


def _weights(problem: AssignmentProblem) -> FloatArray:
    """Weigh resources by how scarce they are: the last free piece of a scarce one decides."""
    total = np.maximum(problem.room, 0).sum(axis=1).astype(np.float64)
    demand = (np.array(problem.counts) @ problem.requests).astype(np.float64)
    share = np.divide(demand, total, out=np.zeros(total.size), where=total > 0)
    weights: FloatArray = np.divide(share, total, out=np.zeros(total.size), where=total > 0)
    return weights
