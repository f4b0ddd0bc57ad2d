"""Dominant shares of jobs."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId

__all__ = ["TOLERANCE", "DominantShares", "dominant", "largest"]

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


def largest(allocated: IntArray, total: IntArray, *, among: BoolArray, most: int) -> list[int]:
    """Return who has the largest dominant shares, largest first.

    Args:
        allocated: What each job has, base units, shape (R, J).
        total: What the cluster offers, base units, shape (R,).
        among: Columns that count, shape (J,).
        most: Number of columns returned at most.

    Returns:
        Columns; among equals the lower one goes first.
    """
    columns = np.flatnonzero(among)
    offered = total > 0
    shares = (allocated[np.ix_(offered, columns)] / total[offered, None]).max(axis=0, initial=0.0)
    found: list[int] = columns[np.argsort(-shares, kind="stable")[:most]].tolist()
    return found


class DominantShares:
    """What each job has been given, evictions and waiting places included; base units by resource row."""

    __slots__ = ("_allocated", "_before", "_shares", "total")

    def __init__(self, total: Sequence[int], before: Callable[[JobId], Sequence[int]]) -> None:
        self.total = total
        self._before = before
        """Tells what a job had when the session began; asked once per job."""
        self._allocated: dict[JobId, list[int]] = {}
        self._shares: dict[JobId, float] = {}

    def given(self, job: JobId) -> list[int]:
        """Return what a job has been given; do not write."""
        known = self._allocated.get(job)
        if known is None:
            known = self._allocated[job] = list(self._before(job))
        return known

    def known(self) -> Mapping[JobId, Sequence[int]]:
        """Return what the jobs asked for so far have been given."""
        return self._allocated

    def share(self, job: JobId) -> float:
        """Return the dominant share of a job."""
        share = self._shares.get(job)
        if share is None:
            share = self._shares[job] = dominant(self.given(job), self.total)[0]
        return share

    def add(self, job: JobId, amounts: Sequence[int], sign: int) -> None:
        """Count amounts in (+1) or out (-1)."""
        allocated = self.given(job)
        for row, amount in enumerate(amounts):
            if amount:
                allocated[row] += sign * amount
        self._shares.pop(job, None)
