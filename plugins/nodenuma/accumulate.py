"""Accumulate: which CPUs of a node a pod gets.

FullPCPUs takes whole cores: within one NUMA node, else within one socket, else whole sockets and then cores of the
fullest socket. SpreadByPCPUs takes CPUs of different cores: within one NUMA node, else within one socket. What is left
comes from anywhere. Among NUMA nodes and sockets, those with the most free CPUs come first, or with the strategy
MostAllocated those with the fewest; ties go to the lower id.  Source: Koordinator's NodeNUMAResource (`takeCPUs`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from pyroclast.model.cpusets import CpuSet, cpu_set, members
from pyroclast.model.nodenuma.names import FULL_PCPUS, MOST_ALLOCATED, NUMA_NODE_LEVEL, PCPU_LEVEL, SPREAD_BY_PCPUS
from pyroclast.model.numa import CpuLayout

__all__ = ["NOTHING_EXCLUSIVE", "Exclusive", "cpus_per_core", "satisfies", "take", "take_preferred", "usable"]

_LAYOUTS: Final = 1024


class Exclusive(NamedTuple):
    """Exclusive policy of a pod, and the CPUs of pods with such a policy."""

    policy: str = ""
    cores: CpuSet = 0
    """CPUs of pods that share no core with other such pods."""
    numa_nodes: CpuSet = 0
    """CPUs of pods that share no NUMA node with other such pods."""


NOTHING_EXCLUSIVE: Final = Exclusive()


class _Place(NamedTuple):
    core: int
    """Number of the core, by socket and then by core id."""
    numa: int
    socket: int


@dataclass(frozen=True, slots=True)
class _Machine:
    """A layout as lists. Cores, NUMA nodes and sockets are assumed to be of equal size."""

    cores: tuple[CpuSet, ...]
    places: Mapping[int, _Place]
    """Places of CPUs."""
    per_core: int
    per_numa: int
    per_socket: int


@lru_cache(_LAYOUTS)
def _machine(layout: CpuLayout) -> _Machine:
    cores = tuple(core for socket in layout.cores for core in socket)
    numa_of = {cpu: numa for numa, cpus in layout.numa for cpu in members(cpus)}
    socket_of = {cpu: number for number, cpus in enumerate(layout.sockets) for cpu in members(cpus)}
    count = layout.cpus.bit_count()
    parts = {(socket_of[cpu], numa_of[cpu]) for cpu in numa_of}
    return _Machine(
        cores=cores,
        places={
            cpu: _Place(number, numa_of[cpu], socket_of[cpu])
            for number, core in enumerate(cores)
            for cpu in members(core)
        },
        per_core=max(core.bit_count() for core in cores),  # a core with a CPU offline is never whole
        per_numa=count // len(parts),
        per_socket=count // len(layout.sockets),
    )


def cpus_per_core(layout: CpuLayout) -> int:
    """Return the number of CPUs of a core."""
    return _machine(layout).per_core


def usable(layout: CpuLayout, available: CpuSet, policy: str) -> CpuSet:
    """Return the CPUs that a required policy leaves: wholly free cores, or one CPU of each core.

    Args:
        layout: CPUs of the node; at least one.
        available: Free CPUs.
        policy: The required policy; all CPUs for another one.
    """
    if policy not in {FULL_PCPUS, SPREAD_BY_PCPUS}:
        return available
    machine, found = _machine(layout), 0
    for core in machine.cores:
        free = core & available
        if policy == SPREAD_BY_PCPUS:
            found |= free & -free  # the lowest one
        elif free.bit_count() == machine.per_core:
            found |= free
    return found


def satisfies(layout: CpuLayout, cpus: CpuSet, policy: str) -> bool:
    """Return whether CPUs are whole cores, or of different cores, as a required policy demands."""
    machine = _machine(layout)
    cores = len({machine.places[cpu].core for cpu in members(cpus)})
    if policy == FULL_PCPUS:
        return cores * machine.per_core == cpus.bit_count()
    return policy != SPREAD_BY_PCPUS or cores == cpus.bit_count()


def take_preferred(
    layout: CpuLayout,
    available: CpuSet,
    count: int,
    *,
    policy: str,
    preferred: CpuSet = 0,
    exclusive: Exclusive = NOTHING_EXCLUSIVE,
    strategy: str = "",
) -> CpuSet | None:
    """Choose CPUs, preferred ones first; otherwise as `take`."""
    first = available & preferred
    taken = take(layout, first, min(count, first.bit_count()), policy=policy, exclusive=exclusive, strategy=strategy)
    if taken is None:
        return None
    left = count - taken.bit_count()
    rest = take(layout, available & ~first, left, policy=policy, exclusive=exclusive, strategy=strategy)
    return None if rest is None else taken | rest


def take(
    layout: CpuLayout,
    available: CpuSet,
    count: int,
    *,
    policy: str,
    exclusive: Exclusive = NOTHING_EXCLUSIVE,
    strategy: str = "",
) -> CpuSet | None:
    """Choose CPUs.

    Args:
        layout: CPUs of the node; at least one.
        available: CPUs to choose from.
        count: Number of CPUs.
        policy: `FullPCPUs`, or another one, which counts as `SpreadByPCPUs`.
        exclusive: Exclusive policies; they are best effort.
        strategy: `MostAllocated`, or another one, which counts as `LeastAllocated`.

    Returns:
        Exactly `count` of `available`; None if there are fewer.
    """
    if count < 1:
        return 0
    if count > available.bit_count():
        return None
    accumulator = _Accumulator(_machine(layout), available, count, exclusive, is_packed=strategy == MOST_ALLOCATED)
    accumulator.accumulate(policy)
    return accumulator.taken


class _Accumulator:
    """CPUs that are taken one group after the other, until there are enough."""

    def __init__(
        self, machine: _Machine, available: CpuSet, count: int, exclusive: Exclusive, *, is_packed: bool
    ) -> None:
        self._machine = machine
        self._left = available
        self._needed = count
        self._sign = 1 if is_packed else -1
        """Sign of free amounts in orders: 1 puts the fullest first."""
        self._policy = exclusive.policy
        places = machine.places
        self._busy_cores = {places[cpu].core for cpu in members(exclusive.cores) if cpu in places}
        self._busy_numa = {places[cpu].numa for cpu in members(exclusive.numa_nodes) if cpu in places}
        self.taken: CpuSet = 0

    def accumulate(self, policy: str) -> None:
        """Take the CPUs. There are enough, because the last step takes them from anywhere."""
        is_full = policy == FULL_PCPUS
        if is_full or self._machine.per_core == 1:
            self._whole_cores()
        if self._needed and not is_full:
            self._spread()
        for avoids in (True, False):
            if self._needed:
                self._take(self._spread_out(self._anywhere(avoids=avoids))[: self._needed])

    def _take(self, cpus: Iterable[int]) -> None:
        for cpu in cpus:
            self.taken |= 1 << cpu
            self._left &= ~(1 << cpu)
            self._needed -= 1
            place = self._machine.places[cpu]
            if self._policy == PCPU_LEVEL:
                self._busy_cores.add(place.core)
            elif self._policy == NUMA_NODE_LEVEL:
                self._busy_numa.add(place.numa)

    def _take_from_first(self, groups: Iterable[Sequence[int]]) -> bool:
        """Take all needed CPUs from the first group that has enough."""
        group = next((each for each in groups if len(each) >= self._needed), None)
        if group is not None:
            self._take(group[: self._needed])
        return group is not None

    # Whole cores ------------------------------------------------------------------------------------------------------

    def _whole_cores(self) -> None:
        machine = self._machine
        if self._needed <= machine.per_numa and any(
            self._take_from_first(self._cores_by_numa(avoids=avoids)) for avoids in (True, False)
        ):
            return
        sockets = self._cores_by_socket()
        if self._needed <= machine.per_socket and self._take_from_first(sockets):
            return
        too_large = []
        for cpus in sorted(sockets, key=len, reverse=True):  # among equals in their order
            if len(cpus) <= self._needed:
                self._take(cpus)
            else:
                too_large.append(cpus)
        for cpus in sorted(too_large, key=len):
            whole = self._needed - self._needed % machine.per_core
            self._take(cpus[:whole])

    def _free_cores(self, cpus: CpuSet) -> list[CpuSet]:
        return [core for core in self._machine.cores if core & cpus and not core & ~cpus]

    def _cores_by_numa(self, *, avoids: bool) -> list[list[int]]:
        """Return the CPUs of wholly free cores by NUMA node."""
        places, free = self._machine.places, self._left
        if avoids and self._policy == NUMA_NODE_LEVEL:
            free = cpu_set(cpu for cpu in members(free) if places[cpu].numa not in self._busy_numa)
        of_sockets = self._count_by_socket(members(free))
        by_numa: dict[int, list[int]] = {}
        for core in self._free_cores(free):
            cpus = list(members(core))
            by_numa.setdefault(places[cpus[0]].numa, []).extend(cpus)
        ranked = [
            (self._sign * len(cpus), self._sign * of_sockets[places[cpus[0]].socket], numa)
            for numa, cpus in by_numa.items()
        ]
        return [by_numa[numa] for *_, numa in sorted(ranked)]

    def _cores_by_socket(self) -> list[list[int]]:
        """Return the CPUs of wholly free cores by socket."""
        by_socket: dict[int, list[int]] = {}
        for core in self._free_cores(self._left):
            cpus = list(members(core))
            by_socket.setdefault(self._machine.places[cpus[0]].socket, []).extend(cpus)
        ranked = sorted((self._sign * len(cpus), socket) for socket, cpus in by_socket.items())
        return [by_socket[socket] for _, socket in ranked]

    # CPUs of different cores ------------------------------------------------------------------------------------------

    def _spread(self) -> None:
        machine = self._machine
        if self._needed <= machine.per_numa and any(
            self._take_from_first(map(self._spread_out, self._by_numa(avoids=avoids))) for avoids in (True, False)
        ):
            return
        if self._needed <= machine.per_socket:
            any(
                self._take_from_first(map(self._spread_out, self._by_socket(avoids=avoids))) for avoids in (True, False)
            )

    def _by_numa(self, *, avoids: bool) -> list[list[int]]:
        """Return free CPUs by NUMA node; one of each core if exclusive ones are avoided."""
        places = self._machine.places
        cpus = self._without_conflicts() if avoids else list(members(self._left))
        of_sockets = self._count_by_socket(cpus)
        by_numa: dict[int, list[int]] = {}
        for cpu in cpus:
            by_numa.setdefault(places[cpu].numa, []).append(cpu)
        ranked = [
            (self._sign * len(group), self._sign * of_sockets[places[group[0]].socket], numa)
            for numa, group in by_numa.items()
        ]
        return [self._one_of_each_core(by_numa[numa]) if avoids else by_numa[numa] for *_, numa in sorted(ranked)]

    def _by_socket(self, *, avoids: bool) -> list[list[int]]:
        places = self._machine.places
        by_socket: dict[int, list[int]] = {}
        for cpu in members(self._left):
            if not (avoids and self._policy == PCPU_LEVEL and places[cpu].core in self._busy_cores):
                by_socket.setdefault(places[cpu].socket, []).append(cpu)
        groups = {socket: self._one_of_each_core(cpus) if avoids else cpus for socket, cpus in by_socket.items()}
        ranked = sorted((self._sign * len(cpus), socket) for socket, cpus in groups.items())
        return [groups[socket] for _, socket in ranked]

    def _without_conflicts(self) -> list[int]:
        """Return the free CPUs that are not in a core or NUMA node of a pod with the same exclusive policy."""
        places = self._machine.places
        return [
            cpu
            for cpu in members(self._left)
            if not (self._policy == PCPU_LEVEL and places[cpu].core in self._busy_cores)
            and not (self._policy == NUMA_NODE_LEVEL and places[cpu].numa in self._busy_numa)
        ]

    def _one_of_each_core(self, cpus: Iterable[int]) -> list[int]:
        first: dict[int, int] = {}
        for cpu in cpus:
            first.setdefault(self._machine.places[cpu].core, cpu)
        return list(first.values())

    def _spread_out(self, cpus: Sequence[int]) -> list[int]:
        """Order CPUs so that one of each core comes before the second ones."""
        if len(cpus) <= self._machine.per_core:
            return list(cpus)
        rounds: list[list[int]] = []
        seen: dict[int, int] = {}
        for cpu in cpus:
            core = self._machine.places[cpu].core
            number = seen[core] = seen.get(core, -1) + 1
            if number == len(rounds):
                rounds.append([])
            rounds[number].append(cpu)
        return [cpu for group in rounds for cpu in group]

    # Anywhere ---------------------------------------------------------------------------------------------------------

    def _anywhere(self, *, avoids: bool) -> list[int]:
        """Return free CPUs core by core: near the taken ones first, then in the order of the strategy."""
        places = self._machine.places
        cpus = self._without_conflicts() if avoids else list(members(self._left))
        near = self._count_by_socket(members(self.taken))
        of_sockets = self._count_by_socket(cpus)
        of_numa: dict[int, int] = {}
        by_core: dict[int, list[int]] = {}
        for cpu in cpus:
            of_numa[places[cpu].numa] = of_numa.get(places[cpu].numa, 0) + 1
            by_core.setdefault(places[cpu].core, []).append(cpu)

        def rank(core: int) -> tuple[int, ...]:
            place = places[by_core[core][0]]
            return (
                -near.get(place.socket, 0),
                self._sign * of_sockets[place.socket],
                self._sign * of_numa[place.numa],
                len(by_core[core]),
                place.socket,
                core,
            )

        return [cpu for core in sorted(by_core, key=rank) for cpu in by_core[core]]

    def _count_by_socket(self, cpus: Iterable[int]) -> dict[int, int]:
        counts: dict[int, int] = {}
        for cpu in cpus:
            socket = self._machine.places[cpu].socket
            counts[socket] = counts.get(socket, 0) + 1
        return counts
