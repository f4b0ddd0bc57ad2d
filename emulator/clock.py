"""The server's time: one clock for all time stamps, which a test may move."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

__all__ = ["Clock", "parse_time"]


@dataclass(slots=True)
class Clock:
    """Seconds since the epoch, and how Kubernetes writes them."""

    seconds: Callable[[], float] = time.time
    _second: int = -1
    _text: str = ""

    def now(self, ahead_seconds: float = 0.0) -> str:
        """The moment as metav1.Time: whole seconds, UTC."""
        second = int(self.seconds() + ahead_seconds)
        if second != self._second:  # thousands of objects are made in one second
            self._second, self._text = second, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
        return self._text

    @staticmethod
    def at(seconds: float) -> str:
        """A given moment as metav1.Time."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def parse_time(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 text.

    Raises:
        ValueError: It is none.
    """
    return datetime.fromisoformat(text).timestamp()
