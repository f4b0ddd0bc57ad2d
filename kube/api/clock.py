"""The clock, replaceable in tests."""

import asyncio
import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Clock of the clients of the API server."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never jumps."""
        ...

    def wall(self) -> float:
        """Seconds since 1970; for timestamps in texts and objects, never for waiting."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
