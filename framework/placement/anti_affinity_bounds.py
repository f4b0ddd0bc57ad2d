"""Shun bounds: where tasks may lie that share no domain with some others, on a branch of a search on paper."""

import numpy as np

from pyroclast.framework.placement.gangs.problem import AssignmentProblem, Shunning
from pyroclast.model.arrays import BoolArray, IntArray

__all__ = ["ShunBounds"]


class ShunBounds:
    """The domains that have tasks of one side or the other; D domains."""

    def __init__(self, problem: AssignmentProblem, shunning: Shunning) -> None:
        self._sides = (_Side(problem, shunning.shunning), _Side(problem, shunning.shunned))
        self._domains = shunning.domains
        count = int(self._domains.max(initial=-1)) + 1
        # the last entry is read by nodes that lie in no domain
        self._placed: IntArray = np.zeros((2, count + 1), dtype=np.int64)
        """Tasks of each side in each domain, shape (2, D + 1)."""

    def change(self, kind: int, column: int, times: int) -> None:
        """Count tasks that are placed on a node, or with a negative number undone."""
        domain = self._domains[column]
        if domain >= 0:
            for number, side in enumerate(self._sides):
                self._placed[number, domain] += times * int(side.kinds[kind])

    def inside(self, kind: int) -> BoolArray | None:
        """Return where a task of a kind may lie, shape (N,); anywhere where None."""
        masks = [self._without(1 - number) for number, side in enumerate(self._sides) if side.kinds[kind]]
        return None if not masks else masks[0] & masks[-1]

    def _without(self, side: int) -> BoolArray:
        """Return the nodes in whose domain no task of a side is, shape (N,)."""
        mask: BoolArray = (self._placed[side] == 0)[self._domains]
        return mask

    def is_dead(self, slots: IntArray, room: IntArray, left: IntArray, spare: int) -> bool:
        """Return whether the tasks that are left cannot all satisfy their anti-affinity. Only counts are checked.

        Args:
            slots: Maximum number of tasks of each kind on each node, shape (K, N).
            room: Room left on each node, shape (N, R).
            left: Tasks without a node, by kind, shape (K,).
            spare: Number of tasks that may stay without a node.
        """
        return any(
            side.lacks_room(self._without(1 - number), slots, room, left, spare)
            for number, side in enumerate(self._sides)
        )


class _Side:
    """Kinds that may lie where none of the other side is."""

    def __init__(self, problem: AssignmentProblem, kinds: BoolArray) -> None:
        self.kinds = kinds
        self._numbers: IntArray = np.flatnonzero(kinds)
        self._requests = problem.requests

    def lacks_room(self, inside: BoolArray, slots: IntArray, room: IntArray, left: IntArray, spare: int) -> bool:
        """Return whether its remaining tasks have no places on some nodes, checked by counting."""
        waits = self._numbers[left[self._numbers] > 0]
        missing = np.maximum(left[waits] - slots[waits][:, inside].sum(axis=1), 0)
        if missing.sum() > spare:
            return True
        demand = left[waits] @ self._requests[waits] - spare * self._requests[waits].max(axis=0, initial=0)
        return bool((np.maximum(room[inside], 0).sum(axis=0) < demand).any())
