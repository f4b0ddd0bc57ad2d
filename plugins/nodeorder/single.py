"""The scores of `amounts` for one node, in plain numbers.

A placement re-scores the one node that it touched, and there each call of numpy costs as much as a whole score does
here. Both must give the same numbers, which a test holds them to.
"""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Final

__all__ = ["balanced_one", "least_one", "most_one"]

MAX_SCORE: Final = 100


def least_one(requested: Sequence[int], capacity: Sequence[int]) -> int:
    """Score free room: `amounts.least_allocated` of one node, by cpu and memory."""
    parts = [
        max(offered - taken, 0) * MAX_SCORE // offered
        for taken, offered in zip(requested, capacity, strict=False)
        if offered > 0
    ]
    return sum(parts) // len(parts) if parts else 0


def most_one(requested: Sequence[int], capacity: Sequence[int]) -> int:
    """Score used room: `amounts.most_allocated` of one node, by cpu and memory."""
    parts = [
        min(taken, offered) * MAX_SCORE // offered
        for taken, offered in zip(requested, capacity, strict=False)
        if offered > 0
    ]
    return sum(parts) // len(parts) if parts else 0


def balanced_one(before: Sequence[int], request: Sequence[int], capacity: Sequence[int], *, looks_back: bool) -> int:
    """Score even use: `amounts.balanced` of one node."""
    after = _balance([have + asked for have, asked in zip(before, request, strict=True)], capacity)
    if not looks_back:
        return after
    return MAX_SCORE // 2 + (MAX_SCORE // 2 + after - _balance(before, capacity)) // 2


def _balance(requested: Sequence[int], capacity: Sequence[int]) -> int:
    fractions = [
        min(float(taken) / float(offered), 1.0)
        for taken, offered in zip(requested, capacity, strict=True)
        if offered > 0
    ]
    if len(fractions) < 2:  # one alone deviates from nothing
        return MAX_SCORE
    if len(fractions) == 2:  # half the distance, as kube-scheduler computes it
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        mean = _plain_sum(fractions) / len(fractions)
        squares = [(each - mean) * (each - mean) for each in fractions]
        deviation = math.sqrt(_plain_sum(squares) / len(fractions))
    return int((1 - deviation) * MAX_SCORE)


def _plain_sum(numbers: Sequence[float]) -> float:
    # not `sum`, which corrects for rounding since Python 3.12 and so differs from arrays
    return functools.reduce(operator.add, numbers)
