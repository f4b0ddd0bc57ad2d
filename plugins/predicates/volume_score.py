"""Volume score: score nodes by the utilization of their storage with the claims of a task, by a shape.

Only with Kubernetes' feature StorageCapacityScoring, which is alpha and off. For each storage class of the claims that
would get an existing volume on a node, `utilization = asked * 100 / capacity` (whole percent; 100 if the capacity
is 0 or less than asked). If no claim would, the same over the storage that is left for provisioning. The shape
maps it to 0 to 100; the score is the mean over classes, rounded, times the weight.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.resources import MILLI
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates.arguments import ShapePoint
from pyroclast.plugins.predicates.claims import class_name
from pyroclast.plugins.predicates.provisioning import storage_left
from pyroclast.plugins.predicates.static_volumes import requested_storage
from pyroclast.plugins.predicates.volume_binding import VolumeBinding

__all__ = ["StorageUse", "VolumeScore", "mean_scores", "score_of", "utilization"]

_FULL: Final = 100
_SCORE_STEP: Final = 10
"""Factor of the shape's scores, which range from 0 to 10."""
_MOST: Final = 2**56
"""Larger amounts are cut to this value, so that a hundredfold stays within 64 bits."""


class StorageUse(NamedTuple):
    """Use of one storage class by claims, bytes, shapes (N,)."""

    asked: IntArray
    """Requested storage; 0 on nodes where the class does not count."""
    capacity: IntArray


def utilization(asked: IntArray, capacity: IntArray) -> IntArray:
    """Return the utilization of capacities in whole percent, rounded down; arrays of one shape, in bytes."""
    asked, capacity = np.minimum(asked, _MOST), np.minimum(capacity, _MOST)
    full = (capacity == 0) | (asked > capacity)
    return np.where(full, _FULL, asked * _FULL // np.maximum(capacity, 1))


def score_of(percent: int, shape: Sequence[ShapePoint]) -> int:
    """Return the score of a shape, linear between its points and constant outside.

    Args:
        percent: Utilization, 0 to 100.
        shape: At least one point, utilization ascending.

    Returns:
        0 to 100, a fraction rounded towards the point on the left.
    """
    if percent <= shape[0].utilization:
        return shape[0].score * _SCORE_STEP
    for left, right in pairwise(shape):
        if percent <= right.utilization:
            rise = (right.score - left.score) * _SCORE_STEP * (percent - left.utilization)
            step = abs(rise) // (right.utilization - left.utilization)
            return left.score * _SCORE_STEP + (step if rise >= 0 else -step)
    return shape[-1].score * _SCORE_STEP


def mean_scores(uses: Sequence[StorageUse], shape: Sequence[ShapePoint], nodes: int) -> IntArray:
    """Return the mean score of each node over classes, halves rounded up, shape (nodes,); 0 without a class."""
    table = np.array([score_of(percent, shape) for percent in range(_FULL + 1)], dtype=np.int64)
    total = np.zeros(nodes, dtype=np.int64)
    classes = np.zeros(nodes, dtype=np.int64)
    for use in uses:
        counts = use.asked > 0
        total += np.where(counts, table[utilization(use.asked, use.capacity)], 0)
        classes += counts
    means: IntArray = (2 * total + classes) // np.maximum(2 * classes, 1)
    return means


class VolumeScore:
    """Scores nodes by the storage that a task's claims would use there."""

    def __init__(self, session: Session, binding: VolumeBinding, shape: Sequence[ShapePoint], weight: int) -> None:
        self._objects = session.snapshot.objects
        self._facts = session.nodes.facts
        self._binding = binding
        self._shape = shape
        self._weight = weight

    def scores(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Score nodes, shape (columns,); None if a task has no unbound claims."""
        offers = self._binding.offers(task)
        if not offers:
            return None
        uses = self._existing(offers)
        has_volume = np.any([use.asked > 0 for use in uses], axis=0)
        uses += [
            StorageUse(np.where(has_volume, 0, use.asked), use.capacity)
            for use in self._provisioned([each[0] for each in offers])
        ]
        means = mean_scores(uses, self._shape, len(self._facts.nodes))
        return (self._weight * means[columns.index]).astype(np.float64)

    def _existing(self, offers: Sequence[tuple[wire.PersistentVolumeClaim, IntArray]]) -> list[StorageUse]:
        by_class: dict[str, StorageUse] = {}
        for claim, capacity in offers:
            asked = np.where(capacity > 0, requested_storage(claim) // MILLI, 0)
            known = by_class.get(class_name(claim))
            both = StorageUse(asked, capacity) if known is None else StorageUse(known[0] + asked, known[1] + capacity)
            by_class[class_name(claim)] = both
        return list(by_class.values())

    def _provisioned(self, claims: Sequence[wire.PersistentVolumeClaim]) -> Iterator[StorageUse]:
        asked = Counter[str]()
        for claim in claims:
            asked[class_name(claim)] += requested_storage(claim) // MILLI
        for name, amount in asked.items():
            left = storage_left(name, self._objects, self._facts)
            yield StorageUse(np.where(left > 0, amount, 0), left)
