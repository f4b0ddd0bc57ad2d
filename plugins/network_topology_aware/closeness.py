"""Closeness: score nodes by their distance from the placed tasks of a sub-job.

A node counts as its domain of the lowest tier. The score depends on the tier of the smallest domain that contains this
domain and the placed tasks: from 0 (the highest tier) to 1 (the lowest tier, or the same domain). Among several closest
candidates, those score more whose domain has more of the sub-job's tasks.
"""

import numpy as np

from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.topology.tree import NONE, Topology

__all__ = ["Closeness", "Distances", "closeness_of"]


def closeness_of(topology: Topology, held: int) -> FloatArray:
    """Score each domain by its distance from the placed tasks, from 0 to 1, shape (D,)."""
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
    """Distances of node groups from domains. A group is a lowest-tier domain; the last one has all other nodes."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.leaves, self.groups = leaves_of(topology)
        """Domain of each group except the last, shape (G - 1,); group of each node, shape (N,)."""
        self._known: dict[int, FloatArray] = {}

    def tasks_in(self, placed: IntArray) -> IntArray:
        """Count tasks by group, shape (G,), from the nodes of tasks, shape (tasks,); 0 for the last group."""
        counts = np.zeros(self.leaves.size + 1, dtype=np.int64)
        # A leaf counts all tasks on its nodes, including nodes that it shares with another leaf of the same tier.
        on_nodes = np.bincount(placed, minlength=self.topology.nodes).astype(np.int64)
        counts[:-1] = self.topology.sums(on_nodes)[self.leaves]
        return counts

    def to(self, held: int) -> FloatArray:
        """Score each group by its distance from the placed tasks, from 0 to 1, shape (G,). Read-only."""
        scores = self._known.get(held)
        if scores is None:
            scores = self._known[held] = np.zeros(self.leaves.size + 1)
            if held != NONE:
                scores[:-1] = closeness_of(self.topology, held)[self.leaves]
        return scores


class Closeness:
    """Scores of node groups for one sub-job."""

    def __init__(self, distances: Distances, *, placed: IntArray, size: int, factor: float) -> None:
        """Start with the placed tasks.

        Args:
            distances: Distances in the tree.
            placed: Node of each placed task, shape (placed,).
            size: Number of the sub-job's tasks.
            factor: Factor of the scores.
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
        """Return the score of each group, shape (G,). `candidates` counts the candidates of each group, shape (G,)."""
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
        """Add one more task on a node of a group."""
        topology, leaves = self._distances.topology, self._distances.leaves
        leaf = int(leaves[group]) if group < leaves.size else topology.innermost(np.array([column]))
        held = topology.common(self._held, leaf)
        if group < leaves.size:
            self._counts[group] += 1
        if held != self._held:
            self._held = held
            self._by_group = self._distances.to(held)


def leaves_of(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return the domains of the lowest tier, and each node's position among them; the last position means none."""
    lowest = topology.lowest
    leaves = np.array(
        [number for number, domain in enumerate(topology.domains) if domain.tier == topology.tiers[0]], dtype=np.int64
    )
    position = np.full(len(topology.domains) + 1, leaves.size, dtype=np.int64)
    position[leaves] = np.arange(leaves.size)
    return leaves, position[lowest]
