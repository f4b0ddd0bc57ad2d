"""Arrays: aliases named after their contents. The docstrings of the users give the shapes."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "FloatArray", "IntArray", "ReasonArray", "distinct_columns", "distinct_count"]

IntArray = NDArray[np.int64]
"""Amounts in base units, counts, or column numbers."""

FloatArray = NDArray[np.float64]
"""Scores and shares."""

BoolArray = NDArray[np.bool_]
"""Masks, named for their true rows."""

ReasonArray = NDArray[np.uint8]
"""Verdicts: 0 fits, n is the n-th reason (from 1) of the predicate that was asked."""

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without pattern: sums of amounts times its powers, modulo 2**64, are equal for equal columns alone, as
good as always."""
_WIDE: Final = 16
"""Range of numbers, as a multiple of how many there are, above which they are sorted instead of counted."""


def distinct_columns(columns: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first of each group of equal columns of an array, and the group of each column, shape (N,)."""
    factors = _FACTOR ** np.arange(1, columns.shape[0] + 1, dtype=np.uint64)
    sums = (columns.astype(np.uint64) * factors[:, None]).sum(axis=0)
    _, firsts, groups = np.unique(sums, return_index=True, return_inverse=True)
    if not np.array_equal(columns[:, firsts[groups]], columns):  # unequal columns with equal sums
        _, firsts, groups = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    return firsts, groups


def distinct_count(numbers: IntArray) -> int:
    """Return the number of different numbers in an array of one dimension."""
    if not numbers.size:
        return 0
    least = int(numbers.min())
    if int(numbers.max()) - least > _WIDE * numbers.size:
        return int(np.unique(numbers).size)
    return int(np.count_nonzero(np.bincount(numbers - least)))  # several times as fast as sorting
