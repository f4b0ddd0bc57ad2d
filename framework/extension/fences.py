"""Fences: calls into one external plugin, so that no answer and no exception of it ends a cycle.

An exception is about what was asked: the plugin is asked about the next. A wrong answer, or what ends a program
(`SystemExit`), is a fault of the plugin: from then on, until the cycle ends, this function is asked no more, nor is
any other that only gives advice (orders, scores, choices). What may refuse is never left out in silence: a function
that is not asked any more fails, and a failure refuses.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension.answers import Reader, anything, part_reader, reader_of
from pyroclast.framework.extension.budgets import Budgets, OverBudgetError
from pyroclast.framework.extension.contract import (
    NODE_REDUCE,
    Allocation,
    Allocator,
    Change,
    Ledger,
    Locality,
    Point,
)
from pyroclast.framework.extension.outside import CycleCut
from pyroclast.framework.extension.uses import Uses, WrongUseError
from pyroclast.framework.state.caller import Caller
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.sealed import sealed
from pyroclast.model.tasks import Task

__all__ = ["Guard", "LeftOutError"]

_ADVICE: Final = frozenset({"keys", "sum", "first"})
"""Rules of combination of points that order and prefer; at the others a plugin permits or refuses."""


class LeftOutError(Exception):
    """A plugin is not asked any more in this cycle, for what it did before."""


class Guard:
    """Calls the functions of one plugin, and validates the values that it passes to the session."""

    def __init__(
        self,
        failed: Callable[[BaseException], object],
        caller: Caller,
        *,
        acts: bool = False,
        plugin: str = "",
        budgets: Budgets | None = None,
    ) -> None:
        """Take what notes a failure of the plugin; `acts` for actions; `budgets` measure the plugin's calls."""
        self._failed = failed
        self._plugin, self._budgets = plugin, budgets
        self._is_over_budget = False
        self._gives_no_advice = False
        self._caller = caller
        self._uses = Uses(is_bounded=not acts)
        self._may_act = acts
        """Whether the code that runs may change the session: actions, and what plugins do as it opens and closes."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run code that may change the session: an action, or a plugin that is opened."""
        before, self._caller.guard, self._may_act = (self._caller.guard, self._may_act), self, True
        self._begin()
        try:
            yield
        finally:
            self._caller.guard, self._may_act = before
            self._end()

    def _begin(self) -> None:
        if self._budgets is not None:
            self._budgets.begin(self._plugin)

    def _end(self) -> None:
        """End the call of the plugin, and leave the plugin out if its time is used up."""
        if self._budgets is not None and self._budgets.end(self._plugin):
            self._is_over_budget = True
            self._failed(OverBudgetError())

    def read(self, use: str, reader: Callable[..., Any], *arguments: Any) -> Any:
        """Return the validated value that the plugin passes. A wrong one is noted and raises `WrongUseError`."""
        try:
            return self._uses.read(use, reader, *arguments)
        except WrongUseError as error:
            self._failed(error)
            raise

    def refuse_unless_action(self, method: str) -> None:
        """Raise `WrongUseError`, which is noted, unless an action is running."""
        if not self._may_act:
            error = WrongUseError(f"{method} changes the session, which a plugin does not while it is asked")
            self._failed(error)
            raise error

    def of_point(
        self, point: Point[Any], function: Callable[..., Any], locality: Locality | None, reasons: int | None
    ) -> Callable[..., Any]:
        """Return a function of a point, with its answers read."""
        reader = reader_of(point.name, locality=locality, reasons=reasons)
        return self._of(function, reader, is_advice=point.combine in _ADVICE, edits=point is NODE_REDUCE)

    def of_part(self, part: str, function: Callable[..., Any] | None) -> Any:
        """Return a function that is registered beside one of a point; None if there is none."""
        reader = part_reader(part)
        return None if function is None else self._of(function, reader, is_advice=False, may_act=part == "hook")

    def ledger(self, ledger: Ledger) -> Ledger:
        """Return a ledger with its answers read."""
        chooses = type(ledger).chooses_for is not Ledger.chooses_for
        return _GuardedChoosingLedger(self, ledger) if chooses else _GuardedLedger(self, ledger)

    def allocator(self, allocator: Allocator) -> Allocator:
        """Return an allocator with its answers read."""
        return _GuardedAllocator(self, allocator)

    def undoing(self, function: Callable[..., Any], reader: Reader = anything) -> Callable[..., Any]:
        """Return a function that must not fail at all: what it counts is wrong from then on."""
        return self._of(function, reader, is_advice=False, must_hold=True)

    def _of(
        self,
        function: Callable[..., Any],
        reader: Reader,
        *,
        is_advice: bool,
        must_hold: bool = False,
        edits: bool = False,
        may_act: bool = False,
    ) -> Callable[..., Any]:
        is_out, caller = False, self._caller

        def leave_out(error: BaseException) -> LeftOutError:
            nonlocal is_out
            is_out = self._gives_no_advice = True
            self._failed(error)
            return LeftOutError(f"{type(error).__name__}")

        def ask(*about: Any) -> Any:
            if is_out or (is_advice and self._gives_no_advice) or (self._is_over_budget and not must_hold):
                raise LeftOutError
            self._begin()
            before, caller.guard, self._may_act = (caller.guard, self._may_act), self, may_act
            try:
                answer = function(*about) if edits else function(*map(_shown, about))
            except CycleCut:
                raise
            except WrongUseError as error:
                raise leave_out(error) from error
            except Exception as error:
                if must_hold:
                    raise leave_out(error) from error
                raise
            except BaseException as error:  # a plugin must not end the process
                raise leave_out(error) from error
            finally:
                caller.guard, self._may_act = before
                self._end()
            try:
                return reader(answer, about)
            except CycleCut:
                raise
            except BaseException as error:
                raise leave_out(error) from error

        return ask


