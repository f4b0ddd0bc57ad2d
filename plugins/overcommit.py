"""Overcommit: admit no more work than the cluster can hold, times a factor.

Points: job enqueueable, job enqueued.  Arguments: `OvercommitArgs`.  Formula and example: docs/plugins/overcommit.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from framework import points
from framework.arguments import argument
from framework.gate import holds_reservation, reserved, ungated
from framework.jobs import SessionJob
from framework.points import Vote
from framework.session import Session
from model.arrays import IntArray
from model.refusals import Refusal
from model.resources import PODS

__all__ = ["Overcommit", "OvercommitArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OvercommitArgs:
    """Arguments of overcommit, spelled as in the configuration file."""

    factor: float = argument("overcommit-factor", 1.2, least=1.0)
    """How much of the cluster may be promised, as a multiple of all it offers; below 1 the default is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overcommit:
    """Bound what is admitted cluster-wide."""

    name: ClassVar[str] = "overcommit"
    watches_clock: ClassVar[bool] = False
    args: OvercommitArgs = OvercommitArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        gate = Gate(session, self.args.factor)
        session.register(points.JOB_ENQUEUEABLE, self.name, gate.enqueueable)
        session.register(points.JOB_ENQUEUED, self.name, gate.enqueued)


class Gate:
    """What may still be admitted in one session."""

    def __init__(self, session: Session, factor: float) -> None:
        self._session = session
        used = session.nodes.state[session.nodes.rows.used].sum(axis=1)
        self._idle = idle_amounts(session.total, used, factor)
        self._inqueue = admitted_amounts(session).tolist()
        self._rows = [row for name, row in session.resources.rows.items() if name != PODS]

    def enqueueable(self, job: SessionJob) -> Vote | Refusal:
        """Admit a job whose minimum fits beside what was admitted before."""
        minimum = self._minimum(job).tolist()
        short = [
            self._session.resources.names[row]
            for row in self._rows
            if minimum[row] > 0 and self._inqueue[row] + minimum[row] > self._idle[row]
        ]
        if not short:
            return Vote.PERMIT
        reasons = ", ".join(f"overused {name}" for name in short)
        message = f"resource in cluster is overused: {reasons}"
        return Refusal(plugin=Overcommit.name, reason="ClusterOverused", message=message)

    def enqueued(self, job: SessionJob) -> None:
        """Count the minimum of a job that has passed the gate."""
        for row, amount in enumerate(ungated(self._session, job, self._minimum(job)).tolist()):
            self._inqueue[row] += amount

    def _minimum(self, job: SessionJob) -> IntArray:
        minimum: IntArray = self._session.snapshot.job_table.min_resources[:, job.job.column]
        return minimum


def idle_amounts(total: IntArray, used: IntArray, factor: float) -> list[int]:
    """Return what may be promised: `total` times `factor` less `used`, base units, rounded down, by resource."""
    # the factor is read as the decimal that was written, so that 1.2 is six fifths
    numerator, denominator = Fraction(str(factor)).as_integer_ratio()
    return [
        amount * numerator // denominator - taken for amount, taken in zip(total.tolist(), used.tolist(), strict=True)
    ]


def admitted_amounts(session: Session) -> IntArray:
    """Return what admitted jobs hold, shape (R,).

    Jobs in phase `Inqueue` count in full, allocated parts included; running ones with what they miss of their minimum.
    """
    table = session.snapshot.job_table
    full = np.maximum(table.min_resources - table.gated, 0)
    inqueue = table.phase_inqueue & table.has_min_resources
    running = table.phase_running & holds_reservation(table)
    amounts: IntArray = full[:, inqueue].sum(axis=1) + reserved(table)[:, running].sum(axis=1)
    return amounts
