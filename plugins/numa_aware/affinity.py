"""Affinity: the NUMA nodes for a container's CPUs.

A kubelet lists a hint for every set of NUMA nodes with enough free CPUs, and prefers those of the smallest size that
could hold the container if all CPUs were free. It takes the narrowest preferred hint, or else the narrowest one: fewest
NUMA nodes, then the lowest. If only CPUs are aligned, this hint can be found without listing the others, whose number
doubles with each NUMA node.  Source: Kubernetes' topology manager (`mergeFilteredHints`) and CPU manager
(`generateCPUTopologyHints`); the plain form is in tests/differential/numa.py.
"""

from itertools import accumulate
from typing import NamedTuple

from pyroclast.model.cpusets import CpuSet
from pyroclast.model.numa import CpuLayout

__all__ = ["NumaAffinity", "best_affinity"]


class NumaAffinity(NamedTuple):
    """NUMA nodes for one container."""

    cpus: CpuSet
    """All CPUs of these NUMA nodes, including used ones."""
    size: int
    """Number of NUMA nodes."""
    is_preferred: bool
    """Whether no smaller number would suffice even if all CPUs were free."""


def best_affinity(layout: CpuLayout, available: CpuSet, count: int) -> NumaAffinity:
    """Return the NUMA nodes for `count` CPUs, at least 1; all of them, not preferred, if too few CPUs are free."""
    free = [(cpus & available).bit_count() for _, cpus in layout.numa]
    size = _fewest(free, count)
    if size is None:
        return NumaAffinity(layout.cpus, len(layout.numa), is_preferred=False)
    cpus = 0
    for number in _lowest(free, count, size):
        cpus |= layout.numa[number][1]
    return NumaAffinity(cpus, size, is_preferred=size == _fewest([each.bit_count() for _, each in layout.numa], count))


def _fewest(amounts: list[int], count: int) -> int | None:
    """Return the smallest number of amounts whose sum is at least `count`; None if the sum of all is smaller."""
    sums = accumulate(sorted(amounts, reverse=True))
    return next((size for size, total in enumerate(sums, 1) if total >= count), None)


def _lowest(amounts: list[int], count: int, size: int) -> list[int]:
    """Return `size` positions whose amounts reach a sum; the highest position is as low as possible, then the next."""
    chosen: list[int] = []
    for position in range(len(amounts) - 1, -1, -1):
        missing = size - len(chosen)
        without = sorted(amounts[:position], reverse=True)[:missing]
        if len(without) < missing or sum(without) < count:
            chosen.append(position)
            count -= amounts[position]
    return chosen
