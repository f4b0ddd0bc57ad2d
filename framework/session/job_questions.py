"""Job questions: the jobs and queues of a session, their order, and the plugins' answers about them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from pyroclast.framework.configuration import Profile
from pyroclast.framework.extension import points, uses
from pyroclast.framework.extension.points import Move, Point, Registered
from pyroclast.framework.extension.votes import cast_votes, choose_victims, first_refusal, narrow_victims
from pyroclast.framework.placement.gangs.problem import Assignment
from pyroclast.framework.placement.topology.domains import DomainNodes, Domains
from pyroclast.framework.reservations.nominations import Promises
from pyroclast.framework.session.eviction_search import EvictionSearch
from pyroclast.framework.session.jobs import NOBODY, SessionJob, SubJob
from pyroclast.framework.session.memory import Remedy, Settled, Standing
from pyroclast.framework.session.namespace_windows import NO_WINDOW
from pyroclast.framework.session.node_questions import NodeQuestions
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.queues import Queue, with_ancestors
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict, SealedList
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task, TaskStatus, task_order_key
from pyroclast.model.topology.tree import topology_of

__all__ = ["JobQuestions"]

_MOST_VETOES: Final = 32
"""Vetoes kept of one task."""


class JobQuestions(NodeQuestions):
    """The jobs and queues of one session, and what is asked about them."""

    def __init__(self, snapshot: Snapshot, profile: Profile, settled: Settled) -> None:
        super().__init__(snapshot, profile)
        self.queues = snapshot.queues
        self.vetoes: SealedDict[TaskId, SealedDict[tuple[JobId | None, str], tuple[TaskId, Refusal]]] = SealedDict()
        self.eviction_search = EvictionSearch("", None)
        """What was considered in the last search for victims."""
        self.action = ""
        """The action that is running, or empty."""
        self.following_actions: Sequence[str] = profile.actions
        """The actions that come after the running one; an action may be listed twice."""
        self.skipped_jobs: Sequence[Job] = ()
        """Jobs that are not tried again because nothing changed for them."""
        self.refreshed_reasons: SealedDict[tuple[QueueName | None, int | None, tuple[Any, ...]], Refusal] = SealedDict()
        """By queue, where it is the queue's doing, and template: why jobs passed over wait, with the amounts of now."""
        self._passed: tuple[Sequence[Job], frozenset[JobId]] | None = None
        self._out_of_reach: BoolArray | None = None
        """Of those, the jobs that no eviction helps, shape (J,); None before anybody is passed over."""
        self.window = NO_WINDOW
        """Which waiting jobs are left out of this cycle, since their namespaces used up their shares."""
        self.lends = False
        """Whether idle room is being lent, so that shares do not count; see `framework.queues.lending`."""
        self.passed_by_share: SealedList[tuple[Task, Sequence[Job]]] = SealedList()
        """Of the jobs passed over, those that only their queue's share keeps, with one of their equal tasks."""
        self.promises = Promises()
        """What was promised in earlier cycles, as far as it stands."""
        self._settled = settled
        self._jobs: dict[JobId, SessionJob] = {}
        self._domains: Domains | None = None

    # Which there are --------------------------------------------------------------------------------------------------

    def job(self, job_id: JobId) -> SessionJob | None:
        """Return a job; None where the snapshot does not hold it."""
        known = self._jobs.get(job_id)
        if known is None:
            job = self.snapshot.jobs.get(job_id)
            return None if job is None else self._session_job(job)
        return known

    def jobs(self) -> Iterator[SessionJob]:
        """Iterate over all jobs, in the order of their ids."""
        return (self._session_job(job) for job in self.snapshot.jobs.values())

    def jobs_with_pending_tasks(self) -> Iterator[SessionJob]:
        """Iterate over jobs that have pending tasks in the snapshot, in the order of their ids.

        Jobs that found no room in the last cycle are passed over while nothing of them changed and no node, or not
        their queue, has room for any of their tasks: trying them would come to the same end, and what they were told
        stands.
        """
        pending = self._waiting_here()
        return self._looked_at(pending & ~self._still_misfits(pending))

    def _waiting_here(self) -> BoolArray:
        """Return which jobs have pending tasks in the snapshot and are not left out, shape (J,)."""
        pending: BoolArray = self.snapshot.job_table.counts[TaskStatus.PENDING] > 0
        pending[[self.snapshot.jobs[each].column for each in self.window.left_out]] = False
        return pending

    def admitted_jobs_with_pending_tasks(self) -> Iterator[SessionJob]:
        """Iterate over jobs past the gate that have pending tasks in the snapshot.

        Those passed over come too, for evictions may make room; but for jobs whose tasks are too great even for an
        empty node: trying them would come to the same end.
        """
        pending = self._waiting_here()
        if self._out_of_reach is not None:
            pending &= ~self._out_of_reach
        return (job for job in self._looked_at(pending) if not job.is_pending)

    def _still_misfits(self, pending: BoolArray) -> BoolArray:
        table = self.snapshot.job_table
        unchanged, templates, by_queue = self._settled.misfits(table)
        waiting: BoolArray = unchanged & pending
        mask = waiting & ~by_queue
        too_great = np.zeros_like(mask)
        for number in np.unique(templates[mask]).tolist():
            columns = mask & (templates == number)
            jobs = table.select(columns)
            task = next(t for t in jobs[0].tasks.values() if t.template.number == number) if jobs else None
            if task is None or (self.has_room(task) and not self.candidates(task).is_hopeless(task)):
                mask &= ~columns
                continue
            # nodes can refuse for other reasons than before: who was told something else is told anew
            reason = self.explain(task)
            mask[[job.column for job in jobs if not self._was_told(job, reason)]] = False
            dict.__setitem__(self.refreshed_reasons, (None, number, ()), reason)
            if not self.fits_empty_nodes(task):
                too_great |= columns
        self._out_of_reach = mask & too_great
        mask |= self._still_kept_by_queue(waiting & by_queue, templates)
        self._ask_again_about_remedies(mask)
        self.skipped_jobs = tuple(table.select(mask))
        return mask

    def _ask_again_about_remedies(self, mask: BoolArray) -> None:
        """Take out of a mask, shape (J,), the jobs that were told of a remedy which may be none any more."""
        known: dict[int, bool] = {}
        for job_id, remedy in self._settled.remedies.items():
            job = self.snapshot.jobs.get(job_id)
            if job is not None and mask[job.column]:
                if id(remedy) not in known:  # jobs that are alike share theirs
                    known[id(remedy)] = self.stands(remedy)
                mask[job.column] = known[id(remedy)]

    def stands(self, remedy: Remedy) -> bool:
        """Tell whether a remedy of the last cycle is one as far as room and those that should end tell."""
        jobs = [self.snapshot.jobs.get(each) for each in remedy.jobs]
        allocated = self.snapshot.job_table.allocated
        if any(job is None or not allocated[:, job.column].any() for job in jobs):
            return False
        return self.nodes.room_on(remedy.nodes) == remedy.room

    def _still_kept_by_queue(self, mask: BoolArray, templates: IntArray) -> BoolArray:
        """Tell which of some jobs their queue would refuse once more in the same words; what it has, only grows."""
        table = self.snapshot.job_table
        mask = mask.copy()
        for queue, number in sorted(set(zip(table.queue[mask].tolist(), templates[mask].tolist(), strict=True))):
            columns = mask & (table.queue == queue) & (templates == number)
            for kind, jobs, task in self._by_kind(table.select(columns), number):
                reason = None if task is None else self._refused_by_queue(jobs[0].queue, task)
                mask[[job.column for job in jobs if reason is None or not self._was_told(job, reason)]] = False
                if reason is not None:
                    dict.__setitem__(self.refreshed_reasons, (jobs[0].queue, number, kind), reason)
                if task is not None and reason is not None and reason.lendable:
                    list.append(self.passed_by_share, (task, tuple(jobs)))
        return mask

    def _by_kind(self, jobs: Sequence[Job], number: int) -> Iterator[tuple[tuple[Any, ...], list[Job], Task | None]]:
        """Yield jobs by the kind of their tasks of a template, with a task of that kind; None where there is none."""
        if not self.tells_kinds:
            if jobs:
                yield (), list(jobs), _task_of(jobs[0], number)
            return
        found: dict[tuple[Any, ...], list[Job]] = {}
        for job in jobs:
            task = _task_of(job, number)
            found.setdefault(() if task is None else self.kind(task), []).append(job)
        for kind, alike in found.items():
            yield kind, alike, _task_of(alike[0], number)

    def _refused_by_queue(self, name: QueueName, task: Task) -> Refusal | None:
        queue = self.queue(name)
        return self.allocatable(queue, task) if self.overused(queue) is None else None

    @contextmanager
    def lending(self) -> Iterator[None]:
        """Let refusals not count that are lendable."""
        self._caller.for_actions("lending")
        self.lends = True
        try:
            yield
        finally:
            self.lends = False

    def take_up(self, job: SessionJob) -> None:
        """Look at a job again that was passed over, if it was."""
        self._caller.for_actions("take_up")
        if self.is_passed_over(job):
            self.skipped_jobs = tuple(each for each in self.skipped_jobs if each.id != job.id)

    def is_passed_over(self, job: SessionJob) -> bool:
        """Tell whether a job is not tried again because nothing changed for it: what it was told stands."""
        if self._passed is None or self._passed[0] is not self.skipped_jobs:
            self._passed = (self.skipped_jobs, frozenset(each.id for each in self.skipped_jobs))
        return job.id in self._passed[1]

    def is_at_gate(self, job: Job) -> bool:
        """Return whether a job still waits for admission to its queue."""
        known = self._jobs.get(job.id)
        return (job.phase if known is None else known.phase) is PodGroupPhase.PENDING

    def is_left_out(self, job: SessionJob) -> bool:
        """Return whether a job is not tried since its namespace used up its share: what it was told stands."""
        return job.id in self.window.left_out

    def recall_passed_over(self) -> None:
        """Let jobs that were passed over take up again what they were told, where that is to be written.

        They have news all the same, or what was told does not show in the cluster yet.
        """
        self._caller.for_actions("recall_passed_over")
        for job in self.jobs_to_close():
            if self.is_passed_over(job):
                job.recall()

    def _was_told(self, job: Job, reason: Refusal) -> bool:
        standing = self.standing(job)
        return standing is not None and next(iter(standing.task_refusals.values()), None) == reason

    def standing(self, job: Job) -> Standing | None:
        """Return what a job was told in the last cycle, where nothing of it changed since."""
        return self._settled.standing(job, self.snapshot.job_table)

    def is_news(self, about: str, text: str, *, job: JobId | None = None) -> bool:
        """Tell whether something is said about an object, or a job, for the first time, or otherwise than before."""
        if self._caller.guard is not None:
            about, text = self._caller.guard.read("notes", uses.read_news, about, text)
        return self._settled.is_news(about, text, job=job)

    def failed_search(self, job: SessionJob, key: bytes) -> Assignment | None:
        """Return what a search for places came to that found nothing, by a key of all that it depends on."""
        return self._settled.failed_search(job.id, key)

    def remember_search(self, job: SessionJob, key: bytes, found: Assignment) -> None:
        """Keep what a search for places came to that found nothing."""
        self._settled.remember_search(job.id, key, found)

    def jobs_at_admission(self) -> Iterator[SessionJob]:
        """Iterate over jobs that wait to be admitted to their queue, in the order of their ids."""
        table = self.snapshot.job_table
        admitted = table.phase_inqueue | table.phase_running
        return (job for job in self._looked_at(~admitted) if job.is_pending)

    def _looked_at(self, mask: BoolArray) -> Iterator[SessionJob]:
        return (self._session_job(job) for job in self.snapshot.job_table.select(mask))

    def _session_job(self, job: Job) -> SessionJob:
        known = self._jobs.get(job.id)
        if known is None:
            table = self.snapshot.job_table
            known = self._jobs[job.id] = SessionJob(
                job,
                table,
                departed=self.snapshot.departed.get(job.id, NOBODY),
                was_broken=job.id in self.snapshot.broken_gangs,
                standing=self._settled.standing(job, table),
                caller=self._caller,
            )
        return known

    @property
    def serves_topology(self) -> bool:
        """Whether a plugin chooses topology domains, so that hard topologies are kept to."""
        return bool(self.functions(points.HYPER_NODE_GRADIENT_FOR_JOB))

    def known_jobs(self) -> Mapping[JobId, SessionJob]:
        """Return the jobs looked at so far."""
        return MappingProxyType(self._jobs)

    def jobs_to_close(self) -> list[SessionJob]:
        """Return the jobs whose status may have to be written: touched ones, and those not settled before."""
        mask = self._settled.unsettled(self.snapshot.job_table)
        for job in self._jobs.values():
            if job.touched:
                mask[job.job.column] = True
        return list(self._looked_at(mask))

    def allocated_by_queue(self) -> dict[QueueName, IntArray]:
        """Add up what is allocated by queue, ancestors included, base units, each of shape (R,)."""
        names = self.snapshot.queue_names
        sums = self.snapshot.job_table.by_queue(self.snapshot.job_table.allocated, len(names))
        own = {name: sums[:, number].copy() for number, name in enumerate(names)}
        for job in self._jobs.values():
            if job.touched:
                own[job.queue] += job.allocated - self.snapshot.job_table.allocated[:, job.job.column]
        totals = {name: np.zeros(len(self.resources), dtype=np.int64) for name in names}
        for name, amounts in own.items():
            for ancestor in with_ancestors(self.queues, name):
                totals[ancestor] += amounts
        return totals

    def job_of(self, task: Task) -> SessionJob | None:
        """Return the job of a task."""
        return None if task.job is None else self.job(task.job)

    # Orders -----------------------------------------------------------------------------------------------------------

    def pending_tasks(self, job: SessionJob) -> list[Task]:
        """Return a job's pending tasks, first to be placed first."""
        pending = list(job.in_status(TaskStatus.PENDING))
        if len(pending) > 1:
            pending.sort(key=self.task_order_key)
        return pending

    def job_order_key(self, job: SessionJob) -> tuple[Any, ...]:
        """Key by which jobs are ordered: plugins' keys, then age, then name."""
        return (*self.keys(points.JOB_ORDER, job), job.job.created, job.job.lasting_name, job.id)

    def task_order_key(self, task: Task, *, across_jobs: bool = False) -> tuple[Any, ...]:
        """Key by which tasks of a job, or of several, are ordered: plugins' keys, then index in the name, age, name."""
        return (*self.keys(points.TASK_ORDER, task, across_jobs=across_jobs), task_order_key(task))

    def sub_job_order_key(self, sub_job: SubJob) -> tuple[Any, ...]:
        """Key by which sub-jobs of a job are ordered: plugins' keys, then the value that made them, then id."""
        return (*self.keys(points.SUB_JOB_ORDER, sub_job), sub_job.index, sub_job.id)

    def queue_order_key(self, queue: Queue) -> tuple[Any, ...]:
        """Key by which queues are ordered: plugins' keys, then age, then name."""
        return (*self.keys(points.QUEUE_ORDER, queue), queue.created, queue.name)

    # Answers ----------------------------------------------------------------------------------------------------------

    def queue(self, name: QueueName) -> Queue:
        """Return a queue of the snapshot."""
        return self.queues[name]

    def overused(self, queue: Queue) -> Refusal | None:
        """Tell whether a queue has had enough: the refusal that says so, or None."""
        return first_refusal(
            self.functions(points.OVERUSED), queue, permitted=False, failed=self.note_failure, lends=self.lends
        )

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        """Tell whether a queue may take one more task: None, or why not."""
        return first_refusal(
            self.functions(points.ALLOCATABLE), queue, task, failed=self.note_failure, lends=self.lends
        )

    def headroom(self, queue: Queue, task: Task, most: int) -> int:
        """Count how many tasks like this one a queue may take, at most `most`; 1 where somebody must be asked."""
        for each in self.functions(points.ALLOCATABLE):
            headroom = each.lent_headroom if self.lends and each.lent_headroom else each.headroom
            most = 1 if headroom is None else min(most, self.ask_or(each, 1, queue, task, asking=headroom))
        return most

    def kind(self, task: Task) -> tuple[Any, ...]:
        """Return what of a task, beside its queue and its template, decides whether its queue may take it."""
        asked = self.functions(points.ALLOCATABLE)
        return tuple(self.ask_or(each, task.id, task, asking=each.kind) for each in asked if each.kind is not None)

    @property
    def tells_kinds(self) -> bool:
        """Whether anything but queue and template decides whether a queue may take a task."""
        return any(each.kind is not None for each in self.functions(points.ALLOCATABLE))

    @property
    def judges_templates(self) -> bool:
        """Whether every function that says what a queue may take can count, and so speaks of all that are of a kind."""
        return all(each.headroom is not None for each in self.functions(points.ALLOCATABLE))

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """Tell whether a queue may take room from others for tasks: None, or why not."""
        return first_refusal(self.functions(points.PREEMPTIVE), queue, tasks, failed=self.note_failure)

    def job_valid(self, job: SessionJob) -> Refusal | None:
        """Tell whether a job can be taken up: None, or why not."""
        return first_refusal(self.functions(points.JOB_VALID), job, failed=self.note_failure)

    def job_ready(self, job: SessionJob) -> bool:
        """Return whether a job's places may be committed.

        A plugin that says no although those that count say yes keeps the job from starting; messages name it.
        """
        vetoed_by = ""
        for each in self.functions(points.JOB_READY):
            if vetoed_by and each.missing is None:
                continue
            if not self.ask_or(each, False, job):
                if each.missing is not None:
                    return False
                vetoed_by = each.plugin
        job.vetoed_by = vetoed_by
        job.start_refused_by = job.start_refused_by or vetoed_by
        return not vetoed_by

    def missing(self, sub_job: SubJob) -> int:
        """Count how many placements a part of a job needs before anybody need be asked whether it is ready, at least 1.

        A job without policy is its only part.
        """
        if not sub_job.job.has_sub_group_policy:
            return self.missing_of_job(sub_job.job)
        return self._missing(points.SUB_JOB_READY, sub_job)

    def missing_of_job(self, job: SessionJob) -> int:
        """Count how many placements a job needs at least before it can be ready, at least 1."""
        return self._missing(points.JOB_READY, job)

    def _missing(self, point: Point[Any], subject: SessionJob | SubJob) -> int:
        told = (self.ask_or(each, 1, subject, asking=each.missing) for each in self.functions(point) if each.missing)
        most: int = max((1, *told))
        return most

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        """Tell whether a part of a job is ready; a job without policy is its only part."""
        if not sub_job.job.has_sub_group_policy:
            return self.job_ready(sub_job.job)
        return all(self.ask_or(each, False, sub_job) for each in self.functions(points.SUB_JOB_READY))

    def job_pipelined(self, job: SessionJob) -> bool:
        """Tell whether a job's places may be held for room that is being released."""
        return cast_votes(self.tiers(points.JOB_PIPELINED), job, failed=self.note_failure)[0]

    def sub_job_pipelined(self, sub_job: SubJob) -> bool:
        """The same for a part of a job."""
        if not sub_job.job.has_sub_group_policy:
            return self.job_pipelined(sub_job.job)
        return cast_votes(self.tiers(points.SUB_JOB_PIPELINED), sub_job, failed=self.note_failure)[0]

    def job_starving(self, job: SessionJob) -> bool:
        """Tell whether evictions may be made for a job; no where no plugin says so."""
        tiers = self.tiers(points.JOB_STARVING)
        return bool(tiers) and all(self.ask_or(each, False, job) for each in tiers[0])

    def job_enqueueable(self, job: SessionJob) -> list[Refusal]:
        """Ask whether a job may pass the gate of its queue; empty, or why not."""
        permitted, refusals = cast_votes(self.tiers(points.JOB_ENQUEUEABLE), job, failed=self.note_failure)
        return [] if permitted else refusals

    def job_enqueued(self, job: SessionJob) -> None:
        """Tell everybody that a job has passed the gate."""
        self._caller.for_actions("job_enqueued")
        job.phase = PodGroupPhase.INQUEUE
        job.touched = True
        for each in self.functions(points.JOB_ENQUEUED):
            self.ask_or(each, None, job)

    # Domains ----------------------------------------------------------------------------------------------------------

    @property
    def domains(self) -> Domains:
        """The tree of topology domains over this session's nodes."""
        if self._domains is None:
            topology = self.snapshot.topology or topology_of({}, self.nodes.facts)
            self._domains = Domains(topology, self.nodes)
        return self._domains

    def gradients_for_job(self, job: SessionJob, root: int, purpose: str) -> list[list[int]]:
        """Return the domains to be tried for a job, best level first; the root alone where no plugin says more."""
        return self._gradients(points.HYPER_NODE_GRADIENT_FOR_JOB, job, root, purpose)

    def gradients_for_part(self, part: SubJob, root: int, purpose: str) -> list[list[int]]:
        """Return the domains inside another to be tried for a sub-job, best level first."""
        return self._gradients(points.HYPER_NODE_GRADIENT_FOR_SUB_JOB, part, root, purpose)

    def _gradients(self, point: Point[Any], subject: SessionJob | SubJob, root: int, purpose: str) -> list[list[int]]:
        functions = self.functions(point)
        if not functions:
            return [[root]]
        name = self.domains.topology.domains[root].name
        levels = self.ask_or(functions[0], (), subject, name, purpose)
        numbers = (self.ask_or(functions[0], [], level, asking=self.domains.numbers) for level in levels)
        return [level for level in numbers if level]

    def domain_scores(self, part: SubJob, numbers: Sequence[int]) -> FloatArray:
        """Score domains for a sub-job, shape of `numbers`: higher is better."""
        named = DomainNodes(self.domains, numbers, self.nodes.table.names)
        totals = np.zeros(len(numbers))
        for each in self.functions(points.HYPER_NODE_ORDER):
            scores = self.ask_or(each, {}, part, named)
            totals += [float(self.ask_or(each, 0.0, name, 0.0, asking=scores.get)) for name in named]
        return totals

    # Victims ----------------------------------------------------------------------------------------------------------

    def judges_alike(self, point: Point[Any]) -> bool:
        """Return whether all functions of a victim point judge equal beneficiaries alike; see `register`."""
        return all(each.alike for each in (*self.functions(point), *self.functions(points.QUEUE_SURPLUS)))

    def judges_in_turn(self, point: Point[Any]) -> bool:
        """Return whether the first of many candidates can be asked about alone; see `register`."""
        return all(each.in_turn for each in (*self.functions(point), *self.functions(points.QUEUE_SURPLUS)))

    def preemptable(self, preemptor: Task, candidates: Sequence[Task], *, gang: Sequence[Task] = ()) -> list[Task]:
        """Return which candidates may give way to a task of their own queue; `gang`: all that would go with them."""
        return self._victims(
            points.PREEMPTABLE, preemptor, candidates, between_queues=False, subject=preemptor, gang=gang
        )

    def reclaimable(
        self,
        reclaimer: Task,
        candidates: Sequence[Task],
        *,
        gang: Sequence[Task] = (),
        protects_deserved: bool = True,
    ) -> list[Task]:
        """Return which candidates may give way to a task of another queue; `gang` as above.

        Args:
            reclaimer: The beneficiary.
            candidates: First to go first.
            gang: All that would go with them.
            protects_deserved: Whether a queue with no more than it deserves loses nothing, whichever tier decides.
        """
        return self._victims(
            points.RECLAIMABLE,
            reclaimer,
            candidates,
            between_queues=True,
            subject=reclaimer,
            gang=gang,
            limits=self._surplus_limits(protects_deserved),
        )

    def _surplus_limits(self, protects_deserved: bool) -> Sequence[Registered[Any]]:
        return self.functions(points.QUEUE_SURPLUS) if protects_deserved else ()

    def not_won(
        self, beneficiary: Task, candidates: Sequence[Task], *, between_queues: bool
    ) -> tuple[Sequence[Task], dict[TaskId, Refusal]]:
        """Leave out candidates whose room the beneficiary's queue or job lost to them by the same rule, and say why."""
        refused: dict[TaskId, Refusal] = {}
        job = None if beneficiary.job is None else self.snapshot.jobs.get(beneficiary.job)
        if job is None or not self.promises:
            return candidates, refused
        for task in candidates:
            owner = None if task.job is None else self.snapshot.jobs.get(task.job)
            if owner is not None:
                refusal = self.promises.refusal(
                    task, job, owner, self.snapshot.jobs, self.queues, between_queues=between_queues
                )
                if refusal is not None:
                    refused[task.id] = refusal
        return ([task for task in candidates if task.id not in refused] if refused else candidates), refused

    def evictable(
        self,
        context: Any,
        beneficiary: Task,
        candidates: Sequence[Task],
        *,
        gang: Sequence[Task] = (),
        first_tier: bool = False,
        protects_deserved: bool = True,
    ) -> list[Task]:
        """Return which candidates may give way to a whole gang.

        Args:
            context: A `framework.preemption.gang_plans.GangEviction`.
            beneficiary: A task of the gang.
            candidates: First to go first.
            gang: Of a gang that would go whole, all its tasks; else nobody.
            first_tier: Whether to ask the first tier with an answer alone.
            protects_deserved: As for `reclaimable`, where room is taken from other queues.
        """
        return self._victims(
            points.UNIFIED_EVICTABLE,
            beneficiary,
            candidates,
            between_queues=context.is_reclaim,
            subject=context,
            gang=gang,
            first_tier=first_tier,
            limits=self._surplus_limits(context.is_reclaim and protects_deserved),
        )

    def moves(self, tasks: Sequence[Task]) -> list[Move]:
        """Return which running tasks should leave for nobody's sake, and may: the first tier that names any decides."""
        for tier in self.tiers(points.VICTIM_TASKS):
            named: dict[TaskId, Move] = {}
            for each in tier:
                for move in self.ask_or(each, (), tasks, asking=partial(_moves_of, each)):
                    named.setdefault(move.task.id, move)
            if named:
                return self._movable(named)
        return []

    def _movable(self, named: Mapping[TaskId, Move]) -> list[Move]:
        left = [move.task for move in named.values()]
        for each in self.functions(points.MOVABLE):
            allowed = self.ask_or(each, frozenset(), left, asking=partial(_ids_of, each))
            left = [task for task in left if task.id in allowed]
        return [named[task.id] for task in left]

    def _victims(
        self,
        point: Point[Any],
        beneficiary: Task,
        candidates: Sequence[Task],
        *,
        between_queues: bool,
        subject: Any,
        gang: Sequence[Task],
        first_tier: bool = False,
        limits: Sequence[Registered[Any]] = (),
    ) -> list[Task]:
        self.search_for(beneficiary).note_asked(candidates)
        candidates, won = self.not_won(beneficiary, candidates, between_queues=between_queues)

        def ask(each: Registered[Any]) -> Any:
            if gang and each.together is not None:
                return each.together(subject, candidates, gang)
            return each.function(subject, candidates)

        def ask_limit(each: Registered[Any], victims: list[Task]) -> Any:
            if gang and each.together is not None:
                return each.together(beneficiary, victims, gang)
            return each.function(beneficiary, victims)

        victims, vetoes = choose_victims(
            self.tiers(point)[: 1 if first_tier else None],
            candidates,
            ask,
            failed=self.note_failure,
            limit=lambda victims: narrow_victims(limits, victims, ask_limit, failed=self.note_failure),
        )
        for victim, refusal in (won | vetoes).items():
            self.note_veto(victim, beneficiary, refusal)
        return victims

    def search_for(self, beneficiary: Task) -> EvictionSearch:
        """Return what the running action considers for a task's job; a new account where the last one was another's."""
        if not self.eviction_search.is_for(self.action, beneficiary.job):
            self.eviction_search = EvictionSearch(self.action, beneficiary.job)
        return self.eviction_search

    def note_veto(self, victim: TaskId, beneficiary: Task, refusal: Refusal) -> None:
        """Note why a task was spared: once for each job that asked and each plugin, for as many as anybody reads."""
        self.search_for(beneficiary).note_protected(victim, refusal)
        known = self.vetoes.get(victim)
        if known is None:
            known = dict.setdefault(self.vetoes, victim, SealedDict())
        if len(known) < _MOST_VETOES:
            dict.setdefault(known, (beneficiary.job, refusal.plugin), (beneficiary.id, refusal))


def _moves_of(each: Registered[Any], tasks: Sequence[Task]) -> list[Move]:
    """Ask a strategy, and read its whole answer: it may fail while it is read."""
    return [
        Move(task=_task(told), strategy=each.plugin, budget="no budget") if not isinstance(told, Move) else told
        for told in each.function(tasks)
    ]


def _ids_of(each: Registered[Any], tasks: Sequence[Task]) -> set[TaskId]:
    """Ask who may go, likewise."""
    return {_task(told).id for told in each.function(tasks)}


def _task(told: object) -> Task:
    if not isinstance(told, Task):
        raise TypeError(f"a task was expected, got {type(told).__name__}")
    return told


def _task_of(job: Job, number: int) -> Task | None:
    """Return a task of a job that has a template, by its number."""
    return next((task for task in job.tasks.values() if task.template.number == number), None)
