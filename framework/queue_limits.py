"""Limits of queues, and what is said where they are reached; for all plugins that divide the cluster among queues."""

from collections.abc import Iterable, Sequence

from model.arrays import IntArray
from model.queues import Queue
from model.requests import quantity_text
from model.resources import CPU, MEMORY, MILLI, UNLIMITED, ResourceSpace

__all__ = ["amounts_beyond", "capability_limits", "in_words", "quantities"]


def amounts_beyond(
    space: ResourceSpace, rows: Sequence[int], would: Sequence[int], may: Sequence[int]
) -> dict[str, tuple[int, int]]:
    """Return what a refusal says of amounts: by resource what a queue would have, and what it may have, thousandths.

    Args:
        space: The resources.
        rows: Those in which it would have too much.
        would: By row what it would have, base units.
        may: By row what it may, base units.
    """
    scales = space.scales
    return {space.names[row]: (would[row] * MILLI // scales[row], may[row] * MILLI // scales[row]) for row in rows}


def in_words(space: ResourceSpace, amounts: Sequence[int], rows: Iterable[int] | None = None) -> str:
    """Write amounts in base units: of some rows, or where None of all that are not 0."""
    chosen = [row for row in range(len(space)) if amounts[row]] if rows is None else rows
    return ", ".join(_in_words(space.names[row], amounts[row], space.scales[row]) for row in chosen)


def _in_words(name: str, amount: int, scale: int) -> str:
    return f"{name} {quantity_text(name, amount * MILLI // scale)}"


def quantities(space: ResourceSpace, amounts: Sequence[int], rows: Iterable[int]) -> str:
    """Write amounts of some rows, in base units, as quantities with a noun: `8 cpu, 32Gi memory`."""
    return ", ".join(
        f"{quantity_text(space.names[row], amounts[row] * MILLI // space.scales[row])} {space.names[row]}"
        for row in rows
    )


def capability_limits(space: ResourceSpace, queue: Queue) -> IntArray:
    """Return a queue's capability as limits, shape (R,): cpu and memory of 0 mean unlimited, as in Volcano."""
    limits = space.limits(queue.capability).copy()
    for name in (CPU, MEMORY):
        row = space.rows[name]
        if limits[row] <= 0:
            limits[row] = UNLIMITED
    return limits
