"""Grouped scores: scores that depend on more than the node, but only on which group of nodes it is in.

A plugin whose answer is the same for all nodes of a group (a rack, say), and changes with placements in a way it can
foresee, offers this besides its function for nodes. Runs of equal tasks are then placed in one call although each
placement moves the scores of whole groups: each group keeps its nodes in a heap, and a placement costs one look at the
groups, not at the nodes.
"""

import heapq
from collections.abc import Callable

import numpy as np

from pyroclast.framework.extension.contract import GroupedScores
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.tasks import Task

__all__ = ["grouped_run"]

_NEVER = float("-inf")


def grouped_run(
    rank_after: Callable[[Task, int, int], float], task: Task, count: int, ranked: FloatArray, grouped: GroupedScores
) -> list[int]:
    """Choose places for up to `count` tasks of one template, one after the other; columns in the order of choice.

    Args:
        rank_after: Returns the score of a node, by its column, for a task after that many more tasks.
        task: A task of the template.
        count: Maximum number of places.
        ranked: Standing score of each node, minus infinity where a task may not be placed, shape (N,).
        grouped: The scores of groups.
    """
    heaps = _Heaps(ranked, grouped)
    used: dict[int, int] = {}
    chosen: list[int] = []
    while len(chosen) < count and heaps.is_open.any():
        group = heaps.best(grouped.scores(heaps.sizes))
        column = heaps.top_column[group].item()
        chosen.append(column)
        level = used[column] = used.get(column, 0) + 1
        rank = rank_after(task, column, level)
        heaps.replace(group, rank)
        if len(chosen) < count:
            grouped.place(group, column)
    return chosen


class _Heaps:
    """The candidates of each group, best first; G groups."""

    def __init__(self, ranked: FloatArray, grouped: GroupedScores) -> None:
        columns = np.flatnonzero(ranked != _NEVER)
        groups = grouped.groups
        self._heaps: list[list[tuple[float, int]]] = [[] for _ in range(grouped.group_count)]
        for rank, column, group in zip(
            (-ranked[columns]).tolist(), columns.tolist(), groups[columns].tolist(), strict=True
        ):
            self._heaps[group].append((rank, column))
        for heap in self._heaps:
            heapq.heapify(heap)
        self.sizes: IntArray = np.array([len(heap) for heap in self._heaps], dtype=np.int64)
        """Candidates of each group, shape (G,)."""
        self.top_rank: FloatArray = np.array([-heap[0][0] if heap else _NEVER for heap in self._heaps])
        self.top_column: IntArray = np.array([heap[0][1] if heap else 0 for heap in self._heaps], dtype=np.int64)

    @property
    def is_open(self) -> BoolArray:
        """Return which groups have candidates, shape (G,)."""
        is_open: BoolArray = self.sizes > 0
        return is_open

    def best(self, scores: FloatArray) -> int:
        """Return the group of the best candidate; of equals the one with the lowest column."""
        totals = self.top_rank + scores
        ties = np.flatnonzero(totals == totals.max())
        return int(ties[0] if ties.size == 1 else ties[self.top_column[ties].argmin()])

    def replace(self, group: int, rank: float) -> None:
        """Put a group's best candidate back with another rank, or drop it if the rank is minus infinity."""
        heap = self._heaps[group]
        if rank == _NEVER:
            heapq.heappop(heap)
            self.sizes[group] -= 1
        else:
            heapq.heapreplace(heap, (-rank, heap[0][1]))
        self.top_rank[group] = -heap[0][0] if heap else _NEVER
        self.top_column[group] = heap[0][1] if heap else 0
