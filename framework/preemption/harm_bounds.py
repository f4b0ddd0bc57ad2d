"""Harm bounds: a lower bound on the harm of any plan for a job, from amounts alone.

A plan that meets its bound is the least harmful one, and a search that could not beat a known plan need not begin.
Amounts alone are looked at: predicates, limits of queues and plugins only make more evictions necessary, so a bound may
be too low, and is never too high.

Each victim counts for the share of a place that it makes at most: on a node where four equal victims make one place, a
quarter. As many victims, or whole gangs, are needed as it takes to add up to the places that are lacking, those that
make most first. R resources, N nodes, V tasks that might be evicted, G gangs.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.framework.preemption.harm import NO_VICTIM, Harm
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray

__all__ = ["SINGLE", "Evictable", "least_harm"]

SINGLE: Final = -1
"""Value instead of a gang's number: the task can be evicted alone."""
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Evictable:
    """Tasks that might be evicted."""

    columns: IntArray
    """Column of each task's node, ascending, shape (V,)."""
    freed: IntArray
    """Resources that each eviction frees, base units, shape (V, R)."""
    importance: IntArray
    """Priority by which each is compared, shape (V,)."""
    gangs: IntArray
    """Number of the gang that is evicted whole with each task, or `SINGLE`, shape (V,)."""
    sizes: IntArray
    """Number of tasks that are evicted with each gang, shape (G,)."""

    def where(self, chosen: BoolArray) -> "Evictable":
        """Return some of the tasks."""
        return Evictable(
            columns=self.columns[chosen],
            freed=self.freed[chosen],
            importance=self.importance[chosen],
            gangs=self.gangs[chosen],
            sizes=self.sizes,
        )

    def freed_on(self, nodes: int) -> IntArray:
        """Return what all of them free on each node, shape (N, R)."""
        freed: IntArray = np.zeros((nodes, self.freed.shape[1]), dtype=np.int64)
        starts = self._starts()
        if starts.size:
            freed[self.columns[starts]] = np.add.reduceat(self.freed, starts, axis=0)
        return freed

    def largest_on(self, nodes: int) -> IntArray:
        """Return the most that one of them frees on each node, shape (N, R)."""
        largest: IntArray = np.zeros((nodes, self.freed.shape[1]), dtype=np.int64)
        starts = self._starts()
        if starts.size:
            largest[self.columns[starts]] = np.maximum.reduceat(self.freed, starts, axis=0)
        return largest

    def _starts(self) -> IntArray:
        """Return where the tasks of another node begin."""
        return np.flatnonzero(np.diff(self.columns, prepend=-1))


def least_harm(room: IntArray, evictable: Evictable, request: IntArray, count: int) -> Harm | None:
    """Return a harm below which no plan makes so many places for tasks with a request; None if none makes them.

    Args:
        room: What is free on each node, base units, shape (N, R).
        evictable: The tasks that a plan might evict.
        request: What each place must hold at least, base units, shape (R,).
        count: How many places are needed, at least 1.
    """
    asked = np.flatnonzero(request > 0)
    if not asked.size:
        return Harm(NO_VICTIM, 0, 0)
    room, request = room[:, asked], request[asked]
    evictable = Evictable(
        columns=evictable.columns,
        freed=evictable.freed[:, asked],
        importance=evictable.importance,
        gangs=evictable.gangs,
        sizes=evictable.sizes,
    )
    lacking = count - int(_places(room, request).sum())
    if lacking <= 0:
        return Harm(NO_VICTIM, 0, 0)
    highest = _lowest_level(room, evictable, request, count)
    if highest is None:
        return None
    evictable = evictable.where(evictable.importance <= highest)
    gangs, fewest = _fewest_gangs(room, evictable, request, count)
    if not gangs:
        evictable = evictable.where(evictable.gangs == SINGLE)
    shares, made = _shares(room, evictable, request, lacking)
    victims = _how_many(_up_to(made, evictable.columns, shares), lacking)
    return Harm(highest, gangs, max(victims, fewest))


def _lowest_level(room: IntArray, evictable: Evictable, request: IntArray, count: int) -> int | None:
    """Return the priority up to which all must be evicted to make enough places; None if all are too few."""
    levels = np.unique(evictable.importance)
    low, high = 0, levels.size
    while low < high:  # at `high` all of the places are made, or it is beyond the levels
        middle = (low + high) // 2
        freed = evictable.where(evictable.importance <= levels[middle]).freed_on(len(room))
        if _places(room + freed, request).sum() >= count:
            high = middle
        else:
            low = middle + 1
    return int(levels[high]) if high < levels.size else None


