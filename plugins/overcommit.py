"""Overcommit: enqueue no more work than the cluster's resources times a factor.

Points: job enqueueable, job enqueued.  Arguments: `OvercommitArgs`.  Formula and example: docs/plugins/overcommit.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.queues.admission import Account, QueueAdmission, Shortage, holds_reservation, reserved
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import QueueName
from pyroclast.model.jobs import NO_QUEUE
from pyroclast.model.refusals import Refusal
from pyroclast.model.resources import PODS

__all__ = ["Overcommit", "OvercommitArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OvercommitArgs:
    """Arguments of overcommit, spelled as in the configuration file."""

    factor: float = argument("overcommit-factor", 1.2, least=1.0)
    """Limit of used and reserved resources, as a multiple of the cluster's resources; below 1 the default is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overcommit(Plugin):
    """Limit enqueued work in the whole cluster."""

    name = "overcommit"
    watches_clock = False
    args: OvercommitArgs = OvercommitArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        budget = Budget(session, self.args.factor)
        session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, budget.enqueueable)
        session.extensions.register(contract.JOB_ENQUEUED, self.name, budget.enqueued)


class Budget:
    """Remaining capacity for enqueueing in one session."""

    def __init__(self, session: Session, factor: float) -> None:
        self._session = session
        self._factor = factor
        self._limit = budget_of(session.total, factor)
        nodes = session.nodes.columns()
        # At most the allocatable amount of a node: a pod with a node name may request any amount.
        self._used = np.minimum(nodes.used, nodes.allocatable).sum(axis=1).tolist()
        self._promised = admitted_amounts(session)
        self._admitted = self._promised.sum(axis=1).tolist()
        self._rows = [row for name, row in session.resources.rows.items() if name != PODS]
        self._admission = QueueAdmission(session, self._rows, self._accounts_of, self._refused)

    def enqueueable(self, job: SessionJob) -> Vote | Refusal:
        """Admit a job whose minimum fits beside previously enqueued ones."""
        return self._admission.refusal(job) or Vote.PERMIT

    def _refused(self, shortage: Shortage, job: SessionJob, minimum: Sequence[int]) -> Refusal:
        reasons = ", ".join(f"overused {self._session.resources.names[row]}" for row in shortage.rows)
        message = f"resource in cluster is overused: {reasons}"
        details = self._admission.in_words(shortage, job, minimum)
        return Refusal(plugin=Overcommit.name, reason="ClusterOverused", message=message, details=details)

    def enqueued(self, job: SessionJob) -> None:
        """Count the minimum of an enqueued job."""
        self._admission.admit(job)

    def _accounts_of(self, _: QueueName) -> list[Account]:
        """Return the only account, which is that of the whole cluster."""
        table = self._session.snapshot.job_table
        return [
            Account(
                name=f"the cluster times {self._factor}",
                jobs=table.queue != NO_QUEUE,
                running=table.allocated,
                promised=self._promised,
                limit=self._limit,
                used=self._used,
                admitted=self._admitted,
            )
        ]


def budget_of(total: IntArray, factor: float) -> list[int]:
    """Return the limit by resource: `total` times `factor`, base units, rounded down."""
    # The factor is read as the decimal number that was written, so that 1.2 is exactly 6/5.
    numerator, denominator = Fraction(str(factor)).as_integer_ratio()
    return [amount * numerator // denominator for amount in total.tolist()]


def admitted_amounts(session: Session) -> IntArray:
    """Return the reserved amounts of each enqueued job, shape (R, J).

    Jobs in phase `Inqueue` count in full, including allocated parts; running ones count the missing part of their
    minimum.
    """
    table = session.snapshot.job_table
    full = np.maximum(table.min_resources - table.gated, 0)
    inqueue = table.phase_inqueue & table.has_min_resources
    running = table.phase_running & holds_reservation(table)
    amounts: IntArray = np.where(inqueue, full, np.where(running, reserved(table), 0))
    return amounts
