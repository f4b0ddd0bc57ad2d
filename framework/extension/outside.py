"""Outside: the services that plugins query beyond the snapshot.

Deciding is pure, so a plugin asks nobody itself: it makes a question, a value, and the cycle was given somebody who
answers it (`run_cycle(..., outside=...)`). In the daemon that is a client which keeps time; in a replay it is the
record, which has each answer in the order in which it was asked for. Equal answers give equal decisions.
"""

from typing import Any, Protocol

import msgspec

__all__ = ["Answer", "CycleCut", "Outside", "Question"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: a POST of JSON."""

    url: str
    body: bytes
    """JSON, UTF-8."""
    timeout_seconds: float
    """For the whole exchange; without an answer until then there is none."""
    wants_answer: bool = True
    """Whether what comes back is read; else that it was heard is enough."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back."""

    value: Any = None
    """The JSON of the answer, decoded; None where it is not read."""
    error: str = ""
    """Why there is no answer, for people; empty where there is one."""
    size: int = 0
    """Bytes of the JSON of the answer."""


class Outside(Protocol):
    """Answers the questions of one plugin."""

    def ask(self, question: Question) -> Answer:
        """Answer, or say why not; returns in time, whatever is asked.

        Raises:
            CycleCut: There is nobody to wait for any more.
        """
        ...


class CycleCut(BaseException):
    """The process ends while a cycle waits for an answer: what it would decide is of no use to anybody.

    No `Exception`, so that none of the fences around plugins takes it for a failure of theirs and decides on.
    """
