"""Resource quota: a job is not enqueued while its minimum exceeds a quota of its namespace.

Points: job enqueueable, job enqueued.  No arguments.  Rules and example: docs/plugins/resourcequota.md.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model import wire
from pyroclast.model.refusals import Refusal
from pyroclast.plugins.resourcequota.scopes import concerns_job
from pyroclast.plugins.resourcequota.usage import amount_of, missing

__all__ = ["ResourceQuota"]


class ResourceQuota(Plugin):
    """Do not enqueue jobs that the quotas of their namespace would not permit to run."""

    name = "resourcequota"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        quotas = Quotas(session.snapshot.objects.resource_quotas)
        session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, quotas.enqueueable)
        session.extensions.register(contract.JOB_ENQUEUED, self.name, quotas.enqueued)


class Quotas:
    """Remaining amounts of each quota in one session."""

    def __init__(self, quotas: Mapping[str, wire.ResourceQuota]) -> None:
        self._by_namespace: dict[str, list[wire.ResourceQuota]] = {}
        for _, quota in sorted(quotas.items()):
            self._by_namespace.setdefault(quota.metadata.namespace, []).append(quota)
        self._admitted: dict[str, dict[str, Fraction]] = {}
        """Minimums that were enqueued in this session, by quota, except the part that the quota counts already."""

    def enqueueable(self, job: SessionJob) -> Vote | Refusal:
        """Admit a job whose minimum fits every matching quota, except the part that the quota counts already."""
        minimum = job.job.group.spec.min_resources or {}
        for quota in self._concerning(job):
            names = self._exceeded(quota, job, minimum)
            if names:
                message = (
                    f"resource quota insufficient, requested: {_shown(minimum, names)}, "
                    f"used: {_shown(quota.status.used, names)}, limited: {_shown(quota.status.hard, names)}"
                )
                return Refusal(plugin=ResourceQuota.name, reason="QuotaExceeded", message=message)
        return Vote.PERMIT

    def enqueued(self, job: SessionJob) -> None:
        """Count the missing part of the minimum of an enqueued job."""
        for quota in self._concerning(job):
            admitted = self._admitted.setdefault(quota.metadata.key, {})
            for name in job.job.group.spec.min_resources or {}:
                used = amount_of(quota.status.used.get(name, "0"))
                admitted[name] = admitted.get(name, Fraction(0)) + missing(job, name, used)

    def _concerning(self, job: SessionJob) -> list[wire.ResourceQuota]:
        return [quota for quota in self._by_namespace.get(job.job.namespace, ()) if concerns_job(quota, job)]

    def _exceeded(self, quota: wire.ResourceQuota, job: SessionJob, minimum: wire.ResourceList) -> list[str]:
        """Return the sorted names in which a job exceeds a quota, in addition to used and enqueued amounts."""
        admitted, names = self._admitted.get(quota.metadata.key, {}), []
        for name in sorted(minimum.keys() & quota.status.hard.keys()):
            used = amount_of(quota.status.used.get(name, "0"))
            more = missing(job, name, used)
            if more and used + admitted.get(name, 0) + more > amount_of(quota.status.hard[name]):
                names.append(name)
        return names


def _shown(amounts: wire.ResourceList, names: Iterable[str]) -> str:
    return f"map[{' '.join(f'{name}:{amounts.get(name, 0)}' for name in names)}]"
