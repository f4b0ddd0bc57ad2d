"""Uses: requests and usage of pods, by the properties that decide their elastic quota."""

from dataclasses import dataclass
from typing import NamedTuple

from pyroclast.model.arrays import IntArray
from pyroclast.model.elastic.names import PREEMPTIBLE, QUOTA_NAME
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Claim", "QuotaUses", "claim_of", "counts", "is_preemptible"]

_ENDED = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})


class Claim(NamedTuple):
    """Properties of pods that decide which quota they use."""

    label: str
    """The quota that they name, or empty."""
    namespace: str
    is_preemptible: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuotaUses:
    """Sums over all pods that have not ended, by claim. R resources, K claims, arrays write-protected.

    Pods that have ended do not count. A pod that is being deleted counts as requested until it is gone, so that an
    eviction changes no quota's fair share. It does not count as used: its resources are already free for other pods.
    """

    claims: tuple[Claim, ...]
    """Ascending."""
    requested: IntArray
    """Requests of pods, on nodes or not, base units, shape (R, K)."""
    used: IntArray
    """Requests of pods on nodes, base units, shape (R, K)."""


def claim_of(task: Task) -> Claim:
    """Return the properties that decide which quota a task uses."""
    return Claim(task.pod.metadata.labels.get(QUOTA_NAME, ""), task.namespace, is_preemptible(task))


def is_preemptible(task: Task) -> bool:
    """Return whether a quota may evict a task."""
    return task.pod.metadata.labels.get(PREEMPTIBLE) != "false"


def counts(task: Task) -> tuple[bool, bool]:
    """Return whether a task counts as requested, and whether it counts as used."""
    asks = task.status not in _ENDED
    return asks, asks and task.node is not None and task.status is not TaskStatus.RELEASING
