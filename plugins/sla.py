"""SLA: limit the waiting time of jobs.

A job whose waiting time has passed is enqueued and keeps its placements, regardless of the tiers below.

Points: job order, job enqueueable, job pipelined.  Arguments: `SlaArgs`.  Rules and example: docs/plugins/sla.md.
"""

from dataclasses import dataclass
from typing import Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.durations import parse_duration

__all__ = ["Sla", "SlaArgs"]

NEVER: Final = float("inf")


def waiting_seconds(text: object) -> float:
    """Parse a duration above 0, in seconds.

    Raises:
        ValueError: It is invalid.
    """
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError("a duration above 0, such as 1h30m")
    return float(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlaArgs:
    """Arguments of sla, spelled as in the configuration file."""

    waiting_time: float | None = argument("sla-waiting-time", None, parse=waiting_seconds)
    """Maximum waiting time of a job, a Go duration (`1h2m3s`), stored in seconds; None for no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sla(Plugin):
    """Prefer jobs that have waited long enough."""

    name = "sla"
    watches_clock = True
    args: SlaArgs = SlaArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        limit = self.args.waiting_time

        def deadline(job: SessionJob) -> float:
            seconds = job.job.waiting_seconds if job.job.waiting_seconds is not None else limit
            return NEVER if seconds is None else job.created + seconds

        def vote(job: SessionJob) -> Vote:
            return Vote.PERMIT if deadline(job) <= session.now else Vote.ABSTAIN

        session.extensions.register(contract.JOB_ORDER, self.name, deadline)
        session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, vote)
        session.extensions.register(contract.JOB_PIPELINED, self.name, vote)
