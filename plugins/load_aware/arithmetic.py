"""Estimates, loads and scores as numbers: R resources, n nodes, amounts in base units, thousandths for CPU."""

from typing import Final

import numpy as np

from pyroclast.model.arrays import IntArray

__all__ = ["estimate", "exceeding", "free", "percent", "score"]

_PERCENT: Final = 100
_LARGEST: Final = 2**54
"""Amounts saturate here, so that they can be multiplied by 200 in 63 bits."""


def estimate(request: int, limit: int, factor: int, *, otherwise: int) -> int:
    """Return what a pod is taken to use of one resource: a part of its limit or request, at most its limit.

    Args:
        request: What it asks for.
        limit: The most that it may use; 0 for no limit.
        factor: Percent; halves are rounded up.
        otherwise: Taken where it neither asks for anything nor has a limit.
    """
    most = max(request, limit)
    if not most:
        return otherwise
    expected = (2 * most * factor + _PERCENT) // (2 * _PERCENT)
    return min(expected, limit) if limit else expected


def percent(used: IntArray, capacity: IntArray) -> IntArray:
    """Return which part of each resource is used, halves rounded up, 0 where there is none, shape (R, n)."""
    whole = np.minimum(used, _LARGEST) * (2 * _PERCENT) + capacity
    parts: IntArray = np.where(capacity > 0, whole // np.maximum(2 * capacity, 1), 0)
    return parts


def exceeding(percents: IntArray, thresholds: IntArray) -> IntArray:
    """Return the first resource that is used above its threshold, counted from 1; 0 for none, shape (n,).

    Args:
        percents: In use, shape (R, n).
        thresholds: Percent, 0 for none, shape (R, n).
    """
    above = (thresholds > 0) & (percents > thresholds)
    first: IntArray = np.where(above.any(axis=0), above.argmax(axis=0) + 1, 0)
    return first


def free(used: IntArray, capacity: IntArray) -> IntArray:
    """Return what is left of each resource, whole percent, 0 where more is used than there is, shape (R, n)."""
    left = np.clip(capacity - used, 0, _LARGEST) * _PERCENT
    parts: IntArray = np.where(capacity > 0, left // np.maximum(capacity, 1), 0)
    return parts


def score(left: IntArray, weights: IntArray, dominant: int) -> IntArray:
    """Score nodes from 0 to 100 by what is left, shape (n,).

    Args:
        left: Of each resource, percent, shape (R, n).
        weights: Importance of each resource, shape (R, 1).
        dominant: Importance of the resource of which least is left, beside its own.
    """
    total: IntArray = (left * weights).sum(axis=0)
    if dominant:
        total = total + left.min(axis=0) * dominant
    scores: IntArray = total // (int(weights.sum()) + dominant)
    return scores
