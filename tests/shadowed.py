"""A plugin that refuses everything, for tests of shadow mode."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyroclast import Plugin, Session, contract
from pyroclast.framework.extension.contract import Change, Ledger, Locality, Point, Vote
from pyroclast.model.refusals import Reason, Refusal

__all__ = ["Refuser"]

_PERMISSIONS: tuple[Point[Any], ...] = (
    contract.PRE_PREDICATE,
    contract.JOB_VALID,
    contract.ALLOCATABLE,
    contract.PREEMPTIVE,
)
_QUESTIONS: tuple[Point[Any], ...] = (contract.JOB_READY, contract.SUB_JOB_READY, contract.JOB_STARVING)
_VOTES: tuple[Point[Any], ...] = (contract.JOB_PIPELINED, contract.SUB_JOB_PIPELINED, contract.JOB_ENQUEUEABLE)
_VICTIMS: tuple[Point[Any], ...] = (contract.PREEMPTABLE, contract.RECLAIMABLE, contract.UNIFIED_EVICTABLE)
NO = Refusal(plugin="refuser", reason="No", message="no")


ANSWERS: tuple[tuple[Point[Any], Any], ...] = (
    *((point, lambda *_: NO) for point in _PERMISSIONS),
    *((point, lambda *_: False) for point in _QUESTIONS),
    *((point, lambda *_: Vote.REJECT) for point in _VOTES),
    *((point, lambda *_: []) for point in _VICTIMS),
)
"""Functions that refuse, by point."""


class _Refusing(Ledger):
    """Refuses each change."""

    def apply(self, change: Change) -> Refusal | None:  # noqa: ARG002  # the shape of a ledger
        """Refuse it."""
        return NO

    def revert(self, change: Change) -> None:
        """Fail, because nothing was applied."""
        raise AssertionError(change)


class Refuser(Plugin):
    """Refuses at every point, prefers the last node, reverses the orders, and reports what it can."""

    name = "refuser"

    def on_session_open(self, session: Session) -> None:
        """Register everything, and report a metric."""
        register = session.extensions.register

        def verdicts(_: Any, columns: Any) -> Any:
            return np.ones(len(columns), dtype=np.uint8)

        def scores(_: Any, columns: Any) -> Any:
            return columns.index.astype(float)

        register(contract.PREDICATE, self.name, verdicts, locality=Locality.AMOUNTS, reasons=(Reason("no"),))
        register(contract.NODE_ORDER, self.name, scores, locality=Locality.AMOUNTS)
        for point, answer in ANSWERS:
            register(point, self.name, answer)
        register(contract.OVERUSED, self.name, lambda _: True)
        register(contract.JOB_ORDER, self.name, lambda job: [-ord(each) for each in job.id])
        register(contract.TASK_ORDER, self.name, lambda task: -hash_of(task.id))
        register(contract.VICTIM_TASKS, self.name, lambda tasks: tasks)
        session.extensions.register_ledger(self.name, _Refusing())
        session.report.sample("refuser_sessions", 1.0, kind="counter")

    def on_session_close(self, session: Session) -> None:
        """Report once more."""
        session.report.sample("refuser_sessions", 1.0, kind="counter")


def hash_of(text: Sequence[str]) -> int:
    """Return a number for a text."""
    return sum(map(ord, text))
