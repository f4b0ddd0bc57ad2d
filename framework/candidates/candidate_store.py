"""Candidate store: the candidates of the templates that were asked about last, within a budget of memory.

Candidates cost several numbers a node, and a cluster may have as many templates as pods. Dropped candidates are
computed again on demand, with the same result, since candidates follow from the session alone.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyroclast.framework.candidates.candidates import Candidates

__all__ = ["MOST_BYTES", "CandidateStore"]

MOST_BYTES: Final = 256 * 2**20
"""Arrays of all candidates of a session together; those of one template are kept whatever they take."""


class CandidateStore:
    """Candidates by template number; the longest unused ones go first."""

    __slots__ = ("_bytes", "_most", "_stored")

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._stored: dict[int, Candidates] = {}
        """The longest unused first, as far as that matters: while little is stored their order is that of making."""
        self._bytes = 0
        self._most = most_bytes

    def __contains__(self, number: int) -> bool:
        """Return whether the candidates of a template are stored."""
        return number in self._stored

    def __len__(self) -> int:
        """Return how many templates have candidates stored."""
        return len(self._stored)

    def get(self, number: int) -> "Candidates | None":
        """Return the candidates of a template; None if they are to be made."""
        known = self._stored.get(number)
        if known is not None and 2 * self._bytes > self._most:
            self._stored[number] = self._stored.pop(number)
        return known

    def put(self, number: int, candidates: "Candidates") -> None:
        """Store the candidates of a template, and drop others where the budget is exceeded."""
        self._stored[number] = candidates
        self._bytes += candidates.array_bytes
        while self._bytes > self._most and len(self._stored) > 1:
            oldest = next(iter(self._stored))
            self._bytes -= self._stored.pop(oldest).array_bytes

    def drop(self, number: int) -> None:
        """Drop the candidates of a template."""
        self._bytes -= self._stored.pop(number).array_bytes

    def clear(self) -> None:
        """Drop all."""
        self._stored.clear()
        self._bytes = 0
