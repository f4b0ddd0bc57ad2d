"""Usage: the part of a ResourceQuota that the existing pods of a job use already.

The API server counts a pod when it is created, so a quota's `status.used` includes the job's own pods, and only the
missing part of the job's minimum is added.
"""

from fractions import Fraction
from typing import Final

from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model import wire
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.requests import ContainerAmounts, combined
from pyroclast.model.resources import MILLI
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["amount_of", "missing"]

_ENDED: Final = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
_COUNTS: Final = frozenset({"pods", "count/pods"})


def missing(job: SessionJob, name: str, used: Fraction) -> Fraction:
    """Return the part of a job's minimum that a quota does not count yet, in one resource.

    Args:
        job: The job.
        name: The resource, as the quota names it.
        used: Total usage of the quota, an upper limit of the job's own part.
    """
    minimum = amount_of((job.job.group.spec.min_resources or {}).get(name, "0"))
    own = sum((_use(task, name) for task in job.tasks.values() if task.status not in _ENDED), start=Fraction(0))
    return max(minimum - min(own, used), Fraction(0))


def amount_of(text: wire.Quantity) -> Fraction:
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
    overhead = amount_of(pod.spec.overhead.get(name, "0"))
    if pod.spec.resources is not None and name in pod.spec.resources.limits:
        return amount_of(pod.spec.resources.limits[name]) + overhead
    regular, initial = (
        [
            ContainerAmounts({name: amount_of(each.resources.limits.get(name, "0"))}, each.restart_policy == "Always")
            for each in containers
        ]
        for containers in (pod.spec.containers, pod.spec.init_containers)
    )
    return combined(regular, initial).get(name, Fraction(0)) + overhead