def _shown(value: Any) -> Any:
    """Return what is asked about as a plugin may see it: nothing that it could change for others."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
        return value
    return sealed(value)


class _GuardedLedger(Ledger):
    """A ledger of a plugin from outside. One that once failed to undo refuses whatever comes."""

    def __init__(self, guard: Guard, ledger: Ledger) -> None:
        self._apply: Callable[[Change], Refusal | None] = guard.of_part("apply", ledger.apply)
        self._revert = guard.undoing(ledger.revert)
        self._is_off = False

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


class _GuardedChoosingLedger(_GuardedLedger):
    """One that also chooses what a task gets on its node."""

    def __init__(self, guard: Guard, ledger: Ledger) -> None:
        super().__init__(guard, ledger)
        self._chooses_for: Callable[[Task], bool] = guard.of_part("chooses_for", ledger.chooses_for)

    def chooses_for(self, task: Task) -> bool:
        """Return whether the ledger chooses for a task."""
        return self._chooses_for(task)


class _GuardedAllocator(Allocator):
    """An allocator of a plugin from outside. One that once failed to free or to give allocates nothing more."""

    def __init__(self, guard: Guard, allocator: Allocator) -> None:
        self.aligns = bool(allocator.aligns)
        self._concerns: Callable[[Task], bool] = guard.of_part("cares", allocator.concerns)
        self._allocate: Callable[[Task, int, int | None, bool], Allocation | Reason | str] = guard.of_part(
            "allocate",
            lambda task, column, numa_nodes, dry_run: allocator.allocate(task, column, numa_nodes, dry_run=dry_run),
        )
        self._free: Callable[[Task, int], Allocation | None] = guard.undoing(allocator.free, part_reader("free"))
        self._give: Callable[[Task, int, Allocation], None] = guard.undoing(allocator.give)
        self._is_off = False

    def concerns(self, task: Task) -> bool:
        """Return whether a task gets something."""
        return self._concerns(task)

    def allocate(self, task: Task, column: int, numa_nodes: int | None, *, dry_run: bool) -> Allocation | Reason | str:
        """Allocate to a task."""
        if self._is_off:
            raise LeftOutError
        return self._allocate(task, column, numa_nodes, dry_run)

    def free(self, task: Task, column: int) -> Allocation | None:
        """Take back what a task has."""
        try:
            return self._free(task, column)
        except LeftOutError:
            self._is_off = True
            raise

    def give(self, task: Task, column: int, allocation: Allocation) -> None:
        """Give it again."""
        try:
            self._give(task, column, allocation)
        except LeftOutError:
            self._is_off = True
            raise
