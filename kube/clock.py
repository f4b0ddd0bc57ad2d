"""The clock, as something that tests can move."""

import asyncio
import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """What the clients of the API server know of time."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never jumps."""
        ...

    def wall(self) -> float:
        """Seconds since 1970; for texts that people and other machines read, never for waiting."""
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
