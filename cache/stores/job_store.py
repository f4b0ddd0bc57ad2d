"""Job store: tasks by job, the PodGroups of jobs, and the columns of jobs.

An entry is created when a pod or a PodGroup first names a job. The job is in the snapshot when it has a valid PodGroup
and a known queue. Until then its pending pods are orphans, and their reason is reported.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from pyroclast.cache.stores.amounts.columns import Matrix, frozen
from pyroclast.cache.stores.amounts.uncounted import Uncounted
from pyroclast.cache.stores.job_facts import JobFacts, JobsInOrder
from pyroclast.cache.stores.priorities import PriorityClasses
from pyroclast.cache.translation.template_deltas import JOB_SEGMENTS, TemplateDeltas
from pyroclast.cache.translation.translate import GroupFacts
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.jobs import NO_QUEUE, Job, JobTable
from pyroclast.model.matching.bounds import has_rules_about_pods
from pyroclast.model.resources import Amounts, ResourceSpace
from pyroclast.model.tasks import ALLOCATED_STATUSES, READY_STATUSES, Task, TaskStatus, by_name

__all__ = ["JobEntry", "JobStore"]

_ENDED: Final = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
_MIN_AVAILABLE, _HAS_MIN_RESOURCES, _INQUEUE, _RUNNING, _QUEUE, _PENDING = range(6)
_ALLOCATED_SEGMENT, _MIN_RESOURCES_SEGMENT, _FIXED_SEGMENT = 2, 6, 7


@dataclass(slots=True, eq=False)
class JobEntry:
    """A job that a PodGroup or a pod names."""

    id: JobId
    column: int
    facts: GroupFacts | None = None
    fault: ObjectError | None = None
    """Why its PodGroup cannot be used."""
    is_made_up: bool = False
    """Whether its group stands for a single pod or for gangs, and is not an object of the cluster."""
    tasks: dict[TaskId, Task] = field(default_factory=dict)
    is_sorted: bool = True

    def frozen_tasks(self) -> Mapping[TaskId, Task]:
        """Return a copy of the tasks, in the order of their names."""
        if not self.is_sorted:
            self.tasks = {task.id: task for task in sorted(self.tasks.values(), key=by_name)}
            self.is_sorted = True
        return MappingProxyType(self.tasks.copy())

    def ready_count(self) -> int:
        """Return the number of tasks that count towards the minimum."""
        return sum(task.status in READY_STATUSES for task in self.tasks.values())

    def living(self) -> Iterator[Task]:
        """Return the tasks that have not ended."""
        return (task for task in self.tasks.values() if task.status not in _ENDED)

    def failed_count(self) -> int:
        """Return the number of tasks whose containers failed. A pod that its node refused or evicted has a reason."""
        return sum(task.status is TaskStatus.FAILED and not task.pod.status.reason for task in self.tasks.values())


class JobStore:
    """Jobs and their tasks."""

    def __init__(self, space: ResourceSpace, *, caps_priority: bool = False) -> None:
        """Start without jobs; `caps_priority` limits their priorities to those of their pods."""
        self._space = space
        self._caps_priority = caps_priority
        self._matrix = Matrix(JOB_SEGMENTS, space)
        self._entries: dict[JobId, JobEntry] = {}
        self._changed: set[JobId] = set()
        self._jobs: dict[JobId, Job] = {}
        self._outside: set[JobId] = set()
        self._copied_group_columns: tuple[IntArray, IntArray, BoolArray] | None = None
        self._by_column: list[Job | None] = []
        self._facts = JobFacts()
        self._revisions = np.zeros(0, dtype=np.int64)
        self._revision = 0

    def add(self, task: Task, deltas: TemplateDeltas) -> None:
        """Add a task to its job."""
        assert task.job is not None
        entry = self._entry(task.job)
        self._matrix.values[:, entry.column] += _delta(task, deltas)
        entry.tasks[task.id] = task
        entry.is_sorted = False

    def remove(self, task: Task, deltas: TemplateDeltas) -> None:
        """Remove a task from its job."""
        assert task.job is not None
        entry = self._entry(task.job)
        self._matrix.values[:, entry.column] -= _delta(task, deltas)
        del entry.tasks[task.id]
        self._tidy(entry)

    def exchange(self, old: Task, new: Task, deltas: TemplateDeltas) -> None:
        """Replace an older state of a task by a newer one in the same job."""
        assert new.job is not None
        entry = self._entry(new.job)
        before, after = _delta(old, deltas), _delta(new, deltas)
        if before is not after:
            self._matrix.values[:, entry.column] += after - before
        entry.tasks[new.id] = new

    def set_group(
        self, job: JobId, facts: GroupFacts | None, *, fault: ObjectError | None = None, is_made_up: bool = False
    ) -> None:
        """Set the group of a job, or the fault of its group, or remove the group."""
        if facts is None and fault is None and job not in self._entries:
            return
        entry = self._entry(job)
        entry.facts, entry.fault, entry.is_made_up = facts, fault, is_made_up
        self._write_fixed(entry)
        self._tidy(entry)

    def entry(self, job: JobId) -> JobEntry | None:
        """Return the entry of a job; None if the job is unknown."""
        return self._entries.get(job)

    def mark(self, job: JobId) -> None:
        """Mark a job as changed."""
        self._changed.add(job)

    def mark_all(self) -> None:
        """Mark all jobs as changed, after a change of queues or priority classes."""
        self._changed.update(self._entries)

    def respace(self, space: ResourceSpace) -> None:
        """Move the amounts to another resource space."""
        self._matrix.respace(space)
        self._space = space
        self._copied_group_columns = None

    def min_resources(self) -> Iterator[Amounts]:
        """Yield the minimum resources of all groups that set them."""
        for entry in self._entries.values():
            if entry.facts is not None and entry.facts.min_resources is not None:
                yield entry.facts.min_resources

    def refresh(self, queue_numbers: Mapping[QueueName, int], priorities: PriorityClasses) -> None:
        """Make the changed jobs of the snapshot again."""
        for job_id in self._changed:
            entry = self._entries.get(job_id)
            number = NO_QUEUE
            if entry is not None and entry.facts is not None:
                number = queue_numbers.get(entry.facts.queue, NO_QUEUE)
            if entry is not None:
                self._write_queue(entry.column, number)
            if entry is None or number == NO_QUEUE:
                gone = self._jobs.pop(job_id, None)
                if gone is not None and self._by_column[gone.column] is gone:
                    self._show(gone.column, None)
            else:
                known = self._jobs.get(job_id)
                if known is not None and known.column != entry.column and self._by_column[known.column] is known:
                    self._show(known.column, None)
                job = self._jobs[job_id] = _job(entry, self._priority(entry, priorities))
                self._show(entry.column, job)
            if entry is None or number != NO_QUEUE:
                self._outside.discard(job_id)
            else:
                self._outside.add(job_id)
        self._changed.clear()

    def jobs(self) -> Mapping[JobId, Job]:
        """Return the jobs of the snapshot, in the order of their ids."""
        return JobsInOrder(self._jobs.copy(), self._facts.order())

    def outside(self) -> Iterable[JobEntry]:
        """Return the jobs that are not in the snapshot, in the order of their ids."""
        return (self._entries[job] for job in sorted(self._outside))

    def table(self, uncounted: Iterable[Uncounted]) -> JobTable:
        """Return a copy of the numbers per job. The numbers of groups are copied only after a change of a group."""
        *counted, min_resources, _ = self._matrix.slices
        values = self._matrix.values[: min_resources.start, : self._matrix.columns].copy()
        beyond = self._take_out(uncounted, values[counted[_ALLOCATED_SEGMENT]])
        frozen(values)
        counts, best_effort, allocated, pending, total, gated = (values[each] for each in counted)
        minimums, fixed, masks = self._group_columns()
        unseen = self._matrix.columns - len(self._by_column)
        return JobTable(
            jobs=(*self._by_column, *([None] * unseen)),
            revision=frozen(np.append(self._revisions, np.zeros(unseen, dtype=np.int64))),
            queue=fixed[_QUEUE],
            counts=counts,
            pending_best_effort=best_effort[0],
            allocated=allocated,
            uncounted=beyond,
            pending=pending,
            total=total,
            gated=gated,
            min_resources=minimums,
            has_min_resources=masks[0],
            min_available=fixed[_MIN_AVAILABLE],
            phase_inqueue=masks[1],
            phase_running=masks[2],
            phase_pending=masks[3],
            **self._facts.copies(self._matrix.columns),
        )

    def _take_out(self, uncounted: Iterable[Uncounted], allocated: IntArray) -> IntArray:
        """Subtract the uncounted amounts from the allocated ones, and return them, shape (R, J)."""
        beyond: IntArray = np.broadcast_to(np.int64(0), allocated.shape)
        for task, amounts in uncounted:
            if task.job is None or task.status not in ALLOCATED_STATUSES:
                continue
            column = self._entries[task.job].column
            if not beyond.flags.writeable:
                beyond = beyond.copy()
            beyond[:, column] += amounts
            allocated[:, column] -= amounts
        return frozen(beyond)

    def _group_columns(self) -> tuple[IntArray, IntArray, BoolArray]:
        """Return copies of the minimum resources, the fixed numbers, and the booleans among these."""
        if self._copied_group_columns is None or self._copied_group_columns[1].shape[1] != self._matrix.columns:
            *_, min_resources, fixed_rows = self._matrix.slices
            fixed = frozen(self._matrix.values[fixed_rows, : self._matrix.columns].copy())
            masks = fixed[[_HAS_MIN_RESOURCES, _INQUEUE, _RUNNING, _PENDING]].astype(bool)
            masks.flags.writeable = False
            minimums = frozen(self._matrix.values[min_resources, : self._matrix.columns].copy())
            self._copied_group_columns = (minimums, fixed, masks)
        return self._copied_group_columns

    def _priority(self, entry: JobEntry, priorities: PriorityClasses) -> "_Priority":
        """Return the priority of a job: its own or that of its class, limited by its pods if `caps_priority` is set."""
        facts = entry.facts
        assert facts is not None
        name = facts.group.spec.priority_class_name
        value = priorities.value_of(name) if facts.priority is None else facts.priority
        if self._caps_priority:
            # Quotas on priority classes limit pods, not groups. A group without pods has nothing to place.
            value = min(value, max((_priority_of(task, priorities) for task in entry.living()), default=value))
        return _Priority(value, priorities.lacks(name))

    def _show(self, column: int, job: Job | None) -> None:
        """Set the job of a column, with a new revision."""
        if column >= len(self._by_column):
            missing = self._matrix.columns - len(self._by_column)
            self._by_column.extend([None] * missing)
            self._revisions = np.append(self._revisions, np.zeros(missing, dtype=np.int64))
        self._revision += 1
        self._facts.show(column, self._by_column[column], job)
        self._by_column[column] = job
        self._revisions[column] = self._revision

    def _write_queue(self, column: int, number: int) -> None:
        row = self._matrix.slices[_FIXED_SEGMENT].start + _QUEUE
        if self._matrix.values[row, column] != number:
            self._matrix.values[row, column] = number
            self._copied_group_columns = None

    def _entry(self, job: JobId) -> JobEntry:
        """Return the entry of a job, create it if it is missing, and mark it as changed."""
        self._changed.add(job)
        entry = self._entries.get(job)
        if entry is None:
            entry = self._entries[job] = JobEntry(job, self._matrix.take())
        return entry

    def _tidy(self, entry: JobEntry) -> None:
        """Remove the entry of a job without a group and without tasks."""
        if entry.facts is None and entry.fault is None and not entry.tasks:
            self._matrix.give_back(entry.column)
            # A free column has no queue, so that sums by queue ignore it.
            self._write_queue(entry.column, NO_QUEUE)
            del self._entries[entry.id]

    def _write_fixed(self, entry: JobEntry) -> None:
        self._copied_group_columns = None
        facts, column = entry.facts, entry.column
        fixed = self._matrix.slices[_FIXED_SEGMENT].start
        minimum = facts.min_resources if facts is not None else None
        self._matrix.values[self._matrix.slices[_MIN_RESOURCES_SEGMENT], column] = self._space.vector(minimum or {})
        self._matrix.values[fixed + _HAS_MIN_RESOURCES, column] = minimum is not None
        self._matrix.values[fixed + _MIN_AVAILABLE, column] = 0 if facts is None else facts.min_available
        self._matrix.values[fixed + _INQUEUE, column] = facts is not None and facts.phase is PodGroupPhase.INQUEUE
        self._matrix.values[fixed + _RUNNING, column] = facts is not None and facts.phase is PodGroupPhase.RUNNING
        self._matrix.values[fixed + _PENDING, column] = facts is not None and facts.phase is PodGroupPhase.PENDING


class _Priority(NamedTuple):
    """The priority of a job, and whether its class is missing."""

    value: int
    lacks_class: bool


def _priority_of(task: Task, priorities: PriorityClasses) -> int:
    """Return the priority of a pod as the API server set it, without annotations."""
    spec = task.pod.spec
    return priorities.value_of(spec.priority_class_name) if spec.priority is None else spec.priority


def _delta(task: Task, deltas: TemplateDeltas) -> IntArray:
    return deltas.on_job(task.template, task.status, counts_as_gated=task.gated and not task.waits_for_queue_only)


def _job(entry: JobEntry, priority: "_Priority") -> Job:
    facts = entry.facts
    assert facts is not None
    metadata = facts.group.metadata
    return Job(
        id=entry.id,
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        queue=facts.queue,
        priority=priority.value,
        lacks_priority_class=priority.lacks_class,
        min_available=facts.min_available,
        min_by_role=facts.min_by_role,
        min_resources=facts.min_resources,
        phase=facts.phase,
        created=facts.created,
        waiting_seconds=facts.waiting_seconds,
        preemptable=facts.preemptable,
        revocable_zone=facts.revocable_zone,
        tasks=entry.frozen_tasks(),
        column=entry.column,
        group=facts.group,
        waiting=_waiting(entry.tasks.values()),
        refused_by_others=sum(
            task.status is TaskStatus.PENDING and has_rules_about_pods(task.template.spec) and _is_refused(task)
            for task in entry.tasks.values()
        ),
        lent=sum(task.has_lent_room for task in entry.tasks.values()),
        is_made_up=entry.is_made_up,
        native=facts.native,
    )


def _waiting(tasks: Iterable[Task]) -> frozenset[tuple[int, int]]:
    """Count pending tasks by the number of their template."""
    return frozenset(Counter(task.template.number for task in tasks if task.status is TaskStatus.PENDING).items())


def _is_refused(task: Task) -> bool:
    return any(each.type == "PodScheduled" and each.status == "False" for each in task.pod.status.conditions)
