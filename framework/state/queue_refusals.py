"""Queue refusals: the texts and the amounts of refusals by queues, for all plugins that share capacity."""

from collections.abc import Iterable, Sequence
from typing import Final

from pyroclast.model.requests import quantity_text
from pyroclast.model.resources import MILLI, ResourceSpace

__all__ = ["MOST_NAMED", "amounts_beyond", "in_words", "quantities", "usage_text"]

MOST_NAMED: Final = 3
"""Jobs that one sentence names."""


def amounts_beyond(
    space: ResourceSpace, rows: Sequence[int], would: Sequence[int], may: Sequence[int]
) -> dict[str, tuple[int, int]]:
    """Return the amounts of a refusal by resource: what a queue would have, and what it may have, thousandths.

    Args:
        space: The resources.
        rows: Those in which it would have too much.
        would: Resources that it would have, by row, base units.
        may: Resources that it may have, by row, base units.
    """
    scales = space.scales
    return {space.names[row]: (would[row] * MILLI // scales[row], may[row] * MILLI // scales[row]) for row in rows}


def in_words(space: ResourceSpace, amounts: Sequence[int], rows: Iterable[int] | None = None) -> str:
    """Write amounts in base units: of some rows, or where None of all that are not 0."""
    chosen = [row for row in range(len(space)) if amounts[row]] if rows is None else rows
    return ", ".join(_in_words(space.names[row], amounts[row], space.scales[row]) for row in chosen)


def usage_text(
    space: ResourceSpace,
    account: str,
    rows: Iterable[int],
    *,
    used: Sequence[int],
    limit: Sequence[int],
    asked: Sequence[int],
    promised: Sequence[int] = (),
    uncounted: Sequence[int] = (),
    holders: Sequence[str] = (),
    other_holders: int = 0,
) -> str:
    """Write how full an account is: `research: 480 of 500 cpu used, 20 reserved for vision/short; requested 60`.

    Args:
        space: The resources.
        account: A queue, or the cluster.
        rows: The resources to write about.
        used: Resources of running tasks, base units by row.
        limit: Limit, base units by row.
        asked: Request, base units by row.
        promised: Resources promised to admitted jobs; empty if these do not count.
        uncounted: Resources of running tasks beyond the minimums of their jobs, which `used` does not contain.
        holders: These jobs, of which a few are named.
        other_holders: Number of further ones.
    """

    def quantity(row: int, amount: int) -> str:
        return quantity_text(space.names[row], amount * MILLI // space.scales[row])

    more = len(holders) + other_holders - MOST_NAMED
    names = ", ".join(holders[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    parts = []
    for row in rows:
        kept = (
            f", {quantity(row, promised[row])} reserved for {names or 'other jobs'}"
            if any(promised[row : row + 1])
            else ""
        )
        beyond = f" by minimums, {quantity(row, uncounted[row])} beyond them" if any(uncounted[row : row + 1]) else ""
        parts.append(
            f"{quantity(row, used[row])} of {quantity(row, limit[row])} {space.names[row]} used{beyond}{kept}; "
            f"requested {quantity(row, asked[row])}"
        )
    return f"{account}: {'; '.join(parts)}"


def _in_words(name: str, amount: int, scale: int) -> str:
    return f"{name} {quantity_text(name, amount * MILLI // scale)}"


def quantities(space: ResourceSpace, amounts: Sequence[int], rows: Iterable[int]) -> str:
    """Write amounts of some rows, in base units, as quantities with a noun: `8 cpu, 32Gi memory`."""
    return ", ".join(
        f"{quantity_text(space.names[row], amounts[row] * MILLI // space.scales[row])} {space.names[row]}"
        for row in rows
    )
