"""Alignment: whether a kubelet admits a pod's containers by its topology policy, and the CPUs that they get.

===================  ==================================================================
single-numa-node     only if the CPUs of each container fit one NUMA node
restricted           only on the smallest possible number of NUMA nodes
best-effort          always, aligned as far as possible
any other word       always, on any free CPUs
===================  ==================================================================
"""

from functools import lru_cache
from typing import Final, NamedTuple

from pyroclast.model.cpusets import CpuSet
from pyroclast.model.numa import CpuLayout
from pyroclast.plugins.numa_aware.affinity import NumaAffinity, best_affinity
from pyroclast.plugins.numa_aware.selection import reserved_cpus, select

__all__ = ["Aligned", "aligned", "numa_count"]

_ANSWERS: Final = 1 << 14
"""Size of the cache. Machines of one build with similar usage share answers."""


class Aligned(NamedTuple):
    """Decision of a kubelet about a pod."""

    cpus: CpuSet
    """CPUs of its containers; none if too few are free and the policy does not refuse."""
    refused: int | None
    """Position of the first container that it refuses; None if it admits the pod."""


@lru_cache(_ANSWERS)
def aligned(layout: CpuLayout, policy: str, reserved: int, free: CpuSet, exclusive_counts: tuple[int, ...]) -> Aligned:
    """Align containers in order; the CPUs of one are not free for the next.

    Args:
        layout: Layout of the node's CPUs.
        policy: Topology policy of its kubelet.
        reserved: Number of CPUs that are reserved for the system.
        free: CPUs that no container uses exclusively.
        exclusive_counts: Number of exclusive CPUs of each container, 0 for shared CPUs.
    """
    available, taken = free & ~reserved_cpus(layout, reserved), 0
    for position, count in enumerate(exclusive_counts):
        if count < 1:
            continue
        affinity = best_affinity(layout, available, count)
        if not _admits(policy, affinity):
            return Aligned(0, position)
        cpus = _allocated(layout, available, count, affinity if policy in _ALIGNING else None)
        available, taken = available & ~cpus, taken | cpus
    return Aligned(taken, None)


_ALIGNING: Final = frozenset({"best-effort", "restricted", "single-numa-node"})


def _admits(policy: str, affinity: NumaAffinity) -> bool:
    if policy == "single-numa-node":
        return affinity.is_preferred and affinity.size == 1
    return policy != "restricted" or affinity.is_preferred


def _allocated(layout: CpuLayout, available: CpuSet, count: int, affinity: NumaAffinity | None) -> CpuSet:
    """Take as many CPUs as possible from the affinity's NUMA nodes and the rest elsewhere; none if too few are free."""
    near = 0
    if affinity is not None:
        inside = available & affinity.cpus
        near = select(layout, inside, min(count, inside.bit_count())) or 0
    rest = select(layout, available & ~near, count - near.bit_count())
    return 0 if rest is None else near | rest


def numa_count(layout: CpuLayout, cpus: CpuSet) -> int:
    """Return the number of NUMA nodes that contain some of the CPUs."""
    return sum(1 for _, own in layout.numa if own & cpus)
