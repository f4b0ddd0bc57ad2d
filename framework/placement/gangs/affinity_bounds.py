"""Affinity bounds: where tasks may run by required affinity and anti-affinity, on a branch of a search on paper."""

import numpy as np

from pyroclast.framework.placement.gangs.problem import AssignmentProblem, Companions, Shunning
from pyroclast.model.arrays import BoolArray, IntArray

__all__ = ["AffinityBounds", "AntiAffinityBounds"]


class AffinityBounds:
    """Domains with required companions, and domains that need one; D domains."""

    def __init__(self, problem: AssignmentProblem, companions: Companions) -> None:
        self._companions = companions
        self._targets: IntArray = np.flatnonzero(companions.targets)
        self._dependents = _Kinds(problem, companions.sources)
        self._there = companions.before.copy()
        """Required companion pods in each domain, shape (D,)."""
        self._in_need: IntArray = np.zeros_like(self._there)
        """Placed tasks that need one, by domain, shape (D,)."""
        self._inside: BoolArray = companions.domains >= 0
        """Nodes that are allowed for such tasks as of the last check, shape (N,)."""

    def change(self, kind: int, column: int, times: int) -> None:
        """Count tasks that are placed on a node, or with a negative number undone."""
        domain = self._companions.domains[column]
        if domain >= 0:
            self._there[domain] += times * int(self._companions.targets[kind])
            self._in_need[domain] += times * int(self._companions.sources[kind])

    def inside(self, kind: int) -> BoolArray | None:
        """Return the nodes that are allowed for a kind as of the last check, shape (N,); None for all nodes."""
        return self._inside if self._companions.sources[kind] else None

    def is_dead(self, slots: IntArray, room: IntArray, left: IntArray, spare: int) -> bool:
        """Return whether the tasks that are left cannot all satisfy their affinity. Only counts are checked.

        Args:
            slots: Maximum number of tasks of each kind on each node, shape (K, N).
            room: Capacity left on each node, shape (N, R).
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
        return self._dependents.lack_room(self._inside, slots, room, left, spare)


class AntiAffinityBounds:
    """The domains that have tasks of one side or the other; D domains."""

    def __init__(self, problem: AssignmentProblem, shunning: Shunning) -> None:
        self._sides = (_Kinds(problem, shunning.shunning), _Kinds(problem, shunning.shunned))
        self._domains = shunning.domains
        count = int(self._domains.max(initial=-1)) + 1
        # the last entry is read by nodes that are in no domain
        self._placed: IntArray = np.zeros((2, count + 1), dtype=np.int64)
        """Tasks of each side in each domain, shape (2, D + 1)."""

    def change(self, kind: int, column: int, times: int) -> None:
        """Count tasks that are placed on a node, or with a negative number undone."""
        domain = self._domains[column]
        if domain >= 0:
            for number, side in enumerate(self._sides):
                self._placed[number, domain] += times * int(side.mask[kind])

    def inside(self, kind: int) -> BoolArray | None:
        """Return the nodes that are allowed for a kind, shape (N,); None for all nodes."""
        masks = [self._without(1 - number) for number, side in enumerate(self._sides) if side.mask[kind]]
        return None if not masks else masks[0] & masks[-1]

    def _without(self, side: int) -> BoolArray:
        """Return the nodes in whose domain no task of a side is, shape (N,)."""
        mask: BoolArray = (self._placed[side] == 0)[self._domains]
        return mask

    def is_dead(self, slots: IntArray, room: IntArray, left: IntArray, spare: int) -> bool:
        """Return whether the tasks that are left cannot all satisfy their anti-affinity; as in `AffinityBounds`."""
        return any(
            side.lack_room(self._without(1 - number), slots, room, left, spare)
            for number, side in enumerate(self._sides)
        )


class _Kinds:
    """Some kinds of tasks."""

    def __init__(self, problem: AssignmentProblem, mask: BoolArray) -> None:
        self.mask = mask
        self._numbers: IntArray = np.flatnonzero(mask)
        self._requests = problem.requests

    def lack_room(self, inside: BoolArray, slots: IntArray, room: IntArray, left: IntArray, spare: int) -> bool:
        """Return whether the remaining tasks of these kinds do not fit on some nodes, checked by counting."""
        waits = self._numbers[left[self._numbers] > 0]
        missing = np.maximum(left[waits] - slots[waits][:, inside].sum(axis=1), 0)
        if missing.sum() > spare:
            return True
        demand = left[waits] @ self._requests[waits] - spare * self._requests[waits].max(axis=0, initial=0)
        return bool((np.maximum(room[inside], 0).sum(axis=0) < demand).any())
