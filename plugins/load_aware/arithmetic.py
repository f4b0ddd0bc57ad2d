"""Arithmetic of estimates, loads and scores. R resources, n nodes; base units, thousandths for CPU."""

from typing import Final

import numpy as np

from pyroclast.model.arrays import IntArray

__all__ = ["estimate", "exceeding", "free", "percent", "score"]

_PERCENT: Final = 100
_LARGEST: Final = 2**54
"""Larger amounts are cut to this value, so that they can be multiplied by 200 within 63 bits."""


def estimate(request: int, limit: int, factor: int, *, otherwise: int) -> int:
    """Return the estimated usage of one resource: a fraction of the limit or request, at most the limit.

    Args:
        request: Request of the pod.
        limit: Limit of the pod; 0 for no limit.
        factor: Percentage; halves are rounded up.
        otherwise: Estimate of a pod without request and limit.
    """
    most = max(request, limit)
    if not most:
        return otherwise
    expected = (2 * most * factor + _PERCENT) // (2 * _PERCENT)
    return min(expected, limit) if limit else expected


def percent(used: IntArray, capacity: IntArray) -> IntArray:
    """Return the used percentage of each resource, halves rounded up, 0 without capacity, shape (R, n)."""
    whole = np.minimum(used, _LARGEST) * (2 * _PERCENT) + capacity
    parts: IntArray = np.where(capacity > 0, whole // np.maximum(2 * capacity, 1), 0)
    return parts


def exceeding(percents: IntArray, thresholds: IntArray) -> IntArray:
    """Return the first resource above its threshold, counted from 1; 0 for none, shape (n,).

    Args:
        percents: Used percentages, shape (R, n).
        thresholds: Thresholds in percent, 0 for none, shape (R, n).
    """
    above = (thresholds > 0) & (percents > thresholds)
    first: IntArray = np.where(above.any(axis=0), above.argmax(axis=0) + 1, 0)
    return first


def free(used: IntArray, capacity: IntArray) -> IntArray:
    """Return the free percentage of each resource, rounded down, 0 if overused, shape (R, n)."""
    left = np.clip(capacity - used, 0, _LARGEST) * _PERCENT
    parts: IntArray = np.where(capacity > 0, left // np.maximum(capacity, 1), 0)
    return parts


def score(left: IntArray, weights: IntArray, dominant: int) -> IntArray:
    """Score nodes from 0 to 100 by free resources, shape (n,).

    Args:
        left: Free percentage of each resource, shape (R, n).
        weights: Weight of each resource, shape (R, 1).
        dominant: Additional weight of the scarcest resource.
    """
    total: IntArray = (left * weights).sum(axis=0)
    if dominant:
        total = total + left.min(axis=0) * dominant
    scores: IntArray = total // (int(weights.sum()) + dominant)
    return scores
