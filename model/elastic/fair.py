"""Fair: division of one resource among sibling quotas (water filling).

Each quota first gets its guarantee, or its request if that is less and the quota lends the rest. The remainder is
divided by weight among quotas that request more, largest remainders first, until their requests are met or nothing is
left. Amounts and parts are integers: nothing is lost in rounding.

Example: 100 for a (weight 60, requests 80, guaranteed 40), b (30, 50, 20) and c (10, 5, 20, lends). First 40, 20, 5;
35 are left for a and b: 23.3 and 11.7, so 23 and 11, and one more for b. That makes 63, 32, 5.
"""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Sharer", "divided", "scaled"]


class Sharer(NamedTuple):
    """Share of one quota in the division of one resource, base units."""

    name: str
    guaranteed: int
    asked: int
    """No more than its maximum."""
    weight: int
    lends: bool = True

    @property
    def first(self) -> int:
        """Amount that it gets before the rest is divided by weight."""
        return min(self.asked, self.guaranteed) if self.lends else self.guaranteed


def divided(total: int, sharers: Sequence[Sharer]) -> list[int]:
    """Divide a total. Guarantees are met even if their sum exceeds the total.

    Args:
        total: Base units to divide; below 0 counts as 0.
        sharers: The sharers; ties of remainders go by name.

    Returns:
        The part of each sharer, in their order.
    """
    parts = [sharer.first for sharer in sharers]
    left = total - sum(parts)
    contending = [at for at, each in enumerate(sharers) if each.asked > each.guaranteed and each.weight > 0]
    while left > 0 and contending:
        surplus = 0
        for at, share in zip(contending, _by_weight(left, [sharers[at] for at in contending]), strict=True):
            part = parts[at] + share
            parts[at] = min(part, sharers[at].asked)
            surplus += part - parts[at]
        contending = [at for at in contending if parts[at] < sharers[at].asked]
        left = surplus
    return parts


def scaled(total: int, guarantees: Sequence[int]) -> list[int]:
    """Scale guarantees down to a total, in proportion. They stay unchanged if their sum does not exceed it."""
    there, together = max(total, 0), sum(guarantees)
    if together <= there:
        return list(guarantees)
    return [there * each // together for each in guarantees]


def _by_weight(amount: int, sharers: Sequence[Sharer]) -> list[int]:
    """Divide an amount by weights: whole parts, then one more for the largest remainders, ties by name."""
    weights = sum(sharer.weight for sharer in sharers)
    divisions = [divmod(amount * sharer.weight, weights) for sharer in sharers]
    parts = [whole for whole, _ in divisions]
    largest_first = sorted(range(len(sharers)), key=lambda at: (-divisions[at][1], sharers[at].name))
    for at in largest_first[: amount - sum(parts)]:
        parts[at] += 1
    return parts
