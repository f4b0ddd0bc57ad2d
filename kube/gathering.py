"""Gathering: many calls side by side, of which none is left running when another fails."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

__all__ = ["gathered"]

T = TypeVar("T")


async def gathered(calls: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for all calls; return their results in order, or raise the first failure when all have ended.

    `asyncio.gather` raises at once, and leaves the others running beside whatever the caller does next.
    """
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    results: list[T] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
