"""Outside: the services that plugins query beyond the snapshot.

Deciding is pure, so a plugin calls no service itself. It builds a question, a value, and the cycle was given an object
that answers it (`run_cycle(..., outside=...)`). In the daemon this is a client with timeouts. In a replay it is the
record, with the answers in the order of the questions. Equal answers give equal decisions.
"""

from typing import Any, Protocol

import msgspec

__all__ = ["Answer", "CycleCut", "Outside", "Question"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A query: a POST of JSON."""

    url: str
    body: bytes
    """JSON, UTF-8."""
    timeout_seconds: float
    """Timeout of the whole exchange. After it there is no answer."""
    wants_answer: bool = True
    """Whether the answer is read. Otherwise delivery is sufficient."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a query."""

    value: Any = None
    """The JSON of the answer, decoded; None if it is not read."""
    error: str = ""
    """Error message if there is no answer; otherwise empty."""
    size: int = 0
    """Bytes of the JSON of the answer."""


class Outside(Protocol):
    """Answers the questions of one plugin."""

    def ask(self, question: Question) -> Answer:
        """Return the answer, or the error. The call always returns in time.

        Raises:
            CycleCut: The process ends, so no answer is awaited.
        """
        ...


class CycleCut(BaseException):
    """The process ends while a cycle waits for an answer, so its decisions would not be used.

    No `Exception`, so that none of the fences around plugins takes it for a failure of theirs and decides on.
    """
