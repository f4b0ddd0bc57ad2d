"""Retry temporary failures for a limited time, without delaying other requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.clock import Clock
from pyroclast.kube.api.errors import ApiError

__all__ = ["RetryLimiter", "retry"]

T = TypeVar("T")


async def retry(
    attempt: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    backoff: Backoff,
    patience_seconds: float,
    is_final: Callable[[ApiError], bool] = lambda _: False,
    after: ApiError | None = None,
) -> T:
    """Call `attempt` until it succeeds, fails permanently, or the next wait would exceed the patience.

    Args:
        attempt: Sends one request; called again after a temporary refusal.
        clock: Clock for waiting.
        backoff: Waits; the server's Retry-After counts if it is longer.
        patience_seconds: Time for all attempts together.
        is_final: Returns whether a refusal that looks temporary is an answer.
        after: Refusal of an earlier attempt, after which to wait first.

    Raises:
        ApiError: The last refusal.
    """
    give_up_at = clock.monotonic() + patience_seconds
    refusal = after
    while True:
        if refusal is not None:
            wait = backoff.next_wait(refusal.retry_after)
            if not refusal.is_temporary or is_final(refusal) or clock.monotonic() + wait > give_up_at:
                raise refusal
            await clock.sleep(wait)
        try:
            return await attempt()
        except ApiError as error:
            refusal = error


class RetryLimiter:
    """Limits the requests at a time, and to half as many those that are retried.

    A refused request is retried in separate slots. A webhook that fails for the pods of one namespace delays only
    those, and connections are left for others. A server in trouble receives no more retries than that.
    """

    def __init__(self, at_a_time: int, *, clock: Clock, patience_seconds: float) -> None:
        """Permit `at_a_time` concurrent requests. The patience with a refused one starts when it gets a slot."""
        self._first, self._again = asyncio.Semaphore(at_a_time), asyncio.Semaphore(max(1, at_a_time // 2))
        self._clock, self._patience_seconds = clock, patience_seconds

    async def take(self, attempt: Callable[[], Awaitable[T]], *, backoff: Backoff) -> T:
        """Send a request when a slot is free, and retry it as `retry` does.

        Raises:
            ApiError: The last refusal.
        """
        try:
            async with self._first:
                return await attempt()
        except ApiError as error:
            if not error.is_temporary:
                raise
            refusal = error
        async with self._again:
            return await retry(
                attempt,
                clock=self._clock,
                backoff=backoff,
                patience_seconds=self._patience_seconds,
                after=refusal,
            )
