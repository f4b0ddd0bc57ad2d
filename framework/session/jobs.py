"""Jobs of a session: the jobs, their order, and the answers of plugins about them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Point
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.extension.votes import cast_votes, first_refusal
from pyroclast.framework.session.memory import Assignment, Settled
from pyroclast.framework.session.namespace_windows import NO_WINDOW, NamespaceWindow
from pyroclast.framework.session.ownership import OwnJobs
from pyroclast.framework.session.skipped_jobs import SkippedJobs
from pyroclast.framework.state.jobs import NONE_DEPARTED, SessionJob, SubJob
from pyroclast.framework.state.last_result import LastResult
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.jobs import NO_QUEUE, Job
from pyroclast.model.queues import with_ancestors
from pyroclast.model.refusals import Refusal
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task, TaskStatus, task_order_key

__all__ = ["SessionJobs"]

_MOST_FIRST_EXPLAINED: Final = 128
"""Maximum number of jobs that get the reason that they wait for their turn for the first time in one cycle."""


class SessionJobs:
    """The jobs of one session, and what is asked about them."""

    def __init__(
        self,
        snapshot: Snapshot,
        settled: Settled,
        extensions: Extensions,
        skipped: SkippedJobs,
        ownership: OwnJobs | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._ownership = ownership
        self._settled = settled
        self._extensions = extensions
        self._failed = extensions.note_failure
        self._caller = extensions.caller
        self.skipped = skipped
        """Jobs that are not tried again because nothing changed for them."""
        self.window = NO_WINDOW
        """Waiting jobs that are left out of this cycle, because their namespaces used up their shares."""
        self.skips_turns = False
        """Whether all jobs of namespaces that take turns are left out."""
        self._left_out: tuple[NamespaceWindow, IntArray] = NO_WINDOW, np.zeros(0, dtype=np.int64)
        """Their columns in the order of their ids, and of which window."""
        self._later: tuple[NamespaceWindow | None, BoolArray] = None, np.zeros(0, dtype=np.bool_)
        """Jobs that get this reason in later cycles, and the window that excluded them."""
        self._jobs: dict[JobId, SessionJob] = {}

    # Which there are --------------------------------------------------------------------------------------------------

    def get(self, job_id: JobId) -> SessionJob | None:
        """Return a job; None if the snapshot does not hold it."""
        known = self._jobs.get(job_id)
        if known is None:
            job = self._snapshot.jobs.get(job_id)
            return None if job is None else self._session_job(job)
        return known

    def all(self) -> Iterator[SessionJob]:
        """Iterate over all jobs, in the order of their ids."""
        return (self._session_job(job) for job in self._snapshot.jobs.values())

    def with_pending_tasks(self) -> Iterator[SessionJob]:
        """Iterate over jobs that have pending tasks in the snapshot, in the order of their ids.

        Jobs that found no place in the last cycle are passed over while nothing of them changed and no node, or not
        their queue, has capacity for any of their tasks. Another trial would have the same result, so their last
        reasons stand.
        """
        pending = self._waiting_here()
        return self._looked_at(pending & ~self.skipped.among(pending))

    def _waiting_here(self) -> BoolArray:
        """Return which jobs have pending tasks in the snapshot and are not left out, shape (J,)."""
        pending: BoolArray = self._snapshot.job_table.counts[TaskStatus.PENDING] > 0
        pending[self.left_out_columns()] = False
        return self.own(pending)

    def own(self, mask: BoolArray) -> BoolArray:
        """Return which jobs of a mask this profile decides about, shape (J,)."""
        return mask if self._ownership is None else self._ownership.among(mask)

    def is_own_pod(self, task: Task) -> bool:
        """Return whether this profile decides about a pod without a job."""
        return self._ownership is None or self._ownership.has(task)

    def left_out_columns(self) -> IntArray:
        """Return the columns of the jobs that are left out of this cycle, in the order of their ids."""
        if self.window is not self._left_out[0]:
            self._left_out = self.window, self.window.left_out(self._snapshot.job_table)
        return self._left_out[1]

    def admitted_with_pending_tasks(self) -> Iterator[SessionJob]:
        """Iterate over jobs past the gate that have pending tasks in the snapshot.

        Those passed over come too, for evictions may make room; but for jobs whose tasks are too great even for an
        empty node: trying them would come to the same end.
        """
        pending = self._waiting_here()
        if self.skipped.out_of_reach is not None:
            pending &= ~self.skipped.out_of_reach
        return (job for job in self._looked_at(pending) if not job.is_pending)

    def at_admission(self) -> Iterator[SessionJob]:
        """Iterate over jobs that wait to be admitted to their queue, in the order of their ids."""
        return (job for job in self._looked_at(self.awaiting_admission()) if job.is_pending)

    def awaiting_admission(self) -> BoolArray:
        """Return which jobs wait to be admitted in the snapshot, shape (J,)."""
        table = self._snapshot.job_table
        waiting: BoolArray = table.phase_pending & (table.queue != NO_QUEUE)
        if self.skips_turns:
            waiting[self.left_out_columns()] = False
        return self.own(waiting)

    def leave_out(self, window: NamespaceWindow) -> None:
        """Leave further jobs out of this cycle."""
        self._caller.for_actions("leave_out")
        self.window = self.window.joined(window)

    def known(self) -> Mapping[JobId, SessionJob]:
        """Return the jobs created so far."""
        return MappingProxyType(self._jobs)

    def to_close(self) -> list[SessionJob]:
        """Return the jobs whose status may have to be written: touched ones, and those not settled before."""
        mask = self._settled.unsettled(self._snapshot.job_table)
        mask &= ~self._explained_elsewhere(mask)
        for job in self._jobs.values():
            if job.touched:
                mask[job.job.column] = True
        return list(self._looked_at(self.own(mask)))

    def _explained_elsewhere(self, mask: BoolArray) -> BoolArray:
        """Return which jobs of a mask, shape (J,), can wait until later cycles: they only wait for their turn.

        Thousands of new ones would cost seconds of the first cycle. None of their pods has begun, so that nothing of
        them is to be written but why they wait.
        """
        if self._later[0] is not self.window:
            counts = self._snapshot.job_table.counts
            waits = np.zeros_like(mask)
            waits[self.left_out_columns()] = True
            waits &= mask & (counts.sum(axis=0) == counts[TaskStatus.PENDING])
            if not self.skips_turns:
                waits[np.flatnonzero(waits)[:_MOST_FIRST_EXPLAINED]] = False
            self._later = self.window, waits
        return self._later[1]

    def of(self, task: Task) -> SessionJob | None:
        """Return the job of a task."""
        return None if task.job is None else self.get(task.job)

    def is_left_out(self, job: SessionJob) -> bool:
        """Return whether a job is not tried because its namespace used up its share. Its last reasons stand."""
        return self.window.leaves_out(job.job)

    def recall_passed_over(self) -> None:
        """Restore the last reasons of skipped jobs whose status is to be written.

        These jobs have other changes, or the cluster does not show the last reasons yet.
        """
        self._caller.for_actions("recall_passed_over")
        for job in self.to_close():
            if self.skipped.is_passed_over(job):
                job.recall()

    def last_result(self, job: Job) -> LastResult | None:
        """Return the result of a job in the last cycle; None if the job changed since."""
        return self._settled.last_result(job, self._snapshot.job_table)

    def reasons_of_left_out(
        self,
    ) -> tuple[Mapping[JobId, tuple[Refusal, ...]], Mapping[TaskId, tuple[Refusal, ...]]]:
        """Return why the jobs that are left out of this cycle wait, and their tasks, each in the order of ids.

        That reason comes first, followed by those of its last result, unless the job changed since.
        """
        return self._settled.reasons_of_left_out(self._snapshot.job_table, self.window.numbers, self.window.refusals)

    def facts(self, name: str, of: Callable[[Job], int]) -> IntArray:
        """Return a fact about each job, computed from the job alone and only for changed ones, shape (J,)."""
        self._caller.for_actions("facts")
        return self._settled.facts(self._snapshot.job_table, name, of)

    def failed_search(self, job: SessionJob, key: bytes) -> Assignment | None:
        """Return what a search for places came to that found nothing, by a key of all that it depends on."""
        return self._settled.failed_search(job.id, key)

    def remember_search(self, job: SessionJob, key: bytes, found: Assignment) -> None:
        """Keep what a search for places came to that found nothing."""
        self._settled.remember_search(job.id, key, found)

    def _looked_at(self, mask: BoolArray) -> Iterator[SessionJob]:
        return (self._session_job(job) for job in self._snapshot.job_table.select(mask))

    def _session_job(self, job: Job) -> SessionJob:
        known = self._jobs.get(job.id)
        if known is None:
            table = self._snapshot.job_table
            known = self._jobs[job.id] = SessionJob(
                job,
                table,
                departed=self._snapshot.departed.get(job.id, NONE_DEPARTED),
                was_broken=job.id in self._snapshot.broken_gangs,
                last_result=self._settled.last_result(job, table),
                caller=self._caller,
            )
        return known

    def allocated_by_queue(self) -> dict[QueueName, IntArray]:
        """Add up what is allocated by queue, ancestors included, base units, each of shape (R,)."""
        names = self._snapshot.queue_names
        sums = self._snapshot.job_table.by_queue(self._snapshot.job_table.allocated, len(names))
        own = {name: sums[:, number].copy() for number, name in enumerate(names)}
        for job in self._jobs.values():
            if job.touched:
                own[job.queue] += job.allocated - self._snapshot.job_table.allocated[:, job.job.column]
        totals = {name: np.zeros(len(self._snapshot.resources), dtype=np.int64) for name in names}
        for name, amounts in own.items():
            for ancestor in with_ancestors(self._snapshot.queues, name):
                totals[ancestor] += amounts
        return totals

    # Orders -----------------------------------------------------------------------------------------------------------

    def pending_tasks(self, job: SessionJob) -> list[Task]:
        """Return a job's pending tasks, first to be placed first."""
        pending = list(job.in_status(TaskStatus.PENDING))
        if len(pending) > 1:
            pending.sort(key=self.task_order_key)
        return pending

    def order_key(self, job: SessionJob) -> tuple[Any, ...]:
        """Key by which jobs are ordered: plugins' keys, then age, then name.

        Of jobs that are equal to the plugins, those of namespaces that have used up their share are last.
        """
        plugins = self._extensions.keys(contract.JOB_ORDER, job)
        takes_turns = self.window.takes_turns(job.job.namespace)
        return (*plugins, takes_turns, job.job.created, job.job.lasting_name, job.id)

    def task_order_key(self, task: Task, *, across_jobs: bool = False) -> tuple[Any, ...]:
        """Key by which tasks of a job, or of several, are ordered: plugins' keys, then index in the name, age, name."""
        return (*self._extensions.keys(contract.TASK_ORDER, task, across_jobs=across_jobs), task_order_key(task))

    def sub_job_order_key(self, sub_job: SubJob) -> tuple[Any, ...]:
        """Key by which sub-jobs of a job are ordered: plugins' keys, then the value that made them, then id."""
        return (*self._extensions.keys(contract.SUB_JOB_ORDER, sub_job), sub_job.index, sub_job.id)

    # Answers ----------------------------------------------------------------------------------------------------------

    def job_valid(self, job: SessionJob) -> Refusal | None:
        """Return whether a job can be taken up: None, or why not."""
        return first_refusal(self._extensions.functions(contract.JOB_VALID), job, failed=self._failed)

    def job_ready(self, job: SessionJob) -> bool:
        """Return whether a job's places may be committed.

        A plugin that refuses although the counting plugins agree keeps the job from starting. Messages name it.
        """
        vetoed_by = ""
        for each in self._extensions.functions(contract.JOB_READY):
            if vetoed_by and each.missing is None:
                continue
            if not self._extensions.ask_or(each, False, job):
                if each.missing is not None:
                    return False
                vetoed_by = each.plugin
        job.vetoed_by = vetoed_by
        job.start_refused_by = job.start_refused_by or vetoed_by
        return not vetoed_by

    def missing(self, sub_job: SubJob) -> int:
        """Return the minimum number of placements before a sub-job can be ready, at least 1.

        A job without policy is its only part.
        """
        if not sub_job.job.has_sub_group_policy:
            return self.missing_of_job(sub_job.job)
        return self._missing(contract.SUB_JOB_READY, sub_job)

    def missing_of_job(self, job: SessionJob) -> int:
        """Count how many placements a job needs at least before it can be ready, at least 1."""
        return self._missing(contract.JOB_READY, job)

    def _missing(self, point: Point[Any], subject: SessionJob | SubJob) -> int:
        missing = (
            self._extensions.ask_or(each, 1, subject, asking=each.missing)
            for each in self._extensions.functions(point)
            if each.missing
        )
        most: int = max((1, *missing))
        return most

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        """Return whether a part of a job is ready; a job without policy is its only part."""
        if not sub_job.job.has_sub_group_policy:
            return self.job_ready(sub_job.job)
        return all(
            self._extensions.ask_or(each, False, sub_job) for each in self._extensions.functions(contract.SUB_JOB_READY)
        )

    def job_pipelined(self, job: SessionJob) -> bool:
        """Return whether a job's places may be held for capacity that is being released."""
        return cast_votes(self._extensions.tiers(contract.JOB_PIPELINED), job, failed=self._failed)[0]

    def sub_job_pipelined(self, sub_job: SubJob) -> bool:
        """The same for a part of a job."""
        if not sub_job.job.has_sub_group_policy:
            return self.job_pipelined(sub_job.job)
        return cast_votes(self._extensions.tiers(contract.SUB_JOB_PIPELINED), sub_job, failed=self._failed)[0]

    def job_starving(self, job: SessionJob) -> bool:
        """Return whether evictions may be made for a job; false if no plugin answers."""
        tiers = self._extensions.tiers(contract.JOB_STARVING)
        return bool(tiers) and all(self._extensions.ask_or(each, False, job) for each in tiers[0])

    def job_enqueueable(self, job: SessionJob) -> list[Refusal]:
        """Return the refusals of a job's admission to its queue; empty if it may be admitted."""
        permitted, refusals = cast_votes(self._extensions.tiers(contract.JOB_ENQUEUEABLE), job, failed=self._failed)
        return [] if permitted else refusals

    def job_enqueued(self, job: SessionJob) -> None:
        """Notify all plugins that a job was admitted by its queue."""
        self._caller.for_actions("job_enqueued")
        job.phase = PodGroupPhase.INQUEUE
        job.touched = True
        for each in self._extensions.functions(contract.JOB_ENQUEUED):
            self._extensions.ask_or(each, None, job)
