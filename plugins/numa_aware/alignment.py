"""Alignment: whether a kubelet would take a pod's containers, by its topology policy, and which CPUs they would get.

===================  ==================================================================
single-numa-node     only where the CPUs of each container fit one NUMA node
restricted           only on as few NUMA nodes as the container could ever lie on
best-effort          always, aligned as well as can be
any other word       always, wherever CPUs are free
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
"""Answers kept: few for machines of one build that are about as full; more cost time alone."""


class Aligned(NamedTuple):
    """What a kubelet would do with a pod."""

    cpus: CpuSet
    """What its containers get together; none where too few are free for a policy that minds."""
    refused: int | None
    """Position of the first container that it would turn away; None where it takes the pod."""


@lru_cache(_ANSWERS)
def aligned(layout: CpuLayout, policy: str, reserved: int, free: CpuSet, wanted: tuple[int, ...]) -> Aligned:
    """Align containers in their order; what one gets is not there for the next.

    Args:
        layout: Where the CPUs of the node sit.
        policy: Of its kubelet.
        reserved: How many CPUs are kept for the system.
        free: Which CPUs no container has for itself.
        wanted: CPUs that each container gets for itself, 0 where it shares them.
    """
    available, taken = free & ~reserved_cpus(layout, reserved), 0
    for position, count in enumerate(wanted):
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
    """Take as many as can be from the NUMA nodes of an affinity, the rest elsewhere; none where there are too few."""
    near = 0
    if affinity is not None:
        inside = available & affinity.cpus
        near = select(layout, inside, min(count, inside.bit_count())) or 0
    rest = select(layout, available & ~near, count - near.bit_count())
    return 0 if rest is None else near | rest


def numa_count(layout: CpuLayout, cpus: CpuSet) -> int:
    """Count the NUMA nodes that some CPUs lie on."""
    return sum(1 for _, own in layout.numa if own & cpus)
