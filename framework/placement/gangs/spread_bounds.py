"""Spread bounds: what evenness over domains leaves of the places that a search on paper still has.

At the end no domain may have many more tasks than the least full one. So a domain that gets a task is limited by what
the others can come to, and each must come near the fullest.
"""

import numpy as np

from pyroclast.framework.placement.gangs.problem import AssignmentProblem, Spread
from pyroclast.model.arrays import BoolArray, IntArray

__all__ = ["SpreadBounds"]

_MANY = 1 << 40


class SpreadBounds:
    """The counts of one spread on the branch where a search stands; D domains."""

    def __init__(self, problem: AssignmentProblem, spread: Spread) -> None:
        self._spread = spread
        self._kinds = np.flatnonzero(spread.kinds)
        self._requests = problem.requests[self._kinds]
        self._counts = spread.before.copy()
        """Tasks in each domain, shape (D,)."""
        self._new: IntArray = np.zeros_like(spread.before)
        """Those of them that the search placed."""
        self._limit = _MANY
        """Maximum number of tasks in a domain at the end, as of the last check."""

    def change(self, kind: int, column: int, times: int) -> None:
        """Count tasks that are placed on a node, or with a negative number undone."""
        if self._spread.kinds[kind]:
            domain = self._spread.domains[column]
            self._counts[domain] += times
            self._new[domain] += times

    def inside(self, kind: int) -> BoolArray | None:
        """Return where one more task exceeds no limit as of the last check, shape (N,); anywhere where None."""
        if not self._spread.kinds[kind]:
            return None
        # nodes in no domain permit none of these kinds
        return self._counts[self._spread.domains] < self._limit

    def is_dead(self, slots: IntArray, room: IntArray, left: IntArray, spare: int) -> bool:
        """Return whether the tasks that are left cannot all be placed evenly, checked by counting.

        Args:
            slots: Maximum number of tasks of each kind on each node, shape (K, N).
            room: Capacity left on each node, shape (N, R).
            left: Tasks without a node, by kind, shape (K,).
            spare: Number of tasks that may stay without a node.
        """
        own = left[self._kinds]
        most = int(own.sum())
        if not most and not self._new.any():
            return False
        highest = self._counts + self._most_more(slots[self._kinds], room, own)
        least = self._least_at_end(highest, most)
        self._limit = least + self._spread.max_skew
        taken = self._new > 0
        fullest = int(self._counts[taken].max(initial=0))
        needed = fullest - self._spread.max_skew
        if fullest > self._limit:
            return True
        if not self._spread.is_from_zero and int(np.maximum(needed - self._counts, 0).sum()) > most:
            return True
        takes = np.minimum(highest, np.maximum(self._limit, self._counts)) - self._counts
        return int(takes.sum()) < most - spare

    def _least_at_end(self, highest: IntArray, left: int) -> int:
        """Return the most that the least full domain can come to."""
        if self._spread.is_from_zero:
            return 0
        return min(int(highest.min(initial=_MANY)), (int(self._counts.sum()) + left) // max(highest.size, 1))

    def _most_more(self, slots: IntArray, room: IntArray, left: IntArray) -> IntArray:
        """Return how many more tasks each domain takes at most, shape (D,): the smallest ones by each resource."""
        by_node = np.minimum(slots, left[:, None]).sum(axis=0)
        for row in range(room.shape[1]):
            requests = self._requests[:, row]
            order = np.argsort(requests, kind="stable")
            sums = np.cumsum(np.repeat(requests[order], left[order]))
            by_node = np.minimum(by_node, np.searchsorted(sums, room[:, row], side="right"))
        inside = self._spread.domains >= 0
        more: IntArray = np.zeros_like(self._counts)
        np.add.at(more, self._spread.domains[inside], by_node[inside])
        return np.minimum(more, int(left.sum()))
