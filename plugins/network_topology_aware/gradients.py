"""Gradients: domains to try for a job or sub-job, level by level.

A level is a tier, lowest first. A domain is left out if its idle or future idle resources at the cycle's start are less
than the total request. Running tasks restrict the others to the highest allowed domain around them; then the request is
not compared.
"""

from collections.abc import Sequence

import numpy as np

from pyroclast.framework.state.domains import EVICT, Domains
from pyroclast.model.arrays import BoolArray, IntArray

__all__ = ["capped_widest_first", "gradient"]


def gradient(domains: Domains, *, limit: int, held: int, root: int, request: IntArray, purpose: str) -> list[list[int]]:
    """Return numbers of domains by level.

    Args:
        domains: The session's domains.
        limit: Highest tier allowed.
        held: Innermost domain around the running tasks; negative if nothing runs.
        root: Domain to search in.
        request: Request of all pending tasks, base units, shape (R,).
        purpose: `allocate`, or `evict`, which compares the request with allocatable amounts.
    """
    allowed = domains.allowed(limit=limit, held=held, root=root)
    if held < 0:
        rooms = [domains.allocatable] if purpose == EVICT else domains.room
        able = np.logical_or.reduce([_holds(request, room) for room in rooms])
        allowed = [number for number in allowed if able[number]]
    levels: dict[int, list[int]] = {}
    for number in allowed:
        levels.setdefault(domains.topology.domains[number].tier, []).append(number)
    return [levels[tier] for tier in sorted(levels)]


def capped_widest_first(levels: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """Reverse the levels and keep at most `most` domains; of a level that is cut, keep the last ones."""
    kept: list[list[int]] = []
    for level in reversed(levels):
        taken = list(level[-most:]) if most > 0 else []
        most -= len(taken)
        if taken:
            kept.append(taken)
    return kept


def _holds(request: IntArray, room: IntArray) -> BoolArray:
    holds: BoolArray = np.logical_and.reduce((request[:, None] <= room) | (request[:, None] <= 0), axis=0)
    return holds
