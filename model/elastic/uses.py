"""Uses: what pods ask for and have, by what decides which elastic quota they belong to."""

from dataclasses import dataclass
from typing import NamedTuple

from pyroclast.model.arrays import IntArray
from pyroclast.model.elastic.names import PREEMPTIBLE, QUOTA_NAME
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Claim", "QuotaUses", "claim_of", "counts", "is_preemptible"]

_ENDED = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})


class Claim(NamedTuple):
    """What pods say that decides which quota they use."""

    label: str
    """The quota that they name, or empty."""
    namespace: str
    is_preemptible: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuotaUses:
    """Sums over all pods that live, by claim; R resources, K claims, arrays write-protected.

    Pods that have ended count nowhere. Those that are being deleted are asked for until they are gone, so that nobody's
    part changes because of an eviction, and are not used any more: their room is others' already.
    """

    claims: tuple[Claim, ...]
    """Ascending."""
    requested: IntArray
    """What pods ask for, on nodes or not, base units, shape (R, K)."""
    used: IntArray
    """What pods on nodes have, base units, shape (R, K)."""


def claim_of(task: Task) -> Claim:
    """Return what decides which quota a task uses."""
    return Claim(task.pod.metadata.labels.get(QUOTA_NAME, ""), task.namespace, is_preemptible(task))


def is_preemptible(task: Task) -> bool:
    """Tell whether quotas may have a task evicted."""
    return task.pod.metadata.labels.get(PREEMPTIBLE) != "false"


def counts(task: Task) -> tuple[bool, bool]:
    """Tell whether a task counts as asked for, and whether as used."""
    asks = task.status not in _ENDED
    return asks, asks and task.node is not None and task.status is not TaskStatus.RELEASING
