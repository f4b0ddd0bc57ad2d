"""Task-topology: score nodes for tasks of a job by affinity and anti-affinity of their roles.

Points: task order, node order; a ledger.  Arguments: `TaskTopologyArgs`.  Rules, formula and example:
docs/plugins/task-topology.md.
"""

from dataclasses import dataclass
from typing import Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Change, Ledger, Locality, Plugin, Verb
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray
from pyroclast.model.ids import JobId
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.task_topology.buckets import LAST, Buckets
from pyroclast.plugins.task_topology.relations import RelationsError, read_relations
from pyroclast.plugins.task_topology.scoring import scores

__all__ = ["TaskTopology", "TaskTopologyArgs"]


INVALID: Final = "TaskTopologyInvalid"
"""Reason of the event about invalid annotations of a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTopologyArgs:
    """Arguments of task-topology, spelled as in the configuration file."""

    weight: int = argument("task-topology.weight", 1)
    """Weight of this plugin's score; 0 disables it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTopology(Plugin):
    """Place roles of a job together or apart."""

    name = "task-topology"
    watches_clock = False
    args: TaskTopologyArgs = TaskTopologyArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        ledger = _BucketLedger(session, self.args.weight)
        session.extensions.register(contract.TASK_ORDER, self.name, ledger.key, within_job=True)
        session.extensions.register_ledger(self.name, ledger)
        if self.args.weight:
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                ledger.score,
                locality=Locality.GLOBAL,
                cares=ledger.has_bucket,
                weight=self.args.weight,
            )


class _BucketLedger(Ledger):
    """Buckets of the jobs of one session, created at the first use of a job; a ledger."""

    def __init__(self, session: Session, weight: int) -> None:
        self._session = session
        self._weight = weight
        self._jobs: dict[JobId, Buckets | None] = {}

    def _of(self, job: SessionJob) -> Buckets | None:
        if job.id not in self._jobs:
            self._jobs[job.id] = self._read(job)
        return self._jobs[job.id]

    def _read(self, job: SessionJob) -> Buckets | None:
        """Group the tasks of a job by the state at the session's start; None if the job has no topology."""
        tasks = job.job.tasks.values()
        if all(task.status is not TaskStatus.PENDING for task in tasks):
            return None
        try:
            relations = read_relations(job.annotations, {task.role for task in tasks}, job.id)
        except RelationsError as error:
            self._record_once(job, f"{error}; the job is scheduled without its task topology")
            return None
        if relations is None:
            return None
        nodes = self._session.nodes
        needs = {task.id: nodes.needs(task.template) for task in tasks}
        buckets = Buckets(relations, needs, len(self._session.resources))
        buckets.fill(tasks, nodes.table.column)
        return buckets

    def _record_once(self, job: SessionJob, message: str) -> None:
        """Record an event once, but not before the job's pods exist: until then roles may be missing."""
        is_there = job.valid_count >= job.min_available
        if is_there and self._session.report.is_news(f"{job.job.uid}/{INVALID}", message, job=job.id):
            self._session.report.group_event(job, "Warning", INVALID, message)

    def _of_task(self, task: Task) -> Buckets | None:
        job = self._session.jobs.of(task)
        return None if job is None else self._of(job)

    def has_bucket(self, task: Task) -> bool:
        """Return whether a task is in a bucket."""
        buckets = self._of_task(task)
        return buckets is not None and task.id in buckets.of

    def key(self, task: Task) -> tuple[int, ...]:
        """Order the tasks of a job: those of the fullest bucket first."""
        buckets = self._of_task(task)
        return LAST if buckets is None else buckets.key(task)

    def score(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Score nodes by the fraction of the bucket that they run or can run."""
        buckets = self._of_task(task)
        bucket = None if buckets is None else buckets.of.get(task.id)
        if buckets is None or bucket is None:
            return None
        return scores(buckets, bucket, task, columns, self._session.nodes) * self._weight

    def apply(self, change: Change) -> None:
        """Note placements. An evicted task stays on its node until it is deleted."""
        self._count(change, 1)

    def revert(self, change: Change) -> None:
        """Undo a change."""
        self._count(change, -1)

    def _count(self, change: Change, step: int) -> None:
        if change.verb is not Verb.EVICT:
            buckets = self._of(change.job)
            if buckets is not None:
                buckets.move(change.tasks, change.columns, step)
