"""Scoring: how full a node, or a set of NUMA nodes, would be with a pod.

    least allocated   (total - used) * 100 // total, 0 when used > total
    most allocated    min(used, total) * 100 // total

where `used` includes the pod's request. The scores of resources are averaged by their weights and rounded down.
Resources other than CPU, memory and ephemeral storage count only if the pod requests them.  Source: Koordinator's
NodeNUMAResource (`resourceAllocationScorer`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.resources import CPU, MEMORY, Amounts

__all__ = ["LEAST", "MOST", "Scoring"]

LEAST: Final = "LeastAllocated"
MOST: Final = "MostAllocated"
_FULL: Final = 100
_ALWAYS: Final = frozenset({CPU, MEMORY, "ephemeral-storage"})


@dataclass(frozen=True, slots=True)
class Scoring:
    """Scoring of nodes or NUMA nodes."""

    strategy: str = LEAST
    weights: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))
    """Weights of at least 1, by resource."""

    def counting(self, request: Amounts) -> tuple[tuple[str, int], ...]:
        """Return the weights of the resources that count for a request."""
        return tuple(each for each in self.weights if each[0] in _ALWAYS or request.get(each[0], 0))

    def score(self, totals: Amounts, used: Amounts, request: Amounts) -> int:
        """Score one node, or NUMA nodes together.

        Args:
            totals: Amounts that it offers, thousandths by resource.
            used: Amounts in use, without the pod.
            request: Request of the pod.
        """
        score = weight = 0
        for name, each in self.counting(request):
            total = totals.get(name, 0)
            if total:
                score += each * self._of_one(used.get(name, 0) + request.get(name, 0), total)
                weight += each
        return score // weight if weight else 0

    def _of_one(self, used: int, total: int) -> int:
        if self.strategy == MOST:
            return min(used, total) * _FULL // total
        return max(total - used, 0) * _FULL // total

    def of_numa_nodes(
        self, request: Amounts, offered: Mapping[int, Amounts], free: Mapping[int, Amounts], nodes: Sequence[int]
    ) -> int:
        """Score a set of NUMA nodes by what they offer and what is free."""
        totals, used = dict[str, int](), dict[str, int]()
        for node in nodes:
            for name, amount in offered[node].items():
                totals[name] = totals.get(name, 0) + amount
                used[name] = used.get(name, 0) + amount - free[node].get(name, 0)
        return self.score(totals, used, request)

    def of_nodes(self, rows: Sequence[tuple[int, int]], totals: IntArray, used: IntArray) -> FloatArray:
        """Score nodes.

        Args:
            rows: Row and weight of each resource that counts.
            totals: Amounts that nodes offer, base units, shape (R, n).
            used: Amounts in use, with the pod, base units, shape (R, n).

        Returns:
            Whole numbers, shape (n,).
        """
        score, weight = np.zeros(totals.shape[1], dtype=np.int64), np.zeros(totals.shape[1], dtype=np.int64)
        for row, each in rows:
            total = totals[row]
            counted = np.minimum(used[row], total) if self.strategy == MOST else np.maximum(total - used[row], 0)
            part = np.floor_divide(counted * _FULL, total, out=np.zeros_like(total), where=total > 0)
            score += each * part
            weight += np.where(total > 0, each, 0)
        found: FloatArray = np.floor_divide(score, weight, out=np.zeros_like(score), where=weight > 0).astype(
            np.float64
        )
        return found
