"""Dominant shares of jobs."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId

__all__ = ["TOLERANCE", "DominantShares", "dominant", "largest"]

TOLERANCE = 0.000001
"""Shares within this distance count as equal when victims are chosen; orders compare exactly."""


def dominant(allocated: Sequence[int], total: Sequence[int]) -> tuple[float, int]:
    """Return the largest share of amounts in a total, correctly rounded, and its row (the first among equals).

    Resources that the cluster does not offer do not count. The row is -1 if nothing is allocated.
    """
    share, row = 0.0, -1
    for each, amount in enumerate(allocated):
        if amount and total[each] > 0:
            part = amount / total[each]
            if part > share:
                share, row = part, each
    return share, row


def largest(allocated: IntArray, total: IntArray, *, among: BoolArray, most: int) -> list[int]:
    """Return the columns of the largest dominant shares, largest first.

    Args:
        allocated: Allocated amounts of each job, base units, shape (R, J).
        total: Allocatable amounts of the cluster, base units, shape (R,).
        among: Columns that count, shape (J,).
        most: Maximum number of returned columns.

    Returns:
        Columns; among equals the lower one comes first.
    """
    columns = np.flatnonzero(among)
    offered = total > 0
    shares = (allocated[np.ix_(offered, columns)] / total[offered, None]).max(axis=0, initial=0.0)
    found: list[int] = columns[np.argsort(-shares, kind="stable")[:most]].tolist()
    return found


class DominantShares:
    """Allocated amounts of each job, including evictions and pipelined tasks; base units by resource row."""

    __slots__ = ("_allocated", "_before", "_shares", "total")

    def __init__(self, total: Sequence[int], before: Callable[[JobId], Sequence[int]]) -> None:
        self.total = total
        self._before = before
        """Returns the allocation of a job at the session's start; called once per job."""
        self._allocated: dict[JobId, list[int]] = {}
        self._shares: dict[JobId, float] = {}

    def given(self, job: JobId) -> list[int]:
        """Return the allocation of a job. Read-only."""
        known = self._allocated.get(job)
        if known is None:
            known = self._allocated[job] = list(self._before(job))
        return known

    def known(self) -> Mapping[JobId, Sequence[int]]:
        """Return the allocations of all jobs that were queried so far."""
        return self._allocated

    def share(self, job: JobId) -> float:
        """Return the dominant share of a job."""
        share = self._shares.get(job)
        if share is None:
            share = self._shares[job] = dominant(self.given(job), self.total)[0]
        return share

    def add(self, job: JobId, amounts: Sequence[int], sign: int) -> None:
        """Add amounts (+1) or subtract them (-1)."""
        allocated = self.given(job)
        for row, amount in enumerate(amounts):
            if amount:
                allocated[row] += sign * amount
        self._shares.pop(job, None)
