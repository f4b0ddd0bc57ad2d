"""Partition tables: groups of linked GPUs of a node.

Example: `{"2":[{"minors":[0,1],"gpuLinkType":"NVLink","ringBusBandwidth":"400Gi","allocationScore":1}]}`.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec

from pyroclast.model.devices.koordinator.annotations import read_annotation
from pyroclast.model.devices.koordinator.names import MODEL, PARTITION_POLICY, PARTITIONS, VENDOR, VENDORS_OF_WHOLE
from pyroclast.model.quantity import QuantityError, parse

__all__ = ["HONOR", "Partition", "PartitionTable", "partition_table"]

HONOR: Final = "Honor"
_HOPPER: Final = ("H100", "H800", "H20")
_EIGHT: Final = range(8)
_SIZES: Final = (1, 2, 4, 8)


class Partition(NamedTuple):
    """Linked GPUs that are allocated together."""

    minors: tuple[int, ...]
    score: int = 0
    """More is better."""
    bandwidth: Fraction | None = None
    """Bandwidth of the ring that links them, bytes a second; None if unknown."""


class PartitionTable(NamedTuple):
    """The partitions of a node."""

    partitions: tuple[tuple[int, tuple[Partition, ...]], ...]
    """Partitions by number of GPUs, ascending. Each list has the order of the table."""
    is_mandatory: bool
    """Whether whole GPUs are allocated only as partitions."""

    def of(self, count: int) -> tuple[Partition, ...] | None:
        """Return the partitions of `count` GPUs; None if the table does not list that number."""
        return next((found for size, found in self.partitions if size == count), None)


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    minors: tuple[int, ...]
    allocation_score: int = 0
    ring_bus_bandwidth: str | int | float | None = None


def partition_table(
    annotations: Mapping[str, str], labels: Mapping[str, str], of_node: Mapping[str, str]
) -> PartitionTable | None:
    """Return the partitions of a node.

    Args:
        annotations: Annotations of its Device.
        labels: Labels of its Device.
        of_node: Labels of the node. Known GPU models have a default table.

    Returns:
        None if there is no table.

    Raises:
        ValueError: The annotation cannot be read.
    """
    listed = read_annotation(annotations, PARTITIONS, dict[str, tuple[_Entry, ...]])
    if listed is None:
        known = of_node.get(VENDOR, "") in VENDORS_OF_WHOLE and of_node.get(MODEL) in _HOPPER
        return PartitionTable(_linked_in_halves(), of_node.get(PARTITION_POLICY) == HONOR) if known else None
    by_size = {_size(key): tuple(map(_partition, entries)) for key, entries in listed.items()}
    for size, partitions in by_size.items():
        _check(size, partitions)
    return PartitionTable(tuple(sorted(by_size.items())), labels.get(PARTITION_POLICY) == HONOR)


def _linked_in_halves() -> tuple[tuple[int, tuple[Partition, ...]], ...]:
    """Return the partitions of eight GPUs: all, the halves, the quarters and the single GPUs."""
    return tuple(
        (size, tuple(Partition(tuple(_EIGHT[begin : begin + size]), 1) for begin in _EIGHT[::size])) for size in _SIZES
    )


def _size(key: str) -> int:
    if not (key.isascii() and key.isdecimal() and len(key) < len(str(2**31))) or not int(key):
        raise ValueError(f"{PARTITIONS}: {key!r} is no number of GPUs")
    return int(key)


def _partition(entry: _Entry) -> Partition:
    bandwidth = entry.ring_bus_bandwidth
    try:
        return Partition(entry.minors, entry.allocation_score, None if bandwidth is None else parse(bandwidth))
    except QuantityError as error:
        raise ValueError(f"{PARTITIONS}: ringBusBandwidth: {error}") from None


def _check(size: int, partitions: Iterable[Partition]) -> None:
    for partition in partitions:
        if len(set(partition.minors)) != size or len(partition.minors) != size:
            raise ValueError(f"{PARTITIONS}: {list(partition.minors)} are not {size} GPUs")
