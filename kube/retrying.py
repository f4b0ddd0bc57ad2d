"""Retry what may succeed later, for as long as it makes sense, and so that others need not wait for it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pyroclast.kube.backoff import Backoff
from pyroclast.kube.clock import Clock
from pyroclast.kube.errors import ApiError

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
    """Call `attempt` until it succeeds, fails for good, or the next wait would exceed the patience.

    Args:
        attempt: Sends one request; called again after a temporary refusal.
        clock: For waiting.
        backoff: How long to wait; the server's Retry-After counts when it is longer.
        patience_seconds: For all attempts together.
        is_final: Knows refusals that look temporary but are answers.
        after: What the server said before, so that it is waited first.

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
    """So many requests at a time, and half as many that are tried again.

    What was refused once waits and is tried again in turns of its own: a webhook that fails for the pods of one
    namespace keeps those alone waiting, and connections are left for others. Nor does a server in trouble meet more
    than that, however many there are.
    """

    def __init__(self, at_a_time: int, *, clock: Clock, patience_seconds: float) -> None:
        """Let `at_a_time` requests go side by side; the patience with a refused one begins when its turn comes."""
        self._first, self._again = asyncio.Semaphore(at_a_time), asyncio.Semaphore(max(1, at_a_time // 2))
        self._clock, self._patience_seconds = clock, patience_seconds

    async def take(self, attempt: Callable[[], Awaitable[T]], *, backoff: Backoff) -> T:
        """Send a request in its turn, as `retry` does.

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
