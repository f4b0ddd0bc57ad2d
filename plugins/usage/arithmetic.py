"""Arithmetic of loads, estimates and scores. Shadow load counts exactly, in thousandths of a base unit."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np

from pyroclast.model.arrays import FloatArray, IntArray

__all__ = [
    "PARTS",
    "Weights",
    "estimate",
    "load",
    "load_of_one",
    "part_used",
    "part_used_of_one",
    "score",
    "score_of_one",
]

MAX_SCORE: Final = 100
PARTS: Final = 1000
"""Parts of a base unit (thousandth of a CPU, byte) in estimates, so that sums are whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights of CPU and memory, and of the whole score."""

    cpu: int
    memory: int
    usage: int

    total: int = field(init=False)
    """Sum of the weights of CPU and memory."""

    def __post_init__(self) -> None:
        """Calculate the sum."""
        object.__setattr__(self, "total", self.cpu + self.memory)


def estimate(request: int, limit: int, *, request_ratio: Fraction, burst_ratio: Fraction, risk_factor: Fraction) -> int:
    """Return the estimated usage of one resource by a pod with requests, in parts.

    Args:
        request: Request in base units.
        limit: Limit in base units; below the request, or 0 for none, it counts as the request.
        request_ratio: Used fraction of the request.
        burst_ratio: Used fraction of the difference between limit and request.
        risk_factor: At least 1.
    """
    most = max(limit, request)
    expected = (request * request_ratio + (most - request) * burst_ratio) * risk_factor
    return int(min(expected, Fraction(most)) * PARTS)


def part_used(measured: FloatArray, shadow: IntArray, capacity: IntArray) -> FloatArray:
    """Return the used fraction of a resource on each node, from 0 to 1, shape (n,).

    Args:
        measured: Measured percentage.
        shadow: Usage that is not measured yet, in parts.
        capacity: Base units; a node without capacity counts as unused.
    """
    there = np.maximum(capacity, 1)
    used = (measured / 100.0 * capacity + shadow / PARTS) / there
    return np.where(capacity > 0, np.clip(used, 0.0, 1.0), 0.0)


def part_used_of_one(measured: float, shadow: int, capacity: int) -> float:
    """Return the same for one node. For one node, plain numbers are faster than numpy."""
    if capacity <= 0:
        return 0.0
    used = (measured / 100.0 * capacity + shadow / PARTS) / capacity
    return 1.0 if used > 1.0 else max(used, 0.0)


def load(cpu: FloatArray, memory: FloatArray, weights: Weights) -> FloatArray:
    """Return the load of each node over both resources, from 0 to 1, shape (n,)."""
    return (cpu * weights.cpu + memory * weights.memory) / weights.total if weights.total else np.zeros(cpu.shape)


def load_of_one(cpu: float, memory: float, weights: Weights) -> float:
    """Return the same for one node."""
    return (cpu * weights.cpu + memory * weights.memory) / weights.total if weights.total else 0.0


def score(cpu: FloatArray, memory: FloatArray, weights: Weights) -> FloatArray:
    """Score nodes by their free fraction, from 0 to 100 times the weight, shape (n,)."""
    if not weights.total:
        return np.zeros(cpu.shape)
    free = ((1.0 - cpu) * weights.cpu + (1.0 - memory) * weights.memory) / weights.total
    scores: FloatArray = free * MAX_SCORE * weights.usage
    return scores


def score_of_one(cpu: float, memory: float, weights: Weights) -> float:
    """Return the same for one node."""
    if not weights.total:
        return 0.0
    free = ((1.0 - cpu) * weights.cpu + (1.0 - memory) * weights.memory) / weights.total
    return free * MAX_SCORE * weights.usage
