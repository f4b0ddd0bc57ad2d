"""Gradients: the domains that are tried for a job or sub-job, level by level.

A level is a tier, lowest first. A domain is left out when its room as the cycle began, free then or later, is less than
all that is wanted together. What runs already ties the rest to the highest allowed domain around it, and is not counted
again.
"""

from collections.abc import Sequence

import numpy as np

from pyroclast.framework.state.domains import EVICT, Domains
from pyroclast.model.arrays import BoolArray, IntArray

__all__ = ["capped_widest_first", "gradient"]


def gradient(domains: Domains, *, limit: int, held: int, root: int, wanted: IntArray, purpose: str) -> list[list[int]]:
    """Return numbers of domains by level.

    Args:
        domains: The session's domains.
        limit: Highest tier allowed.
        held: The innermost domain around what runs; negative where nothing does.
        root: The domain in which to look.
        wanted: What all pending tasks ask for, base units, shape (R,).
        purpose: `allocate`, or `evict`, where domains that never could hold what is wanted are left out.
    """
    allowed = domains.allowed(limit=limit, held=held, root=root)
    if held < 0:
        rooms = [domains.allocatable] if purpose == EVICT else domains.room
        able = np.logical_or.reduce([_holds(wanted, room) for room in rooms])
        allowed = [number for number in allowed if able[number]]
    levels: dict[int, list[int]] = {}
    for number in allowed:
        levels.setdefault(domains.topology.domains[number].tier, []).append(number)
    return [levels[tier] for tier in sorted(levels)]


def capped_widest_first(levels: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """Turn levels round and keep at most so many domains, of a level that is cut the last ones."""
    kept: list[list[int]] = []
    for level in reversed(levels):
        taken = list(level[-most:]) if most > 0 else []
        most -= len(taken)
        if taken:
            kept.append(taken)
    return kept


def _holds(wanted: IntArray, room: IntArray) -> BoolArray:
    holds: BoolArray = np.logical_and.reduce((wanted[:, None] <= room) | (wanted[:, None] <= 0), axis=0)
    return holds
