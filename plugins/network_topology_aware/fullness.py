"""Fullness: used fraction of domains with an additional request."""

from collections.abc import Sequence

import numpy as np

from pyroclast.model.arrays import BoolArray, FloatArray, IntArray

__all__ = ["fullness"]


def fullness(request: IntArray, used: IntArray, allocatable: IntArray, weights: Sequence[int]) -> FloatArray:
    """Score the used fraction of each domain with a request.

    Args:
        request: Additional request, base units, shape (k,): only requested resources that have a weight.
        used: Used amounts of each domain's nodes, base units, shape (k, d).
        allocatable: Their allocatable amounts, base units, shape (k, d).
        weights: Weight of each resource, unitless, k of them.

    Returns:
        The weighted mean of the used fractions, from 0 to 1, shape (d,); 0 if any resource would be overfull.
    """
    total = sum(weights)
    scores = np.zeros(used.shape[1])
    if total <= 0:
        return scores
    after = used + request[:, None]
    overfull: BoolArray = np.logical_or.reduce(after > allocatable, axis=0)
    for row, weight in enumerate(weights):
        scores += weight * (after[row] / np.maximum(allocatable[row], 1))
    return np.where(overfull, 0.0, scores / total)
