"""Columns: one column of numbers per job or node; columns change in place and are copied for a snapshot.

A matrix consists of segments of rows: some have a fixed size, others have one row per resource. A column keeps its
number until it is freed. When the resource space changes, rows move and are rescaled exactly.
"""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

import numpy as np

from pyroclast.model.arrays import IntArray
from pyroclast.model.resources import ResourceSpace

__all__ = ["PER_RESOURCE", "Matrix", "Segments", "frozen"]

PER_RESOURCE: Final = 0
"""Size of a segment that has one row per resource."""
_FIRST_CAPACITY: Final = 64


def frozen(array: IntArray) -> IntArray:
    """Write-protect an array and return it."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True)
class Segments:
    """Sizes of the segments of a matrix, in order. `PER_RESOURCE` stands for one row per resource."""

    sizes: tuple[int, ...]

    def slices(self, resources: int) -> tuple[slice, ...]:
        """Return the rows of each segment, for a number of resources."""
        ends = accumulate((size or resources for size in self.sizes), initial=0)
        return tuple(slice(begin, end) for begin, end in pairwise(ends))

    def height(self, resources: int) -> int:
        """Return the number of rows, for a number of resources."""
        return sum(size or resources for size in self.sizes)


class Matrix:
    """Columns of integers, shape (rows, capacity)."""

    def __init__(self, segments: Segments, space: ResourceSpace) -> None:
        """Start without columns."""
        self._segments = segments
        self._space = space
        self._free: list[int] = []
        self.columns = 0
        """Largest number of columns in use at the same time. Values of later columns have no meaning."""
        self.slices = segments.slices(len(space))
        self.values: IntArray = np.zeros((segments.height(len(space)), _FIRST_CAPACITY), dtype=np.int64)

    def take(self) -> int:
        """Take a column of zeros and return its number."""
        if self._free:
            return self._free.pop()
        if self.columns == self.values.shape[1]:
            self.values = np.hstack([self.values, np.zeros_like(self.values)])
        self.columns += 1
        return self.columns - 1

    def give_back(self, column: int) -> None:
        """Free a column, so that it can be taken again."""
        self.values[:, column] = 0
        self._free.append(column)

    def respace(self, space: ResourceSpace) -> None:
        """Move and rescale the rows to another space that keeps all amounts exact; drop the rows that it lacks."""
        values = np.zeros((self._segments.height(len(space)), self.values.shape[1]), dtype=np.int64)
        slices = self._segments.slices(len(space))
        kept = [name for name in self._space.names if name in space.rows]
        before, after = [self._space.rows[name] for name in kept], [space.rows[name] for name in kept]
        factors = np.take(space.scales, after) // np.take(self._space.scales, before)
        for size, old, new in zip(self._segments.sizes, self.slices, slices, strict=True):
            if size == PER_RESOURCE:
                values[new][after] = self.values[old][before] * factors[:, None]
            else:
                values[new] = self.values[old]
        self.values, self.slices, self._space = values, slices, space
