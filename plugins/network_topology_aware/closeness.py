"""Closeness: nodes near to what is placed of a sub-job score high.

A node stands for the domain of the lowest tier around it. The closer the domain around that one and what is held, the
higher: from 0 (the highest tier there is) to 1 (the lowest, or the same domain). Among several candidates that are
closest, those score more whose domain has more of the sub-job's tasks.
"""

import numpy as np

from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.topology.tree import NONE, Topology

__all__ = ["Closeness", "Distances", "closeness_of"]


def closeness_of(topology: Topology, held: int) -> FloatArray:
    """Score each domain by its distance from what is held, from 0 to 1, shape (D,)."""
    lowest, highest = topology.tiers[0], topology.tiers[-1]
    scores = np.zeros(len(topology.domains))
    for number in range(len(topology.domains)):
        common = topology.common(number, held)
        if number == held or lowest == highest:
            scores[number] = 1.0
        elif common != NONE:
            scores[number] = (highest - topology.domains[common].tier) / (highest - lowest)
    return scores


class Distances:
    """How far groups of nodes are from domains: a group is a domain of the lowest tier, the last are nodes in none."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.leaves, self.groups = leaves_of(topology)
        """Domain of each group but the last, shape (G - 1,); group of each node, shape (N,)."""
        self._known: dict[int, FloatArray] = {}

    def tasks_in(self, placed: IntArray) -> IntArray:
        """Count the tasks on nodes, shape (tasks,), by group, shape (G,); none for nodes in no group."""
        counts = np.zeros(self.leaves.size + 1, dtype=np.int64)
        # a leaf counts all tasks on its nodes, also on nodes that another leaf of the same tier shares
        on_nodes = np.bincount(placed, minlength=self.topology.nodes).astype(np.int64)
        counts[:-1] = self.topology.sums(on_nodes)[self.leaves]
        return counts

    def to(self, held: int) -> FloatArray:
        """Score each group by its distance from what is held, from 0 to 1, shape (G,); do not write."""
        scores = self._known.get(held)
        if scores is None:
            scores = self._known[held] = np.zeros(self.leaves.size + 1)
            if held != NONE:
                scores[:-1] = closeness_of(self.topology, held)[self.leaves]
        return scores


class Closeness:
    """Scores of groups of nodes for one sub-job."""

    def __init__(self, distances: Distances, *, placed: IntArray, size: int, factor: float) -> None:
        """Begin with what is placed.

        Args:
            distances: Of the tree.
            placed: Node of each placed task, shape (placed,).
            size: Number of the sub-job's tasks.
            factor: What a score of 1 is worth.
        """
        self._distances = distances
        self._size = max(size, 1)
        self._factor = factor
        self.groups = distances.groups
        self.group_count = distances.leaves.size + 1
        self._held = distances.topology.innermost(np.unique(placed))
        self._counts = distances.tasks_in(placed)
        self._by_group = distances.to(self._held)

    def scores(self, candidates: IntArray) -> FloatArray:
        """Return the score of each group, shape (G,), where so many of its nodes are candidates, shape (G,)."""
        if self._held == NONE:
            return np.zeros(self._counts.size)
        is_open = candidates > 0
        scores = self._by_group
        if is_open.any():
            closest: BoolArray = is_open & (scores == scores[is_open].max())
            if candidates[closest].sum() > 1:
                scores = scores + np.where(closest, self._counts / self._size, 0.0)
        return scores * self._factor

    def place(self, group: int, column: int) -> None:
        """Suppose one more task on a node of a group."""
        topology, leaves = self._distances.topology, self._distances.leaves
        leaf = int(leaves[group]) if group < leaves.size else topology.innermost(np.array([column]))
        held = topology.common(self._held, leaf)
        if group < leaves.size:
            self._counts[group] += 1
        if held != self._held:
            self._held = held
            self._by_group = self._distances.to(held)


def leaves_of(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return the domains of the lowest tier, and the position of each node's among them, one more for nodes in none."""
    lowest = topology.lowest
    leaves = np.array(
        [number for number, domain in enumerate(topology.domains) if domain.tier == topology.tiers[0]], dtype=np.int64
    )
    position = np.full(len(topology.domains) + 1, leaves.size, dtype=np.int64)
    position[leaves] = np.arange(leaves.size)
    return leaves, position[lowest]
