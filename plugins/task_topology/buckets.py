"""Buckets: groups of a job's tasks that should share a node."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.state.nodes import Needs
from pyroclast.model.api.names import TASK_SPEC
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.resources import MEMORY, MILLI, PODS
from pyroclast.model.tasks import Task
from pyroclast.plugins.task_topology.relations import Relations

__all__ = ["Bucket", "Buckets", "role_of", "weight_of"]

MIB: Final = 2**20


def role_of(task: Task) -> str:
    """Return the role of a task, from its pod's annotation, or an empty text."""
    return task.pod.metadata.annotations.get(TASK_SPEC, "")


def weight_of(request: Mapping[str, int]) -> int:
    """Return the weight of a request: thousandths of a core, MiB and thousandths of devices, in units of 2^-20."""
    return sum(_weight(name, thousandths) for name, thousandths in request.items())


def _weight(name: str, thousandths: int) -> int:
    if name == MEMORY:
        return thousandths // MILLI
    # Volcano counts a pod as one, everything else in thousandths.
    return thousandths // MILLI * MIB if name == PODS else thousandths * MIB


class Bucket:
    """Tasks that should share a node; R resources."""

    __slots__ = ("bound", "index", "order", "pending", "request")

    def __init__(self, index: int, resources: int) -> None:
        self.index = index
        """Number of the bucket in its job, oldest first."""
        self.order: dict[TaskId, Needs] = {}
        """Tasks that were not on a node at the session's start, in the order of placement."""
        self.pending: set[TaskId] = set()
        """Those of them that are not on a node now."""
        self.request: IntArray = np.zeros(resources, dtype=np.int64)
        """Total request of the pending tasks, base units, shape (R,)."""
        self.bound: dict[int, int] = {}
        """Number of tasks on nodes, by column."""

    def move(self, task: TaskId, column: int, step: int) -> None:
        """Note that a task of `order` was placed on a node (step 1) or removed from it (step -1)."""
        self.request = self.request - step * self.order[task].request
        if step > 0:
            self.pending.discard(task)
        else:
            self.pending.add(task)
        shift(self.bound, column, step)

    def others(self, task: TaskId) -> list[Needs]:
        """Return the needs of the other pending tasks, last first."""
        return [self.order[each] for each in reversed(self.order) if each in self.pending and each != task]


def shift(counts: dict[int, int], key: int, step: int) -> None:
    """Add to a count. Counts of 0 are removed."""
    counts[key] = counts.get(key, 0) + step
    if not counts[key]:
        del counts[key]


class Buckets:
    """The buckets of one job."""

    def __init__(self, relations: Relations, needs: Mapping[TaskId, Needs], resources: int) -> None:
        self.relations = relations
        self.of: dict[TaskId, Bucket] = {}
        """The bucket of each task that has one."""
        self.all: list[Bucket] = []
        self.largest = 0
        """Size of the largest bucket."""
        self.placed: dict[str, dict[int, int]] = {}
        """Number of tasks placed in this session, by role and column."""
        self._needs = needs
        self._resources = resources

    def fill(self, tasks: Iterable[Task], column: Mapping[NodeName, int]) -> None:
        """Group the tasks of the job by the state at the session's start."""
        chosen = [task for task in tasks if role_of(task) and role_of(task) in self.relations.ranks]
        on_nodes = sorted((task for task in chosen if task.node is not None), key=lambda task: (task.node, task.name))
        self._fill_by_node(on_nodes, column)
        waiting = [task for task in chosen if task.node is None]
        waiting.sort(key=lambda task: (*self.relations.urgency(role_of(task)), task.name))
        self._fill_by_affinity(on_nodes, waiting)
        sizes = [len(bucket.pending) + sum(bucket.bound.values()) for bucket in self.all]
        self.largest = max(sizes, default=0)

    def _fill_by_node(self, tasks: Sequence[Task], column: Mapping[NodeName, int]) -> None:
        by_node: dict[NodeName, Bucket] = {}
        for task in tasks:
            assert task.node is not None, "sorted out before"
            bucket = by_node.get(task.node)
            if bucket is None:
                bucket = by_node[task.node] = self._open()
            self.of[task.id] = bucket
            # A deleted node has no column: the task only counts for the size.
            shift(bucket.bound, column.get(task.node, -1), 1)

    def _fill_by_affinity(self, on_nodes: Sequence[Task], waiting: Sequence[Task]) -> None:
        roles = sorted({role_of(task) for task in (*on_nodes, *waiting)})
        row = {role: number for number, role in enumerate(roles)}
        attraction = np.array(
            [[self.relations.affinity(role, other) for other in roles] for role in roles], dtype=np.int64
        )
        room = len(self.all) + len(waiting)
        counts = np.zeros((len(roles), room), dtype=np.int64)
        weights = np.zeros(room, dtype=np.int64)
        for task in on_nodes:
            counts[row[role_of(task)], self.of[task.id].index] += 1
        for task in waiting:
            number = row[role_of(task)]
            index = best_bucket(attraction[number] @ counts[:, : len(self.all)], weights[: len(self.all)])
            bucket = self._open() if index is None else self.all[index]
            counts[number, bucket.index] += 1
            weights[bucket.index] += weight_of(task.template.request)
            self._put(bucket, task)

    def _open(self) -> Bucket:
        bucket = Bucket(len(self.all), self._resources)
        self.all.append(bucket)
        return bucket

    def _put(self, bucket: Bucket, task: Task) -> None:
        needs = self._needs[task.id]
        self.of[task.id] = bucket
        bucket.order[task.id] = needs
        bucket.pending.add(task.id)
        bucket.request = bucket.request + needs.request

    def move(self, tasks: Sequence[Task], columns: Sequence[int], step: int) -> None:
        """Note that tasks were placed (step 1), or that this was undone (step -1)."""
        for task, column in zip(tasks, columns, strict=True):
            role = role_of(task)
            if role:
                shift(self.placed.setdefault(role, {}), column, step)
            bucket = self.of.get(task.id)
            if bucket is not None and task.id in bucket.order:
                bucket.move(task.id, column, step)

    def key(self, task: Task) -> tuple[int, ...]:
        """Return a sort key: tasks that come first have smaller keys."""
        bucket = self.of.get(task.id)
        if bucket is None:
            return LAST
        return (0, -len(bucket.pending), bucket.index, *self.relations.urgency(role_of(task)))


LAST: Final = (1, 0, 0, 0, 0)
"""Key of a task without a bucket."""


def best_bucket(attraction: IntArray, weights: IntArray) -> int | None:
    """Return the bucket with the highest attraction, then the lightest, then the oldest; None if all repel.

    Args:
        attraction: Attraction of each bucket, shape (buckets,).
        weights: Weight of the requests in each bucket, shape (buckets,).
    """
    if not attraction.size or attraction.max() < 0:
        return None
    ties = np.flatnonzero(attraction == attraction.max())
    return int(ties[weights[ties].argmin()])
