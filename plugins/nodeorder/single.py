"""The scores of `amounts` for one node, with plain numbers.

A placement re-scores only its node, and there one numpy call costs as much as a whole score. Both modules must return
the same numbers; a test compares them.
"""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Final

__all__ = ["balanced_one", "least_one", "most_one"]

MAX_SCORE: Final = 100


def least_one(requested: Sequence[int], capacity: Sequence[int]) -> int:
    """Score free resources: `amounts.least_allocated` of one node, by cpu and memory."""
    parts = [
        max(offered - taken, 0) * MAX_SCORE // offered
        for taken, offered in zip(requested, capacity, strict=False)
        if offered > 0
    ]
    return sum(parts) // len(parts) if parts else 0


def most_one(requested: Sequence[int], capacity: Sequence[int]) -> int:
    """Score used resources: `amounts.most_allocated` of one node, by cpu and memory."""
    parts = [
        min(taken, offered) * MAX_SCORE // offered
        for taken, offered in zip(requested, capacity, strict=False)
        if offered > 0
    ]
    return sum(parts) // len(parts) if parts else 0


def balanced_one(before: Sequence[int], request: Sequence[int], capacity: Sequence[int], *, looks_back: bool) -> int:
    """Score balanced use: `amounts.balanced` of one node."""
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
    if len(fractions) < 2:  # a single fraction has no deviation
        return MAX_SCORE
    if len(fractions) == 2:  # half the distance, as in kube-scheduler
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        mean = _plain_sum(fractions) / len(fractions)
        squares = [(each - mean) * (each - mean) for each in fractions]
        deviation = math.sqrt(_plain_sum(squares) / len(fractions))
    return int((1 - deviation) * MAX_SCORE)


def _plain_sum(numbers: Sequence[float]) -> float:
    # Not `sum`: since Python 3.12 it corrects rounding errors, so the result differs from arrays.
    return functools.reduce(operator.add, numbers)
