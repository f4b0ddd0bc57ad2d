"""Counts of different numbers."""

import numpy as np
import pytest

from pyroclast.model.arrays import distinct_count


@pytest.mark.parametrize("numbers", [[], [7], [-2, -1, 5, 5], [3, 3, 3], [1, 10**12, 1]])
def test_different_numbers_are_counted(numbers: list[int]) -> None:
    """Whatever their range."""
    assert distinct_count(np.array(numbers, dtype=np.int64)) == len(set(numbers))
