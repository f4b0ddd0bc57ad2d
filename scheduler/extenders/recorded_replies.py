"""Recording replies: recorded while extenders are called, and replayed later.

The replies of a plugin keep the order of its requests, because the same decisions send the same requests. A record
holds a digest of each request, so that a different request is detected.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

import msgspec

from pyroclast.framework.extension.outside import Answer, CycleCut, Outside, Question

__all__ = ["MOST_BYTES", "Exchange", "Recorded", "Recording", "RecordingBudget", "recording"]

MOST_BYTES: Final = 32 << 20
"""Size limit of the replies of one cycle, as JSON. A cycle with more is recorded as interrupted."""

_DIGEST_BYTES: Final = 8


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and its reply."""

    url: str
    digest: str
    """Digest of the request's body."""
    value: Any = None
    error: str = ""


class RecordingBudget:
    """Number of bytes that the replies of one cycle may still use in the record."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def take(self, size: int) -> bool:
        """Reserve bytes for a reply. Return False if the budget is exceeded, then and from then on."""
        self._left = self._left - size if size <= self._left else -1
        return not self.is_spent

    @property
    def is_spent(self) -> bool:
        """Whether a reply was left out."""
        return self._left < 0


class Recording:
    """Records the replies of another `Outside`, within a budget."""

    def __init__(self, outside: Outside, budget: RecordingBudget) -> None:
        self._outside, self._budget = outside, budget
        self.exchanges: list[Exchange] = []

    def ask(self, question: Question) -> Answer:
        """Send the request to the wrapped `Outside`."""
        answer = self._outside.ask(question)
        if self._budget.take(len(question.url) + len(answer.error) + answer.size):
            self.exchanges.append(
                Exchange(url=question.url, digest=_digest(question), value=answer.value, error=answer.error)
            )
        return answer


def recording(outside: Mapping[str, Outside], budget: RecordingBudget) -> dict[str, Recording]:
    """Return recording wrappers by plugin instance. They share a budget."""
    return {instance: Recording(each, budget) for instance, each in outside.items()}


class Recorded:
    """Replies from a record."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._left = deque(exchanges)
        self._has_diverged = False

    def ask(self, question: Question) -> Answer:
        """Return the recorded reply.

        Raises:
            CycleCut: The record has no more replies, for example because the process ended during the cycle.
        """
        if not self._left:
            raise CycleCut
        exchange = self._left.popleft()
        if (exchange.url, exchange.digest) != (question.url, _digest(question)):
            self._has_diverged = True
        return Answer(value=exchange.value, error=exchange.error)

    @property
    def is_spent(self) -> bool:
        """Whether exactly the recorded requests were sent."""
        return not (self._left or self._has_diverged)


def _digest(question: Question) -> str:
    return blake2b(question.body, digest_size=_DIGEST_BYTES).hexdigest()
