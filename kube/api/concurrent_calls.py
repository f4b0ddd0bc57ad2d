"""Concurrent calls, none of which runs on after another fails, and cancellations apart from raised ones."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

__all__ = ["gathered", "is_cancelled_by"]

T = TypeVar("T")


def is_cancelled_by(error: BaseException) -> bool:
    """Return whether an exception is the cancellation of the current task, and none that code from outside raised."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


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
