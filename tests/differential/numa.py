"""CPUs inside a machine, hint by hint and CPU by CPU: what docs/plugins/numa-aware.md says, spelled out with sets."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

Detail = Mapping[int, tuple[int, int, int]]
"""NUMA node, socket and core of each CPU."""
Cpus = frozenset[int]


class Hint(NamedTuple):
    """NUMA nodes for one resource."""

    numa: frozenset[int] | None
    """None for any."""
    is_preferred: bool


Provided = Mapping[str, Sequence[Hint] | None]
"""Hints by resource; None if the provider has no preference."""


def hints(detail: Detail, available: Iterable[int], count: int) -> list[Hint]:
    """Every set of NUMA nodes with enough free CPUs, small ones first; the least possible size is preferred."""
    numa, free = sorted({place[0] for place in detail.values()}), list(available)
    fewest, found = len(numa), []
    for size in range(1, len(numa) + 1):
        for chosen in combinations(numa, size):
            if sum(place[0] in chosen for place in detail.values()) >= count:
                fewest = min(fewest, size)
            if sum(detail[cpu][0] in chosen for cpu in free) >= count:
                found.append(frozenset(chosen))
    return [Hint(each, len(each) == fewest) for each in found]


def normalised(provided: Iterable[Provided]) -> list[list[Hint]]:
    """One list of hints for each resource; nothing said means anywhere, an empty list nowhere in particular."""
    lists: list[list[Hint]] = []
    for each in provided:
        if not each:
            lists.append([Hint(None, is_preferred=True)])
        for of_resource in each.values():
            if of_resource is None:
                lists.append([Hint(None, is_preferred=True)])
            else:
                lists.append(list(of_resource) or [Hint(None, is_preferred=False)])
    return lists


def merged(numa: Iterable[int], lists: Sequence[Sequence[Hint]]) -> Hint:
    """The best of all combinations of one hint for each resource."""
    everywhere = frozenset(numa)
    best, best_numa = Hint(everywhere, is_preferred=False), everywhere
    for combination in product(*lists):
        both, is_preferred = everywhere, True
        for hint in combination:
            both &= everywhere if hint.numa is None else hint.numa
            is_preferred &= hint.is_preferred
        if not both or (best.is_preferred and not is_preferred):
            continue
        if is_preferred > best.is_preferred or narrowness(both) < narrowness(best_numa):
            best, best_numa = Hint(both, is_preferred), both
    return best


def narrowness(numa: Iterable[int]) -> tuple[int, int]:
    """Fewer NUMA nodes are narrower, and of as many those of the smaller mask."""
    mask = sum(1 << each for each in numa)
    return mask.bit_count(), mask


def judged(policy: str, numa: Iterable[int], provided: Iterable[Provided]) -> tuple[Hint, bool]:
    """The best hint under a policy, and whether the container is admitted."""
    known, lists = list(numa), normalised(provided)
    if policy == "single-numa-node":
        lists = [
            [hint for hint in each if hint.is_preferred and (hint.numa is None or len(hint.numa) == 1)]
            for each in lists
        ]
    if policy in {"single-numa-node", "restricted", "best-effort"}:
        best = merged(known, lists)
        return best, best.is_preferred or policy == "best-effort"
    return Hint(None, is_preferred=False), True


def taken(detail: Detail, available: Iterable[int], count: int) -> Cpus | None:
    """Sockets, then cores, then single CPUs; None where there are too few."""
    left, chosen = set(available) & set(detail), set[int]()
    if count > len(left):
        return None
    by_socket, by_core = grouped(detail, 1), grouped(detail, 2)
    for socket in sorted(by_socket):
        if by_socket[socket] <= left and len(chosen) + len(by_socket[socket]) <= count:
            chosen |= by_socket[socket]
            left -= by_socket[socket]
    whole = [core for core, cpus in by_core.items() if cpus <= left]
    for core in sorted(whole, key=lambda core: (sum(other[0] == core[0] for other in whole), core)):
        if len(chosen) + len(by_core[core]) <= count:
            chosen |= by_core[core]
            left -= by_core[core]

    def rank(core: tuple[int, ...]) -> tuple[int, int, int, tuple[int, ...]]:
        of_socket = by_socket[core[:1]]
        return -len(of_socket & chosen), len(of_socket & left), len(by_core[core] & left), core

    single = [cpu for core in sorted(by_core, key=rank) for cpu in sorted(by_core[core] & left)]
    return frozenset(chosen | set(single[: max(count - len(chosen), 0)]))


def grouped(detail: Detail, depth: int) -> dict[tuple[int, ...], set[int]]:
    """CPUs by socket, or by socket and core."""
    found: dict[tuple[int, ...], set[int]] = {}
    for cpu, place in detail.items():
        found.setdefault(place[1 : 1 + depth], set()).add(cpu)
    return found


def allocated(detail: Detail, available: Iterable[int], count: int, best: Hint) -> Cpus:
    """As many as can be of the best NUMA nodes, the rest elsewhere; none where there are too few."""
    free, near = frozenset(available), frozenset[int]()
    if best.numa is not None:
        inside = [cpu for cpu in free if detail[cpu][0] in best.numa]
        near = taken(detail, inside, min(count, len(inside))) or near
    rest = taken(detail, free - near, count - len(near))
    return frozenset() if rest is None else near | rest


def aligned(
    detail: Detail, policy: str, reserved: int, free: Iterable[int], wanted: Sequence[int]
) -> tuple[Cpus, int | None]:
    """The CPUs of all containers together, and which container is turned away."""
    left = frozenset(free) - (taken(detail, detail, reserved) or frozenset())
    numa, held = {place[0] for place in detail.values()}, frozenset[int]()
    for position, count in enumerate(wanted):
        provided = {"cpu": hints(detail, left, count)} if count else {}
        best, is_admitted = judged(policy, numa, [provided])
        if not is_admitted:
            return frozenset(), position
        cpus = allocated(detail, left, count, best)
        left, held = left - cpus, held | cpus
    return held, None


def scored(counts: Mapping[str, int], weight: int) -> dict[str, float]:
    """Scores by node: the fewer NUMA nodes, the more."""
    most = max(counts.values(), default=0)
    return {name: weight * (100 - math.floor(100 * count / most) if most else 100) for name, count in counts.items()}
