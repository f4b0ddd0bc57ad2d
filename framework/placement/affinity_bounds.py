"""Affinity bounds: where tasks may lie that must share a domain with others, on a branch of a search on paper."""

import numpy as np

from pyroclast.framework.placement.gangs.problem import AssignmentProblem, Companions
from pyroclast.model.arrays import BoolArray, IntArray

__all__ = ["AffinityBounds"]


class AffinityBounds:
    """Domains with required companions, and domains that need one; D domains."""

    def __init__(self, problem: AssignmentProblem, companions: Companions) -> None:
        self._companions = companions
        self._requests = problem.requests
        self._targets: IntArray = np.flatnonzero(companions.targets)
        self._wanting: IntArray = np.flatnonzero(companions.sources)
        self._there = companions.before.copy()
        """Required companion pods in each domain, shape (D,)."""
        self._in_need: IntArray = np.zeros_like(self._there)
        """Placed tasks that want one, by domain, shape (D,)."""
        self._inside: BoolArray = companions.domains >= 0
        """Nodes that are allowed for such tasks as of the last check, shape (N,)."""

    def change(self, kind: int, column: int, times: int) -> None:
        """Count tasks that are placed on a node, or with a negative number undone."""
        domain = self._companions.domains[column]
        if domain >= 0:
            self._there[domain] += times * int(self._companions.targets[kind])
            self._in_need[domain] += times * int(self._companions.sources[kind])

    def inside(self, kind: int) -> BoolArray | None:
        """Return where a task of a kind may lie as of the last check, shape (N,); anywhere where None."""
        return self._inside if self._companions.sources[kind] else None

    def is_dead(self, slots: IntArray, room: IntArray, left: IntArray, spare: int) -> bool:
        """Return whether the tasks that are left cannot all satisfy their affinity. Only counts are checked.

        Args:
            slots: Maximum number of tasks of each kind on each node, shape (K, N).
            room: Room left on each node, shape (N, R).
            left: Tasks without a node, by kind, shape (K,).
            spare: Number of tasks that may stay without a node.
        """
        domains = self._companions.domains
        to_come = self._targets[left[self._targets] > 0]
        may_come: BoolArray = np.zeros(self._there.size, dtype=np.bool_)
        columns = slots[to_come].any(axis=0) & (domains >= 0)
        may_come[domains[columns]] = True
        lacking = (self._in_need > 0) & (self._there == 0)
        more = int(left[to_come].sum()) - int(np.count_nonzero(lacking))
        if more < 0 or (lacking & ~may_come).any():
            return True
        open_domains = (self._there > 0) | (may_come if more else lacking)
        self._inside = (domains >= 0) & open_domains[domains]
        waits = self._wanting[left[self._wanting] > 0]
        missing = np.maximum(left[waits] - slots[waits][:, self._inside].sum(axis=1), 0)
        if missing.sum() > spare:
            return True
        demand = left[waits] @ self._requests[waits] - spare * self._requests[waits].max(axis=0, initial=0)
        return bool((np.maximum(room[self._inside], 0).sum(axis=0) < demand).any())
