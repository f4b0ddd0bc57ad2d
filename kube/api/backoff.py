"""Back-off: wait longer after each failure, with jitter so that clients do not retry at the same time."""

import random
from dataclasses import dataclass, field

__all__ = ["Backoff"]


@dataclass(slots=True, kw_only=True)
class Backoff:
    """A growing series of waits.

    The n-th wait lies between `first_seconds * factor**n` (at most `cap_seconds`) times `1 - jitter` and that itself.
    """

    first_seconds: float = 0.1
    factor: float = 2.0
    cap_seconds: float = 30.0
    jitter: float = 0.5
    """Random part of each wait, from 0 to 1."""
    chance: random.Random = field(default_factory=random.Random)
    failures: int = 0
    """Failures in a row so far."""

    def next_wait(self, at_least: float = 0.0) -> float:
        """Count a failure. Return the seconds to wait, at least as many as the server requested."""
        # The exponent is bounded, so that a day of failures does not overflow a float.
        longest = min(self.cap_seconds, self.first_seconds * self.factor ** min(self.failures, 64))
        self.failures += 1
        return max(at_least, longest * (1 - self.jitter * self.chance.random()))

    def reset(self) -> None:
        """Start over, after a success."""
        self.failures = 0
