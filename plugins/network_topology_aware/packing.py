"""Packing: place tasks without a topology where they break the fewest domains.

Per tier, the domain around a node is scored by its fullness with the task. A node without a domain of a tier counts as
full there, because it breaks none. The weights of the tiers are 1, f, f², ... from tier 1 on.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.topology.tree import NONE, Topology
from pyroclast.plugins.network_topology_aware.fullness import fullness

__all__ = ["Chains", "Packing"]


class Chains:
    """Nodes grouped by their domains of each tier; created once per session."""

    def __init__(self, topology: Topology, fading: float) -> None:
        self.topology = topology
        tiers = topology.tiers
        by_tier = np.array([topology.at_tier(tier) for tier in tiers], dtype=np.int64)
        chains, groups = np.unique(by_tier, axis=1, return_inverse=True)
        self.chains: IntArray = chains
        """Domain of each tier, `NONE` if there is none, shape (tiers, G)."""
        self.groups: IntArray = groups.reshape(-1).astype(np.int64)
        """Group of each node, shape (N,)."""
        heaviest = tiers[-1] if fading > 1 else tiers[0]
        self.weights: FloatArray = np.array([_weight(tier, fading, heaviest) for tier in tiers])
        """Weight of each tier relative to the heaviest one, because only their ratios count, shape (tiers,)."""
        self.unbroken = sum(_between(lower, upper, fading, heaviest) for lower, upper in pairwise(tiers))
        """Weight of all tiers between these, which have no domains."""


def _weight(tier: int, fading: float, heaviest: int) -> float:
    if fading == 0:
        return float(tier == 1)
    return float(fading ** (tier - heaviest))


def _between(lower: int, upper: int, fading: float, heaviest: int) -> float:
    """Return the sum of the weights of the tiers between two. A formula: there may be very many tiers."""
    if fading == 0:
        return float(lower < 1 < upper)
    if fading == 1:
        return upper - lower - 1.0
    return (_weight(lower + 1, fading, heaviest) - _weight(upper, fading, heaviest)) / (1 - fading)


class Packing:
    """Scores of node groups for the tasks of one template."""

    def __init__(
        self,
        chains: Chains,
        *,
        request: IntArray,
        used: IntArray,
        allocatable: IntArray,
        weights: Sequence[int],
        factor: float,
    ) -> None:
        """Start with the used amounts; shapes are those of `fullness`, `factor` scales the scores."""
        self._chains = chains
        self._request = request
        self._used = used
        self._allocatable = allocatable
        self._weights = weights
        self._factor = factor
        self.groups: IntArray = chains.groups
        self.group_count: int = chains.chains.shape[1]

    def scores(self, _candidates: IntArray) -> FloatArray:
        """Return the score of each group, shape (G,)."""
        by_domain = fullness(self._request, self._used, self._allocatable, self._weights)
        full = np.append(by_domain, 1.0)  # `NONE` is the last
        weights = self._chains.weights
        total = weights.sum() + self._chains.unbroken
        scores: FloatArray = np.full(self._chains.chains.shape[1], self._chains.unbroken)
        if total <= 0:
            return scores  # with fading 0 and no tier 1 no tier counts
        for weight, domains in zip(weights.tolist(), self._chains.chains, strict=True):
            scores += weight * full[domains]
        totals: FloatArray = scores / total * self._factor
        return totals

    def place(self, _group: int, column: int) -> None:
        """Add one more task on a node."""
        around = [number for number in self._around(column) if number != NONE]
        self._used[:, around] += self._request[:, None]

    def _around(self, column: int) -> list[int]:
        domains: list[int] = self._chains.chains[:, self.groups[column]].tolist()
        return domains
