"""Fair share: how much of each resource a queue deserves, by water-filling.

First every queue is offered its part by weight, cut to its limits and to what it asks for, but never less than its
guarantee. What is left over then flows to the queues that have use for it, again by weight, until all are full or
nothing is left. Volcano computes the second part in rounds of floating point; here its limit is computed exactly.
"""

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["deserved"]


def deserved(
    total: Sequence[int],
    weights: Sequence[int],
    limits: Sequence[Sequence[int]],
    requests: Sequence[Sequence[int]],
    guarantees: Sequence[Sequence[int]],
) -> list[list[Fraction]]:
    """Divide `total` among queues.

    Args:
        total: What there is, base units, by resource.
        weights: Of each queue, not negative; where all are 0 nobody deserves anything, guarantees included.
        limits: Most that each queue may have, by queue and resource.
        requests: What each queue asks for, what it has included, by queue and resource.
        guarantees: Least that each queue gets, by queue and resource.

    Returns:
        What each queue deserves, exact, by queue and resource.
    """
    whole = sum(weights)
    if not whole:
        return [[Fraction(0)] * len(total) for _ in weights]
    shares = [[Fraction(0)] * len(total) for _ in weights]
    for resource, amount in enumerate(total):
        caps = [min(limit[resource], request[resource]) for limit, request in zip(limits, requests, strict=True)]
        floors = [guarantee[resource] for guarantee in guarantees]
        column = _divide(amount, weights, whole, caps, floors)
        for queue, share in enumerate(column):
            shares[queue][resource] = share
    return shares


def _divide(
    amount: int, weights: Sequence[int], whole: int, caps: Sequence[int], floors: Sequence[int]
) -> list[Fraction]:
    given = [
        max(min(Fraction(amount * weight, whole), Fraction(cap)), Fraction(floor))
        for weight, cap, floor in zip(weights, caps, floors, strict=True)
    ]
    left = amount - sum(given, start=Fraction(0))
    if left > 0:
        _pour(left, weights, caps, given)
    return given


def _pour(left: Fraction, weights: Sequence[int], caps: Sequence[int], given: list[Fraction]) -> None:
    """Give what is left to those below their caps, by weight: who is full soonest first."""
    thirsty = sorted(
        ((caps[queue] - have) / weights[queue], queue)
        for queue, have in enumerate(given)
        if weights[queue] and caps[queue] > have
    )
    weight = sum(weights[queue] for _, queue in thirsty)
    level = Fraction(0)
    for full_at, queue in thirsty:
        if left <= (full_at - level) * weight:
            break
        left -= (full_at - level) * weight
        level = full_at
        weight -= weights[queue]
    else:
        left = Fraction(0)
    level += left / weight if weight else 0
    for full_at, queue in thirsty:
        given[queue] += min(full_at, level) * weights[queue]
