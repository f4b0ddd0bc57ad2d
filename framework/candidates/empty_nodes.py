"""Empty nodes: how many equal tasks would have room if all that can leave the nodes had left.

Other pods count for nothing here, so the count is a bound in favour of the tasks.
"""

from typing import Final, NamedTuple

import numpy as np

from pyroclast.model.arrays import BoolArray, IntArray, distinct_columns

__all__ = ["NodeSizes", "PlacesOnEmptyNodes"]

_NO_LIMIT: Final = 1 << 60
_MOST_MASKS: Final = 256


class PlacesOnEmptyNodes(NamedTuple):
    """Number of tasks of a template that empty nodes have capacity for."""

    total: int
    by_resource: IntArray
    """The same where one resource alone counts, shape (R,); a bound where the task asks for none of it."""


class NodeSizes:
    """The distinct amounts that nodes offer, so that a question about empty nodes is asked once for equal ones."""

    __slots__ = ("_amounts", "_counts", "_number")

    def __init__(self, allocatable: IntArray) -> None:
        """Find them in what nodes offer, base units, shape (R, N)."""
        firsts, self._number = distinct_columns(allocatable)
        self._amounts: IntArray = allocatable[:, firsts]
        """One column a size, shape (R, sizes)."""
        self._counts: dict[int, tuple[BoolArray, IntArray]] = {}
        """Nodes by size, shape (sizes,), that masks permit, by identity of the mask, which is kept: few masks serve all
        templates."""

    def fits(self, thresholds: IntArray, permitted: BoolArray) -> bool:
        """Return whether some node offers enough.

        Args:
            thresholds: The least that it must offer, base units, shape (R, 1).
            permitted: Which nodes count, shape (N,).
        """
        fits = np.logical_and.reduce(thresholds <= self._amounts, axis=0)
        return bool(fits.any()) and bool((fits[self._number] & permitted).any())

    def places_for(self, request: IntArray, permitted: BoolArray) -> PlacesOnEmptyNodes:
        """Count places for tasks of one request, in all resources together and in each.

        Args:
            request: What a task asks for, base units, shape (R,).
            permitted: Which nodes permit it, shape (N,).
        """
        nodes = self._count(permitted)
        asked = np.flatnonzero(request > 0)
        most = _NO_LIMIT // max(int(nodes.sum()), 1)
        places = np.minimum(np.maximum(self._amounts[asked], 0) // request[asked, None], most)
        by_resource = np.full(request.size, _NO_LIMIT, dtype=np.int64)
        by_resource[asked] = places @ nodes
        return PlacesOnEmptyNodes(int(places.min(axis=0) @ nodes) if asked.size else 0, by_resource)

    def _count(self, permitted: BoolArray) -> IntArray:
        known = self._counts.get(id(permitted))
        if known is None:
            if len(self._counts) >= _MOST_MASKS:
                self._counts.clear()
            counts = np.bincount(self._number[permitted], minlength=self._amounts.shape[1])
            known = self._counts[id(permitted)] = permitted, counts
        return known[1]
