"""Jobs: pod groups with their pods, and a table of counts and amounts per job.

A job's phase, as Volcano writes it::

    Pending ──admitted by enqueue──→ Inqueue ──minimum scheduled──→ Running ──all finished──→ Completed
       ↑                                ╎                             ╎
       └───────── fewer than the minimum left, nothing in the queue ──┘   Unknown: runs, but below its minimum
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from pyroclast.model import wire
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.native import NativeGroup
from pyroclast.model.resources import Amounts
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["MANY_TEMPLATES", "NO_NAMESPACE", "NO_QUEUE", "NO_TEMPLATE", "Departed", "Job", "JobTable"]

NO_QUEUE: Final = -1
"""Queue number of a job whose queue is unknown."""
NO_NAMESPACE: Final = -1
"""Namespace number of a column without a job."""
NO_TEMPLATE: Final = -1
"""Template number of a job without pending tasks."""
MANY_TEMPLATES: Final = -2
"""Template number of a job whose pending tasks have several templates, or rules about other pods that refused them."""


class Departed(NamedTuple):
    """Members of a gang that have ended and whose pods are gone."""

    succeeded: int
    failed: int

    @property
    def total(self) -> int:
        """Number of departed members."""
        return self.succeeded + self.failed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """One PodGroup and the pods that name it."""

    id: JobId
    uid: str
    """UID of the PodGroup."""
    namespace: str
    name: str
    queue: QueueName
    priority: int
    """Value of the priority class it names, else of the default class, else 0."""
    lacks_priority_class: bool
    """Whether there is no class of the name that it gives."""
    min_available: int
    """`spec.minMember`."""
    min_by_role: Mapping[str, int]
    """`spec.minTaskMember`; empty means no minimum by role."""
    min_resources: Amounts | None
    """`spec.minResources`; None means that nothing is reserved when it is enqueued."""
    phase: PodGroupPhase
    created: float
    """Creation of the PodGroup, seconds since 1970."""
    waiting_seconds: float | None
    """`volcano.sh/sla-waiting-time` of the PodGroup; None if absent or invalid."""
    preemptable: bool | None
    """`volcano.sh/preemptable` of the PodGroup; None if unset."""
    revocable_zone: str
    tasks: Mapping[TaskId, Task]
    column: int
    """Its column in the job table."""
    group: wire.PodGroup
    """The PodGroup as the API server gave it: annotations, conditions, sub-group policies, topology."""
    waiting: frozenset[tuple[int, int]]
    """Numbers of the templates of its pending tasks, each with the number of these tasks."""
    refused_by_others: int = 0
    """Pending tasks with rules about other pods that have no node according to their condition."""
    lent: int = 0
    """Tasks on resources that the job's queue borrowed."""
    is_made_up: bool = False
    """Whether the PodGroup exists only here, for a single pod or for gangs. Its status is never written."""
    native: NativeGroup | None = None
    """The PodGroup of `scheduling.k8s.io` for which the group is made up; None for other jobs."""

    @property
    def lasting_name(self) -> str:
        """Return `namespace/name`, with the controller's name where the group is named after the controller's UID.

        A second creation of the same manifests keeps it; UIDs are drawn anew.
        """
        if not self.group.metadata.owner_references:
            return self.id
        controller = self.group.metadata.controller
        if controller is None or not controller.uid or not self.name.endswith(controller.uid):
            return self.id
        return f"{self.namespace}/{controller.name}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobTable:
    """Counts and amounts per job, one column each. R resources, J columns, write-protected.

    Columns of jobs that are not in the snapshot (no PodGroup, unknown queue) have queue number `NO_QUEUE`.
    """

    jobs: tuple[Job | None, ...]
    """The job of each column; None if the snapshot does not hold it."""
    revision: IntArray
    """Changes whenever anything of a job changes and is never used twice, shape (J,): equal revisions, equal jobs."""
    queue: IntArray
    """Queue number (position in `Snapshot.queue_names`), shape (J,)."""
    counts: IntArray
    """Tasks by status, shape (len(TaskStatus), J)."""
    pending_best_effort: IntArray
    """Best-effort pending tasks, shape (J,)."""
    allocated: IntArray
    """Requests of tasks in an allocated status as far as their nodes offer it, base units, shape (R, J)."""
    uncounted: IntArray
    """Requests of those tasks beyond that, base units, shape (R, J)."""
    pending: IntArray
    """Requests of pending tasks, base units, shape (R, J)."""
    total: IntArray
    """Requests of all tasks, base units, shape (R, J)."""
    gated: IntArray
    """Requests of tasks with scheduling gates other than the queue's own, base units, shape (R, J)."""
    min_resources: IntArray
    """`spec.minResources`, base units, shape (R, J); zero if unset."""
    has_min_resources: BoolArray
    """Whether `spec.minResources` is set, shape (J,)."""
    min_available: IntArray
    """`spec.minMember`, shape (J,)."""
    phase_inqueue: BoolArray
    """Phase is `Inqueue`, shape (J,)."""
    phase_running: BoolArray
    """Phase is `Running`, shape (J,)."""
    phase_pending: BoolArray
    """Phase is `Pending`, shape (J,)."""
    rank: FloatArray
    """Order of the jobs by their ids, shape (J,)."""
    namespace: IntArray
    """Number of the namespace, which has no meaning beyond this table, shape (J,)."""
    priority: IntArray
    """`Job.priority`, shape (J,)."""
    created: FloatArray
    """`Job.created`, shape (J,)."""
    waiting_template: IntArray
    """Number of the only template of the pending tasks, or `NO_TEMPLATE` or `MANY_TEMPLATES`, shape (J,)."""

    @property
    def has_several_namespaces(self) -> bool:
        """Whether there are jobs of more than one namespace."""
        numbers = self.namespace[self.namespace != NO_NAMESPACE]
        return bool(numbers.size) and bool((numbers != numbers[0]).any())

    def by_queue(self, amounts: IntArray, queues: int) -> IntArray:
        """Add up columns by queue.

        Args:
            amounts: Any array of this table, shape (R, J).
            queues: Number of queues.

        Returns:
            Sums, shape (R, queues), exact.
        """
        columns = np.flatnonzero((self.queue != NO_QUEUE) & amounts.any(axis=0))
        sums = np.zeros((amounts.shape[0], queues), dtype=np.int64)
        if columns.size:
            # sixteen bits sort by counting, which is many times faster; there are never so many queues
            numbers = self.queue[columns].astype(np.int16)
            order = np.argsort(numbers, kind="stable")
            ordered = numbers[order]
            begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
            sums[:, ordered[begins]] = np.add.reduceat(amounts[:, columns[order]], begins, axis=1)
        return sums

    def select(self, mask: BoolArray) -> list[Job]:
        """Return the jobs of the snapshot in the columns of a mask, shape (J,), in the order of their ids."""
        return list(self.jobs_in(self.in_order(mask)))

    def in_order(self, mask: BoolArray) -> IntArray:
        """Return the columns of a mask, shape (J,), in the order of the ids of their jobs."""
        columns = np.flatnonzero(mask & (self.namespace != NO_NAMESPACE))
        ordered: IntArray = columns[np.argsort(self.rank[columns])] if columns.size > 1 else columns
        return ordered

    def jobs_in(self, columns: IntArray) -> Iterator[Job]:
        """Iterate over the jobs in some columns."""
        return (job for column in columns.tolist() if (job := self.jobs[column]) is not None)

    def by_namespace(self, columns: IntArray) -> Mapping[str, IntArray]:
        """Divide columns of jobs by namespace. Namespaces are in the order of their names, columns in the given one."""
        numbers = self.namespace[columns]
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        begins = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        parts = np.split(columns[order], begins) if columns.size else []
        named = {job.namespace: part for part in parts if (job := self.jobs[int(part[0])]) is not None}
        return dict(sorted(named.items()))

    def ready_counts(self) -> IntArray:
        """Return how many tasks of each job count towards its minimum, shape (J,)."""
        rows = [TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.RUNNING, TaskStatus.ALLOCATED, TaskStatus.SUCCEEDED]
        ready: IntArray = self.counts[rows].sum(axis=0)
        return ready
