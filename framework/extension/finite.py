"""Finite scores: a score that is not a finite number is refused, since it would decide for every node."""

import math

from pyroclast.model.arrays import FloatArray

__all__ = ["finite", "finite_number"]


def finite(scores: FloatArray) -> FloatArray:
    """Let scores pass.

    Raises:
        ValueError: One of them is infinite or no number.
    """
    # A sum of squares is the cheapest look at all of them: this is asked after each placement.
    if not math.isfinite(scores.dot(scores)):
        raise ValueError("a score that is no finite number")
    return scores


def finite_number(score: float) -> float:
    """Let one score pass; raises as `finite`."""
    if not math.isfinite(score):
        raise ValueError(f"the score {score} is no finite number")
    return score
