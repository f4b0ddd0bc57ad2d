"""Scores by amounts: least allocated, most allocated, balanced allocation (Kubernetes 1.36).

All functions take columns of amounts and return integers from 0 to 100. Divisions truncate, as in kube-scheduler.
"""

from typing import Final

import numpy as np

from pyroclast.model.arrays import BoolArray, FloatArray, IntArray

__all__ = ["balance", "balanced", "least_allocated", "most_allocated"]

MAX_SCORE: Final = 100


def least_allocated(requested: IntArray, capacity: IntArray) -> IntArray:
    """Prefer nodes with free resources.

    Args:
        requested: Scored requests of all pods including the new one, shape (2, n): cpu, memory.
        capacity: Allocatable amounts, same units, shape (2, n).

    Returns:
        Mean of the free percentages, shape (n,); a resource that a node does not offer is left out.
    """
    free = np.maximum(capacity - requested, 0) * MAX_SCORE // np.maximum(capacity, 1)
    return _mean(free, capacity > 0)


def most_allocated(requested: IntArray, capacity: IntArray) -> IntArray:
    """Prefer nodes with few free resources; arguments and result are as in `least_allocated`."""
    taken = np.minimum(requested, capacity) * MAX_SCORE // np.maximum(capacity, 1)
    return _mean(taken, capacity > 0)


def _mean(scores: IntArray, offered: BoolArray) -> IntArray:
    if offered.all():
        mean: IntArray = np.add.reduce(scores, axis=0) // scores.shape[0]
        return mean
    count = offered.sum(axis=0)
    some: IntArray = np.where(offered, scores, 0).sum(axis=0) // np.maximum(count, 1)
    return some


def balance(requested: IntArray, capacity: IntArray) -> IntArray:
    """Return how evenly the resources of nodes would be used.

    Args:
        requested: Requests of all pods including the new one, shape (k, n).
        capacity: Allocatable amounts, shape (k, n); a resource that is not offered is left out.

    Returns:
        100 less the standard deviation of the used fractions in per cent, truncated, shape (n,).
    """
    offered = capacity > 0
    if not offered.all():
        return _balance_of_offered(requested, capacity, offered)
    fractions = np.minimum(requested / capacity, 1.0)
    if fractions.shape[0] == 2:  # cpu and memory: half the distance, as kube-scheduler computes it
        deviation = np.abs((fractions[0] - fractions[1]) / 2)
    else:
        deviation = _deviation(fractions, fractions.shape[0])
    scores: IntArray = ((1 - deviation) * MAX_SCORE).astype(np.int64)
    return scores


def _balance_of_offered(requested: IntArray, capacity: IntArray, offered: BoolArray) -> IntArray:
    scores = np.full(capacity.shape[1], MAX_SCORE, dtype=np.int64)
    for pattern in np.unique(offered, axis=1).T:
        columns = (offered == pattern[:, None]).all(axis=0)
        if pattern.any():
            rows = np.flatnonzero(pattern)
            scores[columns] = balance(requested[np.ix_(rows, columns)], capacity[np.ix_(rows, columns)])
    return scores


def _deviation(fractions: FloatArray, count: int) -> FloatArray:
    if count == 1:
        return np.zeros(fractions.shape[1])
    mean = fractions.sum(axis=0) / count
    deviation: FloatArray = np.sqrt(((fractions - mean) ** 2).sum(axis=0) / count)
    return deviation


def balanced(before: IntArray, request: IntArray, capacity: IntArray, *, looks_back: bool) -> IntArray:
    """Prefer nodes whose resources are more evenly used with the pod.

    Args:
        before: Requests of the pods on the nodes, shape (k, n).
        request: Request of the pod, shape (k, 1).
        capacity: Allocatable amounts, shape (k, n).
        looks_back: Score the change that the pod causes (Kubernetes 1.36); otherwise only the result (1.35).

    Returns:
        Scores from 0 to 100, shape (n,).
    """
    after = balance(before + request, capacity)
    if not looks_back:
        return after
    return MAX_SCORE // 2 + (MAX_SCORE // 2 + after - balance(before, capacity)) // 2
