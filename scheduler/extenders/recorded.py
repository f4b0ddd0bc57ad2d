"""Recorded: what was answered, written down while it is asked, and answers by what was written down.

Answers of one plugin stand in the order of its questions: the same decisions ask the same questions. What was asked is
kept as a digest, so that a question which differs from the recorded one is found out.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

import msgspec

from pyroclast.framework.extension.outside import Answer, CycleCut, Outside, Question

__all__ = ["MOST_BYTES", "Exchange", "Recorded", "Recording", "RecordingBudget", "recording"]

MOST_BYTES: Final = 32 << 20
"""Answers of one cycle that are kept for a record, as JSON. A cycle with more is recorded as one that was cut short."""

_DIGEST_BYTES: Final = 8


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One question and its answer."""

    url: str
    digest: str
    """Of the body of the question."""
    value: Any = None
    error: str = ""


class RecordingBudget:
    """Bytes that the answers of one cycle may still take in its record."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def take(self, size: int) -> bool:
        """Take what an answer needs; False where that is too much, and for all that follow."""
        self._left = self._left - size if size <= self._left else -1
        return not self.is_spent

    @property
    def is_spent(self) -> bool:
        """Whether an answer was left out."""
        return self._left < 0


class Recording:
    """Notes the answers of another, as far as a budget goes."""

    def __init__(self, outside: Outside, budget: RecordingBudget) -> None:
        self._outside, self._budget = outside, budget
        self.exchanges: list[Exchange] = []

    def ask(self, question: Question) -> Answer:
        """Ask the other one."""
        answer = self._outside.ask(question)
        if self._budget.take(len(question.url) + len(answer.error) + answer.size):
            self.exchanges.append(
                Exchange(url=question.url, digest=_digest(question), value=answer.value, error=answer.error)
            )
        return answer


def recording(outside: Mapping[str, Outside], budget: RecordingBudget) -> dict[str, Recording]:
    """Return the same, by plugin instance, with the answers noted; they share a budget."""
    return {instance: Recording(each, budget) for instance, each in outside.items()}


class Recorded:
    """Answers by a record."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._left = deque(exchanges)
        self._has_parted = False

    def ask(self, question: Question) -> Answer:
        """Answer as it was answered.

        Raises:
            CycleCut: The record has no more answers, as where the process ended amid the cycle.
        """
        if not self._left:
            raise CycleCut
        exchange = self._left.popleft()
        if (exchange.url, exchange.digest) != (question.url, _digest(question)):
            self._has_parted = True
        return Answer(value=exchange.value, error=exchange.error)

    @property
    def is_spent(self) -> bool:
        """Whether exactly the recorded questions were asked."""
        return not (self._left or self._has_parted)


def _digest(question: Question) -> str:
    return blake2b(question.body, digest_size=_DIGEST_BYTES).hexdigest()
