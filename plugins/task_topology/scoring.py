"""Scoring: the number of tasks of a bucket that a node runs or can run."""

from typing import Final

import numpy as np

from pyroclast.framework.state.nodes import NodeColumns, SessionNodes
from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.tasks import Task
from pyroclast.plugins.task_topology.buckets import Bucket, Buckets, role_of

__all__ = ["company", "removals", "scores"]

MAX_SCORE: Final = 100


def scores(buckets: Buckets, bucket: Bucket, task: Task, columns: NodeColumns, nodes: SessionNodes) -> FloatArray:
    """Score nodes for a task of a bucket, before the plugin's weight, shape (n,)."""
    room = columns.idle + columns.releasing
    fits = (nodes.needs(task.template).thresholds <= room).all(axis=0)
    near = company(buckets, bucket, role_of(task), len(nodes))[columns.index]
    left = len(bucket.pending) - removals(bucket, task, room)
    return np.where(fits, near + left, 0) * MAX_SCORE / max(buckets.largest, 1)


def company(buckets: Buckets, bucket: Bucket, role: str, nodes: int) -> IntArray:
    """Count the tasks of a bucket by node, less the new tasks of roles with anti-affinity."""
    counts = np.zeros(nodes, dtype=np.int64)
    for column, count in bucket.bound.items():
        if column >= 0:
            counts[column] += count
    for other, placed in buckets.placed.items():
        if (role, other) in buckets.relations.apart:
            for column, count in placed.items():
                counts[column] -= count
    return counts


def removals(bucket: Bucket, task: Task, room: IntArray) -> IntArray:
    """Count by node the other pending tasks of a bucket that must be left out, last first, until the rest fits.

    Args:
        bucket: Bucket of the task.
        task: The task, which is not left out.
        room: Free amounts of each node, base units, shape (R, n).
    """
    rows = np.union1d(np.flatnonzero(bucket.request), [0, 1])
    if (bucket.request[rows, None] <= room[rows]).all():
        return np.zeros(room.shape[1], dtype=np.int64)
    taken = [np.zeros_like(bucket.request), *(needs.request for needs in bucket.others(task.id))]
    remaining = bucket.request[:, None] - np.cumsum(np.array(taken).T, axis=1)
    found: IntArray = np.zeros(room.shape[1], dtype=np.int64)
    for row in rows.tolist():
        # The remaining request decreases, so the first count that fits is found by binary search.
        np.maximum(found, np.searchsorted(-remaining[row], -room[row]), out=found)
    return np.minimum(found, len(taken) - 1)
