"""Dominant shares of jobs."""

from collections.abc import Sequence

__all__ = ["TOLERANCE", "DominantShares", "dominant"]

TOLERANCE = 0.000001
"""Shares this close count as equal when victims are chosen; orders compare exactly."""


def dominant(allocated: Sequence[int], total: Sequence[int]) -> tuple[float, int]:
    """Return the largest share that amounts have of a total, correctly rounded, and its row (the first among equals).

    Resources that the cluster does not offer do not count; the row is -1 where nothing is allocated.
    """
    share, row = 0.0, -1
    for each, amount in enumerate(allocated):
        if amount and total[each] > 0:
            part = amount / total[each]
            if part > share:
                share, row = part, each
    return share, row


class DominantShares:
    """What each job has been given, evictions and waiting places included; base units by resource row."""

    __slots__ = ("_allocated", "_shares", "total")

    def __init__(self, total: Sequence[int]) -> None:
        self.total = total
        self._allocated: dict[str, list[int]] = {}
        self._shares: dict[str, float] = {}

    def begin(self, job: str, allocated: Sequence[int]) -> list[int]:
        """Return what a job has been given, beginning with what it had when the session began."""
        known = self._allocated.get(job)
        if known is None:
            known = self._allocated[job] = list(allocated)
        return known

    def share(self, job: str, allocated: Sequence[int]) -> float:
        """Return the dominant share of a job."""
        share = self._shares.get(job)
        if share is None:
            share = self._shares[job] = dominant(self.begin(job, allocated), self.total)[0]
        return share

    def add(self, job: str, before: Sequence[int], amounts: Sequence[int]) -> None:
        """Count amounts (negative ones for evictions); `before` is what the job had when the session began."""
        allocated = self.begin(job, before)
        for row, amount in enumerate(amounts):
            if amount:
                allocated[row] += amount
        self._shares.pop(job, None)
