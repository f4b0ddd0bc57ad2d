"""Memory: what one cycle tells the next, as one serialisable value.

Dropping it changes no decision: it saves work that would come to the same end, and it keeps promises (room held for a
beneficiary) that the cluster shows too, by nominated nodes.
"""

from typing import Final

import msgspec
import numpy as np

from model.arrays import BoolArray, IntArray
from model.jobs import JobTable

__all__ = ["Memory", "Settled"]

_NEVER: Final = -1
"""A revision that no job has."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What the next cycle should know."""

    cycle: int = 0
    """Number of the last cycle."""
    quiet_snapshot: int = -1
    """Generation of a snapshot on which a cycle decided nothing and would decide nothing again; -1 for none."""
    quiet_configuration: int = -1
    """Generation of the configuration of that cycle."""


class Settled:
    """Jobs whose status was found to be written as it should be; a cache beside the memory, never serialised.

    A revision is never used twice, so a column with the revision it had needs no second look unless the session touched
    its job.
    """

    __slots__ = ("_revisions",)

    def __init__(self) -> None:
        self._revisions: IntArray = np.full(0, _NEVER, dtype=np.int64)

    def unsettled(self, table: JobTable) -> BoolArray:
        """Tell which columns need a look, shape (J,)."""
        self._fit(table.revision.size)
        return table.revision != self._revisions[: table.revision.size]

    def note(self, table: JobTable, column: int, *, is_settled: bool) -> None:
        """Note whether a job's status is as it should be."""
        self._fit(table.revision.size)
        self._revisions[column] = table.revision[column] if is_settled else _NEVER

    def _fit(self, columns: int) -> None:
        if columns > self._revisions.size:
            more = np.full(columns - self._revisions.size, _NEVER, dtype=np.int64)
            self._revisions = np.append(self._revisions, more)