def _fewest_gangs(room: IntArray, evictable: Evictable, request: IntArray, count: int) -> tuple[int, int]:
    """Return the least number of gangs that are evicted whole, and the number of tasks evicted with so many."""
    is_single = evictable.gangs == SINGLE
    with_singles = room + evictable.where(is_single).freed_on(len(room))
    lacking = count - int(_places(with_singles, request).sum())
    if lacking <= 0:
        return 0, 0
    members = evictable.where(~is_single)
    shares, made = _shares(with_singles, members, request, lacking)
    numbers, of_gang = np.unique(members.gangs, return_inverse=True)
    by_gang = _by_gang(of_gang, members.columns, shares, made)
    gangs = _how_many(by_gang, lacking)
    return gangs, int(np.sort(members.sizes[numbers])[:gangs].sum())


def _by_gang(of_gang: IntArray, columns: IntArray, shares: FloatArray, made: IntArray) -> FloatArray:
    """Return how many places each gang makes at most: by its members on each node, no more than are made there."""
    pairs, of_pair = np.unique(of_gang * made.size + columns, return_inverse=True)
    on_node = np.minimum(np.bincount(of_pair, weights=shares), made[pairs % made.size])
    by_gang: FloatArray = np.bincount(pairs // made.size, weights=on_node).astype(np.float64)
    return by_gang


def _how_many(shares: FloatArray, lacking: int) -> int:
    """Return how many shares add up to the places that are lacking, the largest first; all where these are too few."""
    total = np.cumsum(np.sort(shares)[::-1])
    return min(int(np.searchsorted(total, lacking - _ROUNDING)) + 1, shares.size)


def _places(room: IntArray, request: IntArray) -> IntArray:
    """Return how many places each node has, shape (N,)."""
    places: IntArray = np.maximum((room // request).min(axis=1), 0)
    return places


def _shares(room: IntArray, evictable: Evictable, request: IntArray, lacking: int) -> tuple[FloatArray, IntArray]:
    """Return how much of a place each task makes at most, shape (V,), and how many each node makes, shape (N,).

    No node makes more places than are lacking. On each node either every task counts alike, by the fewest that make one
    place or several, or each by its amount of a resource that is lacking: whatever promises fewer places.
    """
    nodes = len(room)
    free, freed = _places(room, request), evictable.freed_on(nodes)
    made = np.minimum(_places(room + freed, request) - free, lacking)
    alike = _shares_alike(room, free, made, evictable.largest_on(nodes), request)
    per_unit, row = _shares_by_amount(room, free, made, freed, request)
    tasks_on = np.bincount(evictable.columns, minlength=nodes)
    at = evictable.columns
    amounts = np.take_along_axis(evictable.freed, row[at, None], axis=1)[:, 0]
    is_by_amount = per_unit * np.take_along_axis(freed, row[:, None], axis=1)[:, 0] < alike * tasks_on
    shares: FloatArray = np.where(is_by_amount[at], per_unit[at] * amounts, alike[at])
    return shares, made


def _shares_alike(room: IntArray, free: IntArray, made: IntArray, largest: IntArray, request: IntArray) -> FloatArray:
    """Return the share of any task on each node, if all were as large as the largest, shape (N,)."""
    shares: FloatArray = np.zeros(len(room))
    helped = np.flatnonzero(made > 0)
    room, free, made, largest = room[helped], free[helped], made[helped], np.maximum(largest[helped], 1)
    best: FloatArray = np.zeros(helped.size)
    for more in range(1, int(made.max(initial=0)) + 1):
        lacking = (free + more)[:, None] * request - room
        victims = np.maximum(-(-lacking // largest), 1).max(axis=1)
        best = np.where(more <= made, np.maximum(best, more / victims), best)
    shares[helped] = best
    return shares


def _shares_by_amount(
    room: IntArray, free: IntArray, made: IntArray, freed: IntArray, request: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return the share of one unit of a resource on each node, and which resource promises the fewest places there."""
    free, made = free[:, None], np.maximum(made, 1)[:, None]
    first, all_of_them = (free + 1) * request - room, (free + made) * request - room
    is_lacking = first > 0
    # a node that is short of capacity already needs more for the first place than for those behind it
    per_unit = np.maximum(
        np.divide(1.0, first, out=np.full(room.shape, np.inf), where=is_lacking),
        np.divide(made, all_of_them, out=np.full(room.shape, np.inf), where=is_lacking),
    )
    row: IntArray = np.where(is_lacking, freed * np.where(is_lacking, per_unit, 0.0), np.inf).argmin(axis=1)
    return np.take_along_axis(per_unit, row[:, None], axis=1)[:, 0], row


def _up_to(made: IntArray, columns: IntArray, shares: FloatArray) -> FloatArray:
    """Return shares that on no node add up to more places than are made there.

    The largest are kept whole, so that of each number of tasks the best ones add up to no less than any others make.
    """
    order = np.lexsort((-shares, columns))
    columns = columns[order]
    total = np.cumsum(shares[order])
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    lengths = np.diff(starts, append=columns.size)
    before = np.repeat(total[starts] - shares[order][starts], lengths)
    capped = np.minimum(total - before, made[columns])
    previous = np.concatenate([[0.0], capped[:-1]])
    previous[starts] = 0.0
    clipped: FloatArray = np.empty(shares.size)
    clipped[order] = capped - previous
    return clipped
