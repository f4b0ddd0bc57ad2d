"""Distribution: how many tasks of a gang each node takes, so that the gang is close together in the network.

The lowest domains that can take all tasks are tried, the tightest ones first. Inside a domain, those below it are
filled one after the other, the one that can take most first. The number of tasks in a domain of a layer can be required
to be a multiple. Rules and numbers: docs/plugins/coscheduling.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.topology.tree import NONE, Topology

__all__ = ["Distribution"]


class Distribution:
    """The domains of one tree, and how many tasks each can take. N nodes, D domains."""

    def __init__(
        self,
        tree: Topology,
        offers: IntArray,
        *,
        multiples: Mapping[int, int],
        scores: FloatArray,
        attraction: IntArray | None = None,
    ) -> None:
        """Add up what nodes can take.

        Args:
            tree: A tree whose domains of tier 1 are the nodes.
            offers: How many of the tasks each node can take, shape (N,).
            multiples: Number by tier of which the number of tasks in each domain is a multiple.
            scores: Score of each node for the first task, shape (N,).
            attraction: Pods on each node that attract the tasks, shape (N,); domains with most of them come first.
        """
        self._tree, self._multiples, self._scores = tree, multiples, scores
        self._attraction = None if attraction is None else tree.sums(attraction)
        self._taken = self._offers(offers)

    def offer(self, number: int) -> int:
        """Return how many of the tasks a domain can take at most."""
        return int(self._taken[number])

    def places(self, count: int, allowed: Sequence[int]) -> list[tuple[int, int]] | None:
        """Return nodes with the number of tasks that each takes, in the order of the tree; None if there are none.

        Args:
            count: Number of tasks.
            allowed: The domains that may hold the tasks.
        """
        able = [number for number in allowed if self._taken[number] >= count]
        if not able:
            return None
        lowest = min(self._tree.domains[number].tier for number in able)
        able = [number for number in able if self._tree.domains[number].tier == lowest]
        for number in sorted(able, key=self._rank):
            found = list(self._fill(number, count))
            if sum(taken for _, taken in found) == count:
                return found
        return None

    def _offers(self, offers: IntArray) -> IntArray:
        """Return what each domain can take, shape (D,): what those below it take, rounded down to its multiple."""
        tiers, parents = self._tree.tier_of, self._tree.parents
        taken = np.where(tiers == 1, self._tree.sums(offers), 0)
        for tier in self._tree.tiers:
            own = np.flatnonzero(tiers == tier)
            taken[own] -= taken[own] % self._multiple(tier)
            inner = own[parents[own] != NONE]
            np.add.at(taken, parents[inner], taken[inner])
        return taken

    def _multiple(self, tier: int) -> int:
        return self._multiples.get(tier, 1)

    def _rank(self, number: int) -> tuple[Any, ...]:
        around = list(self._tree.ancestors(number))
        attraction = [-self._attraction_of(each) for each in around]
        taken = [int(self._taken[each]) for each in around]
        return attraction, taken, -self._score(number), self._tree.domains[number].name

    def _rank_inside(self, number: int) -> tuple[Any, ...]:
        domain = self._tree.domains[number]
        attraction, taken = self._attraction_of(number), int(self._taken[number])
        return -domain.tier, -attraction, -taken, -self._score(number), domain.name  # nodes without labels last

    def _attraction_of(self, number: int) -> int:
        return 0 if self._attraction is None else int(self._attraction[number])

    def _score(self, number: int) -> float:
        return float(self._scores[self._tree.domains[number].columns].sum())

    def _fill(self, number: int, count: int) -> Iterator[tuple[int, int]]:
        """Yield the nodes of a domain with the number of tasks that each takes, `count` in all at most."""
        domain = self._tree.domains[number]
        if domain.tier == 1:
            yield int(domain.columns[0]), count
            return
        left = count
        for child in sorted(domain.children, key=self._rank_inside):
            taken = min(left, int(self._taken[child]))
            taken -= taken % self._multiple(self._tree.domains[child].tier)
            if taken:
                yield from self._fill(child, taken)
                left -= taken
            if not left:
                return
