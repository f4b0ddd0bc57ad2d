"""Selection: the CPUs of a container, as a kubelet with the static CPU manager chooses them.

Whole sockets come first, then whole cores, then single CPUs next to used ones, in cores with few free CPUs. A socket or
core is whole if all of its CPUs are free (the kubelet's definition, `takeByTopology`).
"""

from functools import lru_cache
from typing import Final

from pyroclast.model.cpusets import CpuSet, members
from pyroclast.model.numa import CpuLayout

__all__ = ["reserved_cpus", "select"]

_ANSWERS: Final = 1024


def select(layout: CpuLayout, available: CpuSet, count: int) -> CpuSet | None:
    """Choose CPUs of a machine.

    Args:
        layout: Layout of its CPUs.
        available: CPUs to choose from.
        count: Number of CPUs.

    Returns:
        Exactly `count` of `available`; None if there are fewer.
    """
    if count < 1:
        return 0
    left = available & layout.cpus
    if count > left.bit_count():
        return None
    taken = 0
    for whole in (_whole_sockets, _whole_cores):
        for cpus in whole(layout, left & ~taken):
            if cpus.bit_count() <= count - taken.bit_count():
                taken |= cpus
    return taken | _single(layout, left & ~taken, taken, count - taken.bit_count())


def _whole_sockets(layout: CpuLayout, left: CpuSet) -> list[CpuSet]:
    """Return the free sockets, by id."""
    return [socket for socket in layout.sockets if not socket & ~left]


def _whole_cores(layout: CpuLayout, left: CpuSet) -> list[CpuSet]:
    """Return the free cores: those of sockets with the fewest free cores first, then by socket and core."""
    by_socket = [[core for core in cores if not core & ~left] for cores in layout.cores]
    return [core for cores in sorted(by_socket, key=len) for core in cores]


def _single(layout: CpuLayout, left: CpuSet, taken: CpuSet, count: int) -> CpuSet:
    """Choose single CPUs, from the sockets with the most used CPUs first, then from those with the fewest free ones."""
    ranked = []
    for number, (socket, cores) in enumerate(zip(layout.sockets, layout.cores, strict=True)):
        of_socket = (-(socket & taken).bit_count(), (socket & left).bit_count())
        ranked += [(*of_socket, (core & left).bit_count(), number, core & left) for core in cores if core & left]
    # Cores of one socket are in the order of their ids, which the stable sort preserves.
    ranked.sort(key=lambda entry: entry[:4])
    chosen = 0
    for *_, core in ranked:
        for cpu in members(core):
            if chosen.bit_count() == count:
                return chosen
            chosen |= 1 << cpu
    return chosen


@lru_cache(_ANSWERS)
def reserved_cpus(layout: CpuLayout, count: int) -> CpuSet:
    """Return the CPUs that are reserved for the system; none if more are reserved than exist, as in Volcano."""
    return select(layout, layout.cpus, count) or 0
