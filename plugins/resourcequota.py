"""Resource quota: a job waits at the gate while its minimum would exceed a quota of its namespace.

Points: job enqueueable, job enqueued.  No arguments.  Rules and example: docs/plugins/resourcequota.md.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import ClassVar

from framework import points
from framework.jobs import SessionJob
from framework.points import Vote
from framework.session import Session
from model import wire
from model.quantity import QuantityError, parse
from model.refusals import Refusal

__all__ = ["ResourceQuota", "exceeded"]


class ResourceQuota:
    """Hold back jobs that their namespace's quotas would not let run."""

    name: ClassVar[str] = "resourcequota"
    watches_clock: ClassVar[bool] = False

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        gate = Gate(session.snapshot.objects.resource_quotas)
        session.register(points.JOB_ENQUEUEABLE, self.name, gate.enqueueable)
        session.register(points.JOB_ENQUEUED, self.name, gate.enqueued)


class Gate:
    """What each namespace may still admit in one session."""

    def __init__(self, quotas: Mapping[str, wire.ResourceQuota]) -> None:
        self._quotas: dict[str, list[wire.ResourceQuotaStatus]] = {}
        for _, quota in sorted(quotas.items()):
            self._quotas.setdefault(quota.metadata.namespace, []).append(quota.status)
        self._pending: dict[str, dict[str, Fraction]] = {}
        """By namespace: minimums that were admitted in this session, so that no quota counts them yet."""

    def enqueueable(self, job: SessionJob) -> Vote | Refusal:
        """Admit a job whose minimum fits into every quota of its namespace."""
        minimum = job.job.group.spec.min_resources or {}
        pending = self._pending.get(job.job.namespace, {})
        for quota in self._quotas.get(job.job.namespace, ()):
            names = exceeded(minimum, quota, pending)
            if names:
                message = (
                    f"resource quota insufficient, requested: {_shown(minimum, names)}, "
                    f"used: {_shown(quota.used, names)}, limited: {_shown(quota.hard, names)}"
                )
                return Refusal(plugin=ResourceQuota.name, reason="QuotaExceeded", message=message)
        return Vote.PERMIT

    def enqueued(self, job: SessionJob) -> None:
        """Count the minimum of a job that has passed the gate."""
        pending = self._pending.setdefault(job.job.namespace, {})
        for name, amount in (job.job.group.spec.min_resources or {}).items():
            pending[name] = pending.get(name, Fraction(0)) + _amount(amount)


def exceeded(minimum: wire.ResourceList, quota: wire.ResourceQuotaStatus, pending: Mapping[str, Fraction]) -> list[str]:
    """Return the names, in order, in which `minimum` beside what is used and pending exceeds the quota's limits."""
    return [
        name
        for name in sorted(minimum)
        if name in quota.hard
        and _amount(quota.used.get(name, "0")) + pending.get(name, 0) + _amount(minimum[name])
        > _amount(quota.hard[name])
    ]


def _amount(text: str | float) -> Fraction:
    """Read a quantity exactly; what is none counts as nothing."""
    try:
        return parse(text)
    except QuantityError:
        return Fraction(0)


def _shown(amounts: wire.ResourceList, names: Iterable[str]) -> str:
    return f"map[{' '.join(f'{name}:{amounts.get(name, 0)}' for name in names)}]"
