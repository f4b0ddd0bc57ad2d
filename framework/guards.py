"""Guards: the functions of one plugin from outside, asked so that no answer of theirs ends a cycle.

An exception is about what was asked: the plugin is asked about the next. A wrong answer, or what ends a program
(`SystemExit`), is a fault of the plugin: from then on, until the cycle ends, this function is asked no more, nor is
any other that only gives advice (orders, scores, choices). What may refuse is never left out in silence: a function
that is not asked any more fails, and a failure refuses.
"""

from collections.abc import Callable
from typing import Any, Final

from framework.answers import Reader, anything, part_reader, reader_of
from framework.ledgers import Change
from framework.outside import CycleCut
from framework.points import Locality, Point
from model.refusals import Refusal
from model.tasks import Task

__all__ = ["Guard", "LeftOutError"]

_ADVICE: Final = frozenset({"keys", "sum", "first"})
"""Rules of combination of points that order and prefer; at the others a plugin permits or refuses."""


class LeftOutError(Exception):
    """A plugin is not asked any more in this cycle, for what it did before."""


class Guard:
    """Asks the functions of one plugin."""

    def __init__(self, failed: Callable[[BaseException], object]) -> None:
        """Take what notes a failure of the plugin."""
        self._failed = failed
        self._gives_no_advice = False

    def of_point(
        self, point: Point[Any], function: Callable[..., Any], locality: Locality | None, reasons: int | None
    ) -> Callable[..., Any]:
        """Return a function of a point, with its answers read."""
        reader = reader_of(point.name, locality=locality, reasons=reasons)
        return self._of(function, reader, is_advice=point.combine in _ADVICE)

    def of_part(self, part: str, function: Callable[..., Any] | None) -> Any:
        """Return a function that is registered beside one of a point; None where there is none."""
        return None if function is None else self._of(function, part_reader(part), is_advice=False)

    def ledger(self, ledger: Any) -> "_GuardedLedger":
        """Return a ledger with its answers read."""
        return _GuardedLedger(self, ledger)

    def undoing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that must not fail at all: what it counts is wrong from then on."""
        return self._of(function, anything, is_advice=False, must_hold=True)

    def _of(
        self, function: Callable[..., Any], reader: Reader, *, is_advice: bool, must_hold: bool = False
    ) -> Callable[..., Any]:
        is_out = False

        def leave_out(error: BaseException) -> LeftOutError:
            nonlocal is_out
            is_out = self._gives_no_advice = True
            self._failed(error)
            return LeftOutError(f"{type(error).__name__}")

        def ask(*about: Any) -> Any:
            if is_out or (is_advice and self._gives_no_advice):
                raise LeftOutError
            try:
                answer = function(*about)
            except CycleCut:
                raise
            except Exception as error:
                if must_hold:
                    raise leave_out(error) from error
                raise
            except BaseException as error:  # a plugin must not end the process
                raise leave_out(error) from error
            try:
                return reader(answer, about)
            except CycleCut:
                raise
            except BaseException as error:
                raise leave_out(error) from error

        return ask


class _GuardedLedger:
    """A ledger of a plugin from outside. One that once failed to undo refuses whatever comes."""

    def __init__(self, guard: Guard, ledger: Any) -> None:
        self._apply: Callable[[Change], Refusal | None] = guard.of_part("apply", ledger.apply)
        self._revert = guard.undoing(ledger.revert)
        self._is_off = False
        self.chooses_for: Callable[[Task], bool] | None = guard.of_part(
            "chooses_for", getattr(ledger, "chooses_for", None)
        )

    def apply(self, change: Change) -> Refusal | None:
        """Count a change, or refuse it."""
        if self._is_off:
            raise LeftOutError
        return self._apply(change)

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        try:
            self._revert(change)
        except LeftOutError:
            self._is_off = True
            raise
