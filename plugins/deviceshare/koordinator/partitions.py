"""Partitions: whole GPUs that a table groups.

The candidates are the partitions of the best score that has a free one. Among them, the partition is chosen that leaves
the most worth. A free partition of eight GPUs is worth 10000 times its score, of four GPUs 100 times, of two GPUs once.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from pyroclast.model.devices.koordinator.device_hints import PartitionWish
from pyroclast.model.devices.koordinator.names import GPU
from pyroclast.model.devices.koordinator.partitions import Partition, PartitionTable
from pyroclast.plugins.deviceshare.koordinator.free import Free
from pyroclast.plugins.deviceshare.koordinator.needs import Need

__all__ = ["by_partition"]

_WORTH: Final = {8: 10000, 4: 100, 2: 1}


def by_partition(
    free: Free, table: PartitionTable, need: Need, wish: PartitionWish, *, ascending: bool
) -> Iterator[tuple[int, ...]]:
    """Yield GPUs for a need, the best choice first.

    Args:
        free: Free amounts of the node's devices.
        table: Its partitions.
        need: The need.
        wish: Requirements on the partition.
        ascending: Whether small scores come first.
    """
    used = {free.layout.devices[at].minor for at in free.used if free.layout.devices[at].type == GPU}
    for number, group in enumerate(_by_score(table.of(need.devices) or (), ascending=ascending)):
        if number and wish.is_restricted:
            return
        feasible = [
            (partition, positions)
            for partition in group
            if (positions := _positions(free, need, partition)) is not None and _is_wide(partition, wish)
        ]
        feasible.sort(key=lambda pair: -_left(table, used.union(pair[0].minors), need.devices, ascending=ascending))
        yield from (positions for _, positions in feasible)


def _by_score(partitions: Sequence[Partition], *, ascending: bool) -> list[list[Partition]]:
    """Group partitions by score. Within a score, the table's order applies."""
    ordered = sorted(partitions, key=lambda each: each.score, reverse=not ascending)
    return [list(group) for _, group in groupby(ordered, key=lambda each: each.score)]


def _positions(free: Free, need: Need, partition: Partition) -> tuple[int, ...] | None:
    """Return the GPUs of a partition; None if one is unsuitable or partly allocated."""
    positions = tuple(free.layout.positions.get((GPU, minor), -1) for minor in partition.minors)
    is_free = all(at in need.candidates and at not in free.used and free.fits(at, need.each) for at in positions)
    return positions if is_free else None


def _is_wide(partition: Partition, wish: PartitionWish) -> bool:
    if wish.bandwidth is None:
        return True
    return partition.bandwidth is not None and partition.bandwidth >= wish.bandwidth


def _left(table: PartitionTable, used: set[int], count: int, *, ascending: bool) -> int:
    """Return the worth of the partitions that would remain free."""
    worth = 0
    for size, factor in _WORTH.items():
        if size >= count:
            first = next(iter(_by_score(table.of(size) or (), ascending=ascending)), [])
            worth += factor * sum(each.score for each in first if used.isdisjoint(each.minors))
    return worth
