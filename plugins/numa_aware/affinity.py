"""Affinity: the NUMA nodes that a container's CPUs had best come from.

A kubelet lists a hint for every set of NUMA nodes with enough free CPUs, prefers those of the smallest size that could
hold the container if all were free, and takes the narrowest of the preferred ones, else the narrowest of all: fewest
NUMA nodes, then the lowest. Where CPUs alone are aligned that one can be found without listing the others, whose number
doubles with each NUMA node.  Source: Kubernetes' topology manager (`mergeFilteredHints`) and CPU manager
(`generateCPUTopologyHints`); the plain form stands in tests/differential/numa.py.
"""

from itertools import accumulate
from typing import NamedTuple

from pyroclast.model.cpusets import CpuSet
from pyroclast.model.numa import CpuLayout

__all__ = ["NumaAffinity", "best_affinity"]


class NumaAffinity(NamedTuple):
    """NUMA nodes for one container."""

    cpus: CpuSet
    """All CPUs of these NUMA nodes, taken ones included."""
    size: int
    """How many NUMA nodes."""
    is_preferred: bool
    """No machine of this build could do with fewer."""


def best_affinity(layout: CpuLayout, available: CpuSet, count: int) -> NumaAffinity:
    """Return the NUMA nodes for `count` CPUs, at least 1; all, not preferred, where too few CPUs are free."""
    free = [(cpus & available).bit_count() for _, cpus in layout.numa]
    size = _fewest(free, count)
    if size is None:
        return NumaAffinity(layout.cpus, len(layout.numa), is_preferred=False)
    cpus = 0
    for number in _lowest(free, count, size):
        cpus |= layout.numa[number][1]
    return NumaAffinity(cpus, size, is_preferred=size == _fewest([each.bit_count() for _, each in layout.numa], count))


def _fewest(amounts: list[int], count: int) -> int | None:
    """Return how many of the amounts reach a sum at least; None where all together do not."""
    sums = accumulate(sorted(amounts, reverse=True))
    return next((size for size, total in enumerate(sums, 1) if total >= count), None)


def _lowest(amounts: list[int], count: int, size: int) -> list[int]:
    """Return the positions of `size` amounts that reach a sum, the highest position as low as can be, then the next."""
    chosen: list[int] = []
    for position in range(len(amounts) - 1, -1, -1):
        missing = size - len(chosen)
        without = sorted(amounts[:position], reverse=True)[:missing]
        if len(without) < missing or sum(without) < count:
            chosen.append(position)
            count -= amounts[position]
    return chosen
