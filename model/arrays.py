"""Arrays: aliases named after their contents. The docstrings of the users give the shapes."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "FloatArray", "IntArray", "ReasonArray"]

IntArray = NDArray[np.int64]
"""Amounts in base units, counts, or column numbers."""

FloatArray = NDArray[np.float64]
"""Scores and shares."""

BoolArray = NDArray[np.bool_]
"""Masks, named for their true rows."""

ReasonArray = NDArray[np.uint8]
"""Verdicts: 0 fits, n is the n-th reason (from 1) of the predicate that was asked."""
