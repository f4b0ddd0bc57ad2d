"""Rounds: one operation on many pods of a Job, some at a time, until it is pointless to continue.

A round ends early if the Job is gone, if one answer applies to all pods, if a few refusals are alike, or if many calls
in a row fail. Only the number of failures and the first failure are kept. The traceback is dropped, because it keeps
the pods and bodies of every call in memory.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from pyroclast.controllers.runtime.writer import NamespaceEndingError
from pyroclast.kube.api.concurrent_calls import gathered
from pyroclast.kube.api.errors import ApiConflictError, ApiError
from pyroclast.model.errors import PyroclastError

__all__ = ["SyncRound"]

_ALIKE: Final = 5
"""Refusals with the same reason that end a round, because all pods of a task have the same template."""
_IN_A_ROW: Final = 20
"""Temporary failures in a row that end a round."""

T = TypeVar("T")


class SyncRound(Generic[T]):
    """One round. After `run` returns, it contains the failures."""

    def __init__(self, *, at_a_time: int, should_continue: Callable[[], bool]) -> None:
        """Prepare a round.

        Args:
            at_a_time: Maximum number of concurrent calls.
            should_continue: Returns whether to continue. It is called before each call of `work`.
        """
        self.first: PyroclastError | None = None
        """The first failure."""
        self.failed = 0
        """Number of calls that failed."""
        self._at_a_time, self._should_continue = at_a_time, should_continue
        self._alike: Counter[tuple[int, str]] = Counter()
        self._in_a_row = 0
        self._is_over = False

    async def run(self, work: Callable[[T], Awaitable[None]], items: Sequence[T]) -> None:
        """Call `work` with each item.

        The first call runs alone, because one answer may apply to all pods, such as an exhausted quota or a missing
        class.
        """
        rest = iter(items)
        for first in items[:1]:
            next(rest)
            await self._one(work, first)
        workers = min(self._at_a_time, len(items) - 1)
        await gathered(self._work(work, rest) for _ in range(workers))

    async def _work(self, work: Callable[[T], Awaitable[None]], rest: Iterator[T]) -> None:
        for item in rest:
            if self._is_over or not self._should_continue():
                return
            await self._one(work, item)

    async def _one(self, work: Callable[[T], Awaitable[None]], item: T) -> None:
        try:
            await work(item)
        except PyroclastError as error:
            self._note(error)
        else:
            self._in_a_row = 0

    def _note(self, error: PyroclastError) -> None:
        self.failed += 1
        if self.first is None:
            error.__traceback__ = error.__cause__ = error.__context__ = None
            self.first = error
        self._in_a_row += 1
        self._is_over |= _holds_for_all(error) or self._in_a_row >= _IN_A_ROW
        if isinstance(error, ApiError) and not error.is_temporary and not isinstance(error, ApiConflictError):
            self._alike[error.status, error.reason] += 1
            self._is_over |= self._alike[error.status, error.reason] >= _ALIKE


def _holds_for_all(error: PyroclastError) -> bool:
    """Return whether an error for one pod applies to all pods."""
    return isinstance(error, NamespaceEndingError) or (isinstance(error, ApiError) and error.is_forbidden)
