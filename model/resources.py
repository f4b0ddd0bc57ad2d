"""Resource space: one row per resource name, amounts as exact integers.

`Amounts` are the amounts of objects: exact thousandths of a unit by resource name. A `ResourceSpace` gives each name a
row and a scale, so that a cluster's amounts become vectors of 64-bit integers that compare and add exactly. CPU counts
in thousandths, memory in bytes, everything else in whole units, or in thousandths where some quantity needs it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pyroclast.model.arrays import IntArray
from pyroclast.model.sealed import SealedDict

__all__ = ["CPU", "MEMORY", "MILLI", "NO_AMOUNTS", "PODS", "UNLIMITED", "Amounts", "ResourceSpace"]

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"

MILLI: Final = 1000
"""Amounts are thousandths: one CPU, one byte, one GPU and one pod are all 1000."""

UNLIMITED: Final = 2**62
"""Value of an unlimited resource in a vector of limits. Far from overflow when amounts are added."""

Amounts = Mapping[str, int]
"""Thousandths of a unit by resource name; a name that is absent is not spoken of, which is not the same as zero."""

NO_AMOUNTS: Final[Amounts] = SealedDict()

_FIXED_ROWS: Final = {CPU: MILLI, MEMORY: 1, PODS: 1}


@dataclass(frozen=True, slots=True, eq=False)
class ResourceSpace:
    """Rows and scales of the resources of one cluster; grown, and cut down, by making a new one."""

    names: tuple[str, ...] = tuple(_FIXED_ROWS)
    """Row to name; the first rows are always cpu, memory and pods, the others in the order of their names."""
    scales: tuple[int, ...] = tuple(_FIXED_ROWS.values())
    """Row to base units per whole unit: 1 or 1000."""
    rows: Mapping[str, int] = field(init=False)
    """Row by name."""

    def __post_init__(self) -> None:
        """Index the names."""
        object.__setattr__(self, "rows", SealedDict((name, row) for row, name in enumerate(self.names)))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.names)

    def covering(self, amounts: Iterable[Amounts]) -> "ResourceSpace":
        """Return a space in which all of `amounts` are exact: this one, when it suffices."""
        scales = dict(zip(self.names, self.scales, strict=True))
        grown = False
        for each in amounts:
            for name, millis in each.items():
                known = scales.get(name)
                if known is None or (known == 1 and millis % MILLI):
                    scales[name] = MILLI if millis % MILLI and name != MEMORY else 1
                    grown = True
        if not grown or (scales == dict(zip(self.names, self.scales, strict=True))):
            return self
        names = [*_FIXED_ROWS, *sorted(name for name in scales if name not in _FIXED_ROWS)]
        return ResourceSpace(tuple(names), tuple(scales[name] for name in names))

    def vector(self, amounts: Amounts, *, absent: int = 0) -> IntArray:
        """Return `amounts` in base units, shape (resources,), rounded up, `absent` for absent names."""
        values = np.full(len(self.names), absent, dtype=np.int64)
        for name, millis in amounts.items():
            row = self.rows.get(name)
            if row is not None:
                values[row] = -(-millis * self.scales[row] // MILLI)
        values.flags.writeable = False
        return values

    def limits(self, amounts: Amounts) -> IntArray:
        """Return `amounts` as limits, shape (resources,). Absent resources are `UNLIMITED`."""
        return self.vector(amounts, absent=UNLIMITED)

    def amounts(self, vector: IntArray) -> dict[str, int]:
        """Return the non-zero entries of a vector as amounts."""
        return {
            name: int(value) * MILLI // scale
            for name, value, scale in zip(self.names, vector, self.scales, strict=True)
            if value
        }
