"""Recorded: what was answered, written down while it is asked, and answers by what was written down.

Answers of one plugin stand in the order of its questions: the same decisions ask the same questions. What was asked is
kept as a digest, so that a question which differs from the recorded one is found out.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

import msgspec

from framework.outside import Answer, CycleCut, Outside, Question

__all__ = ["Exchange", "Recorded", "Recording", "recording"]

_DIGEST_BYTES: Final = 8


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One question and its answer."""

    url: str
    digest: str
    """Of the body of the question."""
    value: Any = None
    error: str = ""


class Recording:
    """Notes the answers of another."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self.exchanges: list[Exchange] = []

    def ask(self, question: Question) -> Answer:
        """Ask the other one."""
        answer = self._outside.ask(question)
        self.exchanges.append(
            Exchange(url=question.url, digest=_digest(question), value=answer.value, error=answer.error)
        )
        return answer


def recording(outside: Mapping[str, Outside]) -> dict[str, Recording]:
    """Return the same, by plugin instance, with all answers noted."""
    return {instance: Recording(each) for instance, each in outside.items()}


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
