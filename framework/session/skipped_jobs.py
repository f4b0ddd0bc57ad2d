"""Skipped jobs: those that are not tried again, since nothing changed for them since they found no room."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pyroclast.framework.candidates.candidate_nodes import CandidateNodes
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.queues import SessionQueues
from pyroclast.framework.state.caller import Caller
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.last_result import BlockingJobs
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId, QueueName
from pyroclast.model.jobs import Job
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict, SealedList
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["SkippedJobs"]


class SkippedJobs:
    """The jobs that one session does not try again."""

    def __init__(
        self,
        snapshot: Snapshot,
        settled: Settled,
        *,
        nodes: SessionNodes,
        candidates: CandidateNodes,
        queues: SessionQueues,
        caller: Caller,
    ) -> None:
        self._snapshot = snapshot
        self._settled = settled
        self._nodes = nodes
        self._candidates = candidates
        self._queues = queues
        self._caller = caller
        self.jobs: Sequence[Job] = ()
        """Jobs that are not tried again because nothing changed for them."""
        self.refreshed_reasons: SealedDict[tuple[QueueName | None, int | None, tuple[Any, ...]], Refusal] = SealedDict()
        """Reason that skipped jobs wait, with current amounts, by queue (if the queue is the cause) and template."""
        self.passed_by_share: SealedList[tuple[Task, Sequence[Job]]] = SealedList()
        """Skipped jobs that wait only because of their queue's share, with one of their equal tasks."""
        self.out_of_reach: BoolArray | None = None
        """Those jobs that no eviction helps, shape (J,); None before any job is skipped."""
        self._passed: tuple[Sequence[Job], frozenset[JobId]] | None = None

    def among(self, pending: BoolArray) -> BoolArray:
        """Return which of some jobs are not tried again, all of shape (J,), and keep them.

        They found no room in the last cycle, nothing of them changed, and no node, or not their queue, has room for any
        of their tasks.
        """
        table = self._snapshot.job_table
        unchanged, templates, by_queue = self._settled.unschedulable_templates(table)
        waiting: BoolArray = unchanged & pending
        mask = waiting & ~by_queue
        too_great = np.zeros_like(mask)
        if self._candidates.answers.views.asks_each_task:
            mask[:] = False  # a task of a template says nothing about the others
        for number in np.unique(templates[mask]).tolist():
            columns = mask & (templates == number)
            jobs = table.select(columns)
            task = next(t for t in jobs[0].tasks.values() if t.template.number == number) if jobs else None
            if task is None or (self._candidates.has_room(task) and not self._candidates.of(task).is_hopeless(task)):
                mask &= ~columns
                continue
            # nodes can refuse for other reasons than before: a job with another last reason gets a new one
            reason = self._candidates.explain(task)
            mask[[job.column for job in jobs if not self._has_reason(job, reason)]] = False
            dict.__setitem__(self.refreshed_reasons, (None, number, ()), reason)
            if not self._candidates.fits_empty_nodes(task):
                too_great |= columns
        self.out_of_reach = mask & too_great
        self.out_of_reach.setflags(write=False)
        mask |= self._still_kept_by_queue(waiting & by_queue, templates)
        self._check_blocking_jobs(mask)
        self.jobs = tuple(table.select(mask))
        return mask

    def _check_blocking_jobs(self, mask: BoolArray) -> None:
        """Remove from a mask, shape (J,), the jobs whose blocking jobs may have changed."""
        known: dict[int, bool] = {}
        for job_id, blocking in self._settled.blocking_jobs.items():
            job = self._snapshot.jobs.get(job_id)
            if job is not None and mask[job.column]:
                if id(blocking) not in known:  # jobs that are alike share theirs
                    known[id(blocking)] = self.still_block(blocking)
                mask[job.column] = known[id(blocking)]

    def still_block(self, blocking: BlockingJobs) -> bool:
        """Return whether the last blocking jobs still hold, by free resources and by the jobs that should end."""
        jobs = [self._snapshot.jobs.get(each) for each in blocking.jobs]
        allocated = self._snapshot.job_table.allocated
        if any(job is None or not allocated[:, job.column].any() for job in jobs):
            return False
        return self._nodes.future_idle_key(blocking.nodes) == blocking.free

    def _still_kept_by_queue(self, mask: BoolArray, templates: IntArray) -> BoolArray:
        """Return which of some jobs their queue would refuse once more in the same words; what it has, only grows."""
        table = self._snapshot.job_table
        mask = mask.copy()
        for queue, number in sorted(set(zip(table.queue[mask].tolist(), templates[mask].tolist(), strict=True))):
            columns = mask & (table.queue == queue) & (templates == number)
            for kind, jobs, task in self._by_kind(table.select(columns), number):
                reason = None if task is None else self._refused_by_queue(jobs[0].queue, task)
                mask[[job.column for job in jobs if reason is None or not self._has_reason(job, reason)]] = False
                if reason is not None:
                    dict.__setitem__(self.refreshed_reasons, (jobs[0].queue, number, kind), reason)
                if task is not None and reason is not None and reason.lendable:
                    list.append(self.passed_by_share, (task, tuple(jobs)))
        return mask

    def _by_kind(self, jobs: Sequence[Job], number: int) -> Iterator[tuple[tuple[Any, ...], list[Job], Task | None]]:
        """Yield jobs by the kind of their tasks of a template, with a task of that kind; None if there is none."""
        if not self._queues.tells_kinds:
            if jobs:
                yield (), list(jobs), _task_of(jobs[0], number)
            return
        found: dict[tuple[Any, ...], list[Job]] = {}
        for job in jobs:
            task = _task_of(job, number)
            found.setdefault(() if task is None else self._queues.kind(task), []).append(job)
        for kind, alike in found.items():
            yield kind, alike, _task_of(alike[0], number)

    def _refused_by_queue(self, name: QueueName, task: Task) -> Refusal | None:
        queue = self._queues.by_name[name]
        return self._queues.allocatable(queue, task) if self._queues.overused(queue) is None else None

    def take_up(self, job: SessionJob) -> None:
        """Try a job again that was skipped."""
        self._caller.for_actions("take_up")
        if self.is_passed_over(job):
            self.jobs = tuple(each for each in self.jobs if each.id != job.id)

    def is_passed_over(self, job: SessionJob) -> bool:
        """Return whether a job is skipped because nothing changed for it. Its last reasons stand."""
        if self._passed is None or self._passed[0] is not self.jobs:
            self._passed = (self.jobs, frozenset(each.id for each in self.jobs))
        return job.id in self._passed[1]

    def _has_reason(self, job: Job, reason: Refusal) -> bool:
        last_result = self._settled.last_result(job, self._snapshot.job_table)
        return last_result is not None and next(iter(last_result.task_refusals.values()), None) == reason


def _task_of(job: Job, number: int) -> Task | None:
    """Return a task of a job that has a template, by its number."""
    return next((task for task in job.tasks.values() if task.template.number == number), None)
