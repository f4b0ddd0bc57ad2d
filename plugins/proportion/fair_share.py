"""Fair share: the amount of each resource that a queue deserves, by water-filling.

First every queue gets its part by weight, cut to its limit and its request, but never less than its guarantee. The rest
is then divided among the queues below their caps, again by weight, until all are at their caps or nothing is left.
Volcano computes the second part in rounds of floating point; here its limit is computed exactly.
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
        total: Total amounts, base units, by resource.
        weights: Weights of the queues, not negative; if all are 0 the result is 0, including guarantees.
        limits: Upper limits, by queue and resource.
        requests: Requests including allocated amounts, by queue and resource.
        guarantees: Lower limits, by queue and resource.

    Returns:
        Exact deserved amounts, by queue and resource.
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
    """Divide the rest by weight among the queues below their caps; those that reach their cap first come first."""
    below_cap = sorted(
        ((caps[queue] - have) / weights[queue], queue)
        for queue, have in enumerate(given)
        if weights[queue] and caps[queue] > have
    )
    weight = sum(weights[queue] for _, queue in below_cap)
    level = Fraction(0)
    for full_at, queue in below_cap:
        if left <= (full_at - level) * weight:
            break
        left -= (full_at - level) * weight
        level = full_at
        weight -= weights[queue]
    else:
        left = Fraction(0)
    level += left / weight if weight else 0
    for full_at, queue in below_cap:
        given[queue] += min(full_at, level) * weights[queue]
