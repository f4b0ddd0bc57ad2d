"""Departed members: the minimum of a sub-group decreases by members that succeeded and were deleted.

Only the number of deleted pods is known, so they count for the sub-groups that lack members, first for those that lack
the fewest. Sub-groups without any pod count as succeeded while the number lasts.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyroclast.model.ids import SubJobId

__all__ = ["Needs", "needs_without"]


class Needs(NamedTuple):
    """Remaining requirements of a job's policies."""

    sizes: Mapping[SubJobId, int]
    """Least number of pods by sub-group; those that are not named need the size of their policy."""
    parts: Sequence[int]
    """Least number of sub-groups by policy."""


def needs_without(
    succeeded: int, policies: Sequence[tuple[int, int]], present: Sequence[Mapping[SubJobId, int]]
) -> Needs:
    """Return what is needed beside members that succeeded and are gone.

    Args:
        succeeded: How many these are.
        policies: Size of a sub-group and least number of sub-groups, by policy.
        present: Pods that have not failed by sub-group, by policy.
    """
    sizes: dict[SubJobId, int] = {}
    parts: list[int] = []
    for (size, least), there in zip(policies, present, strict=True):
        lacking = least - sum(count >= size for count in there.values())
        for part, count in sorted(there.items(), key=lambda each: (-each[1], each[0])):
            if lacking > 0 and 0 < count < size and size - count <= succeeded:
                sizes[part] = count
                succeeded -= size - count
                lacking -= 1
        gone = max(min(lacking, succeeded // max(size, 1)), 0)
        succeeded -= gone * size
        parts.append(least - gone)
    return Needs(sizes, parts)
