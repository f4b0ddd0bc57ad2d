"""Concurrent calls, none of which runs on after another fails."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

__all__ = ["gathered"]

T = TypeVar("T")


async def gathered(calls: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for all calls. Return their results in order, or raise the first failure after all have ended.

    `asyncio.gather` raises at once, and the other calls run on beside the caller's next work.
    """
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    results: list[T] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
