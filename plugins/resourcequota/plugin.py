"""Resource quota: a job is not enqueued while its minimum exceeds a quota of its namespace.

Points: job enqueueable, job enqueued.  No arguments.  Rules and example: docs/plugins/resourcequota.md.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model import wire
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.refusals import Refusal
from pyroclast.model.requests import ContainerAmounts, combined
from pyroclast.model.resources import MILLI
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.resourcequota.scopes import concerns_job

__all__ = ["ResourceQuota"]

_ENDED: Final = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
_COUNTS: Final = frozenset({"pods", "count/pods"})


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
                used = _amount_of(quota.status.used.get(name, "0"))
                admitted[name] = admitted.get(name, Fraction(0)) + _missing(job, name, used)

    def _concerning(self, job: SessionJob) -> list[wire.ResourceQuota]:
        return [quota for quota in self._by_namespace.get(job.job.namespace, ()) if concerns_job(quota, job)]

    def _exceeded(self, quota: wire.ResourceQuota, job: SessionJob, minimum: wire.ResourceList) -> list[str]:
        """Return the sorted names in which a job exceeds a quota, in addition to used and enqueued amounts."""
        admitted, names = self._admitted.get(quota.metadata.key, {}), []
        for name in sorted(minimum.keys() & quota.status.hard.keys()):
            used = _amount_of(quota.status.used.get(name, "0"))
            more = _missing(job, name, used)
            if more and used + admitted.get(name, 0) + more > _amount_of(quota.status.hard[name]):
                names.append(name)
        return names


def _shown(amounts: wire.ResourceList, names: Iterable[str]) -> str:
    return f"map[{' '.join(f'{name}:{amounts.get(name, 0)}' for name in names)}]"


def _missing(job: SessionJob, name: str, used: Fraction) -> Fraction:
    """Return the part of a job's minimum that a quota does not count yet, in one resource.

    The API server counts a pod when it is created, so `status.used` of a quota includes the job's own pods.

    Args:
        job: The job.
        name: The resource, as the quota names it.
        used: Total usage of the quota, an upper limit of the job's own part.
    """
    minimum = _amount_of((job.job.group.spec.min_resources or {}).get(name, "0"))
    own = sum((_use(task, name) for task in job.tasks.values() if task.status not in _ENDED), start=Fraction(0))
    return max(minimum - min(own, used), Fraction(0))


def _amount_of(text: wire.Quantity) -> Fraction:
    """Parse a quantity exactly; an invalid one counts as 0."""
    try:
        return parse(text)
    except QuantityError:
        return Fraction(0)


def _use(task: Task, name: str) -> Fraction:
    """Return the usage of a pod in a quota's resource, as Kubernetes' quota controller counts it."""
    if name in _COUNTS:
        return Fraction(1)
    if name.startswith("limits."):
        return _limit(task.pod, name.removeprefix("limits."))
    return Fraction(task.template.request.get(name.removeprefix("requests."), 0), MILLI)


def _limit(pod: wire.Pod, name: str) -> Fraction:
    """Return a pod's effective limit: its pod-level limit, or the combined limit of its containers."""
    overhead = _amount_of(pod.spec.overhead.get(name, "0"))
    if pod.spec.resources is not None and name in pod.spec.resources.limits:
        return _amount_of(pod.spec.resources.limits[name]) + overhead
    regular, initial = (
        [
            ContainerAmounts({name: _amount_of(each.resources.limits.get(name, "0"))}, each.restart_policy == "Always")
            for each in containers
        ]
        for containers in (pod.spec.containers, pod.spec.init_containers)
    )
    return combined(regular, initial).get(name, Fraction(0)) + overhead
