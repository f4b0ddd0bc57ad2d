"""Retry what may succeed later, for as long as it makes sense."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kube.backoff import Backoff
from kube.clock import Clock
from kube.errors import ApiError

__all__ = ["retry"]

T = TypeVar("T")


async def retry(
    attempt: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    backoff: Backoff,
    patience_seconds: float,
    is_final: Callable[[ApiError], bool] = lambda _: False,
) -> T:
    """Call `attempt` until it succeeds, fails for good, or the next wait would exceed the patience.

    Args:
        attempt: Sends one request; called again after a temporary refusal.
        clock: For waiting.
        backoff: How long to wait; the server's Retry-After counts when it is longer.
        patience_seconds: For all attempts together.
        is_final: Knows refusals that look temporary but are answers.

    Raises:
        ApiError: The last refusal.
    """
    give_up_at = clock.monotonic() + patience_seconds
    while True:
        try:
            return await attempt()
        except ApiError as error:
            wait = backoff.next_wait(error.retry_after)
            if not error.is_temporary or is_final(error) or clock.monotonic() + wait > give_up_at:
                raise
            await clock.sleep(wait)
