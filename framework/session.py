"""Session: one cycle's view of the cluster, to which plugins attach and on which actions work.

Opened from a snapshot; plugins register their functions and ledgers in the order of the configuration; from then on
only statements change it. Nothing of it outlives the cycle but its report, its plans and its memory.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import numpy as np

from framework import points
from framework.candidates import Candidates, NodeFunctions
from framework.configuration import PluginOption, Profile
from framework.explaining import explain
from framework.jobs import SessionJob, SubJob
from framework.ledgers import Ledger, Verb
from framework.memory import Settled, Standing
from framework.nodes import NodeColumns, NodeView, SessionNodes
from framework.points import Locality, Point, Registered
from framework.statement import Operation, Statement
from framework.votes import Tiers, answer_of, cast_votes, choose_victims, failure_of
from model.arrays import BoolArray, FloatArray, IntArray, ReasonArray
from model.ids import JobId, QueueName, TaskId
from model.jobs import Job, JobPhase
from model.plan import Bind, Eviction, Nomination, Plan, Preparation
from model.queues import Queue, with_ancestors
from model.refusals import Reason, Refusal
from model.report import Condition, EventNote, JobShare, Sample
from model.resources import CPU, MEMORY, MILLI, PODS
from model.snapshot import Snapshot
from model.tasks import Task, TaskStatus, task_order_key

__all__ = ["Session"]


class Session:
    """One scheduling cycle in progress."""

    def __init__(
        self,
        snapshot: Snapshot,
        profile: Profile,
        *,
        cycle: int,
        generation: int,
        now: float,
        seed: int,
        outside: Mapping[str, Any],
        committed: Callable[[Plan], None],
        settled: Settled,
    ) -> None:
        self.snapshot = snapshot
        self.profile = profile
        self.cycle = cycle
        """Number of the cycle; the id that conditions carry."""
        self.generation = generation
        """Generation of the configuration."""
        self.now = now
        """The moment of the cycle, seconds since 1970."""
        self.seed = seed
        self.uid = str(uuid5(NAMESPACE_OID, f"{seed}/{cycle}/{now}"))
        """Id of the session, as PodGroup conditions carry it; equal inputs give equal ids."""
        self.outside = outside
        """Recorded answers from outside (extenders)."""
        self.resources = snapshot.resources
        self.nodes = SessionNodes(snapshot.nodes, snapshot.resources)
        self.queues = snapshot.queues
        self.total: IntArray = snapshot.nodes.allocatable.sum(axis=1)
        """What all nodes offer together, base units, shape (R,)."""
        self.action = ""
        """The action that is running, or empty."""
        self.ledgers: list[tuple[str, Ledger]] = []
        self.node_functions = NodeFunctions((), ())
        self.plans: list[Plan] = []
        self.conditions: dict[JobId, list[Condition]] = {}
        """Conditions of PodGroups set at close."""
        self.events: list[EventNote] = []
        self.samples: list[Sample] = []
        self.shares: dict[JobId, JobShare] = {}
        self.vetoes: dict[TaskId, list[tuple[TaskId, Refusal]]] = {}
        self.nominated: set[TaskId] = set()
        """Tasks whose pipelined place comes from evictions: their pods name the node they wait for."""
        self.passed_over: Sequence[Job] = ()
        """Jobs that are not tried again because nothing changed for them."""
        self.scratch: dict[Any, Any] = {}
        """For plugins: what they want to keep until the session closes."""
        self._committed = committed
        self._settled = settled
        self._registered: dict[str, dict[str, dict[str, Registered[Any]]]] = {}
        """By point, plugin and part."""
        self._tiers: dict[str, tuple[tuple[Registered[Any], ...], ...]] = {}
        self._functions: dict[str, tuple[Registered[Any], ...]] = {}
        self._jobs: dict[JobId, SessionJob] = {}
        self._deferred: dict[JobId, Statement] = {}
        self._candidates: dict[int, Candidates] = {}
        self._option: PluginOption | None = None
        self._close_hooks: list[tuple[str, Callable[[], None]]] = []
        self._preparers: list[tuple[str, Callable[[Task, int], Sequence[Preparation]]]] = []
        self._annotators: list[tuple[str, Callable[[Task, int], Mapping[str, str]]]] = []
        self._failures: dict[str, Refusal] = {}

    # Registering ------------------------------------------------------------------------------------------------------

    def register(
        self,
        point: Point[Any],
        plugin: str,
        function: Callable[..., Any],
        *,
        locality: Locality | None = None,
        reasons: Sequence[Reason] = (),
        normalise: Callable[[FloatArray], FloatArray] | None = None,
        cares: Callable[[Task], bool] | None = None,
        headroom: Callable[[Queue, Task], int] | None = None,
        missing: Callable[[Any], int] | None = None,
        part: str = "",
    ) -> None:
        """Let a plugin answer at a point, for as long as the session is open.

        Args:
            point: The question.
            plugin: Name of the plugin, as it will appear in refusals; a plugin that stands in the configuration under
                an instance name is known by that.
            function: Answers; its shape is the point's. A later registration of the same plugin and part replaces the
                earlier.
            locality: For `PREDICATE` and `NODE_ORDER` over arrays: what the answer depends on.
            reasons: For predicates over arrays: the n-th verdict (from 1) means the n-th reason.
            normalise: For scores over arrays: rescales raw scores over the candidates.
            cares: For locality `GLOBAL`: whether a task is any concern of the function.
            headroom: For `ALLOCATABLE`: how many more tasks like this one the queue may take, so that runs of equal
                tasks need not ask one by one.
            missing: For `JOB_READY` and `SUB_JOB_READY`: how many more placements the job or sub-job needs at least.
            part: Names one of several functions of the plugin at this point. They stand in the order of registration
                under the plugin's name and flag, each with its own locality and reasons.
        """
        name = self._option.instance if self._option is not None else plugin
        self._registered.setdefault(point.name, {}).setdefault(name, {})[part] = Registered(
            name, function, locality, tuple(reasons), normalise, cares, headroom, missing
        )

    def register_ledger(self, plugin: str, ledger: Ledger) -> None:
        """Show a ledger all placements and evictions of the session."""
        self.ledgers.append((self._option.instance if self._option is not None else plugin, ledger))

    def register_preparations(self, plugin: str, prepare: Callable[[Task, int], Sequence[Preparation]]) -> None:
        """Let a plugin say what must be done before a task may be bound to the node of a column."""
        self._preparers.append((plugin, prepare))

    def register_annotations(self, plugin: str, annotate: Callable[[Task, int], Mapping[str, str]]) -> None:
        """Let a plugin add annotations to the binding of a task to the node of a column."""
        self._annotators.append((plugin, annotate))

    def on_close(self, plugin: str, hook: Callable[[], None]) -> None:
        """Call back when the session closes, in the order of the configuration."""
        self._close_hooks.append((plugin, hook))

    def open_plugin(self, option: PluginOption, opening: Callable[["Session"], None]) -> None:
        """Let one plugin register; one that fails is left out and named, the others go on."""
        self._option = option
        try:
            opening(self)
        except Exception as error:  # noqa: BLE001  # a broken plugin must not end the cycle
            self._failures[option.instance] = failure_of(option.instance, error)
        finally:
            self._option = None

    def seal(self) -> None:
        """End the time of registering."""
        self.node_functions = NodeFunctions(self.functions(points.PREDICATE), self.functions(points.NODE_ORDER))

    @property
    def option(self) -> PluginOption:
        """The configuration of the plugin that is registering."""
        assert self._option is not None, "asked outside a plugin's opening"
        return self._option

    @property
    def failures(self) -> Mapping[str, Refusal]:
        """Plugins that failed in this session, by instance name, with their first error."""
        return self._failures

    def tiers(self, point: Point[Any]) -> tuple[tuple[Registered[Any], ...], ...]:
        """Return the functions of a point by tier, in the order of the configuration, without those switched off."""
        tiers = self._tiers.get(point.name)
        if tiers is None:
            known = self._registered.get(point.name, {})
            tiers = tuple(
                tuple(
                    each
                    for option in tier
                    if point.flag is None or option.enabled(point.flag)
                    for each in known.get(option.instance, {}).values()
                )
                for tier in self.profile.tiers
            )
            tiers = self._tiers[point.name] = tuple(tier for tier in tiers if tier)
        return tiers

    def functions(self, point: Point[Any]) -> tuple[Registered[Any], ...]:
        """Return the functions of a point in the order of the configuration."""
        functions = self._functions.get(point.name)
        if functions is None:
            functions = self._functions[point.name] = tuple(each for tier in self.tiers(point) for each in tier)
        return functions

    # Asking about nodes -----------------------------------------------------------------------------------------------

    def ask_verdicts(self, each: Registered[Any], task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Ask a predicate over arrays; a failing one refuses every node."""
        try:
            verdicts: ReasonArray | None = each.function(task, columns)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
            self._failures.setdefault(each.plugin, failure_of(each.plugin, error))
            return np.full(len(columns), len(each.reasons) + 1, dtype=np.uint8)
        return verdicts

    def ask_scores(self, each: Registered[Any], task: Task, columns: NodeColumns) -> FloatArray | None:
        """Ask a score over arrays; a failing one adds nothing."""
        scores: FloatArray | None = self.ask_or(each, None, task, columns)
        return scores

    def ask_pair(self, each: Registered[Any], task: Task, node: NodeView) -> Reason | None:
        """Ask a predicate about one node; None where it permits."""
        try:
            answer = each.function(task, node)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
            refusal = self._failures.setdefault(each.plugin, failure_of(each.plugin, error))
            return Reason(refusal.message)
        if answer is None or answer is True:
            return None
        if isinstance(answer, Refusal):
            return Reason(answer.message or answer.reason, answer.resolvable)
        if isinstance(answer, Reason):
            return answer
        return Reason(answer if isinstance(answer, str) else f"refused by {each.plugin}")

    def ask_pair_score(self, each: Registered[Any], task: Task, node: NodeView) -> float:
        """Ask for the score of one node; a failing function gives 0."""
        return float(self.ask_or(each, 0.0, task, node))

    def ask_or(self, each: Registered[Any], otherwise: Any, *arguments: Any) -> Any:
        """Ask any function; a failing one is noted and gives `otherwise`."""
        try:
            return each.function(*arguments)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self._failures.setdefault(each.plugin, failure_of(each.plugin, error))
            return otherwise

    @property
    def takes_best_score(self) -> bool:
        """Whether the highest standing score decides: no function asked per node, no chooser, no soft shard."""
        taken: bool | None = self.scratch.get("takes best score")
        if taken is None:
            taken = self.scratch["takes best score"] = not (
                self.node_functions.verdicts[None]
                or self.node_functions.pair_scores
                or self.functions(points.BEST_NODE)
                or self.functions(points.BATCH_NODE_ORDER)
                or self.functions(points.NODE_MAP)
                or self.snapshot.shard_mode != "none"
            )
        return taken

    def shard_groups(self, mask: BoolArray) -> Sequence[BoolArray]:
        """Split nodes into groups to be tried in order: own shard first where sharding is soft."""
        mine = self.nodes.table.in_shard
        if self.snapshot.shard_mode == "hard":
            return (mask & mine,)
        if self.snapshot.shard_mode == "soft":
            return (mask & mine, mask & ~mine)
        return (mask,)

    def candidates(self, task: Task) -> Candidates:
        """Return the candidates of a task's template."""
        known = self._candidates.get(task.template.number)
        if known is None:
            known = self._candidates[task.template.number] = Candidates(self, task)
        return known

    def pre_predicate(self, task: Task) -> Refusal | None:
        """Ask what can be asked before looking at nodes."""
        for each in self.functions(points.PRE_PREDICATE):
            refusal = answer_of(each.plugin, lambda each=each: each.function(task))  # type: ignore[misc]
            if refusal is not None:
                return refusal
        return None

    def explain(self, task: Task, domain: BoolArray | None = None) -> Refusal:
        """Say why no node takes a task: nodes counted by the first rule that refuses them."""
        return explain(self, task, domain)

    # Jobs and queues --------------------------------------------------------------------------------------------------

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

        Jobs that found no room in the last cycle are passed over while nothing of them changed and no node has room for
        any of their tasks: trying them would come to the same end, and what they were told stands.
        """
        pending = self.snapshot.job_table.counts[TaskStatus.PENDING] > 0
        return self._looked_at(pending & ~self._still_misfits())

    def _still_misfits(self) -> BoolArray:
        table = self.snapshot.job_table
        unchanged, templates = self._settled.misfits(table)
        mask: BoolArray = unchanged & (table.counts[TaskStatus.PENDING] > 0)
        for number in np.unique(templates[mask]).tolist():
            columns = mask & (templates == number)
            job = table.jobs[int(np.flatnonzero(columns)[0])]
            task = None if job is None else next(t for t in job.tasks.values() if t.template.number == number)
            if task is None or not self.candidates(task).is_hopeless(task):
                mask &= ~columns
        self.passed_over = table.select(mask)
        return mask

    def standing(self, job: Job) -> Standing | None:
        """Return what a job was told in the last cycle, where nothing of it changed since."""
        return self._settled.standing(job, self.snapshot.job_table)

    def jobs_at_the_gate(self) -> Iterator[SessionJob]:
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
                was_broken=job.id in self.snapshot.broken_gangs,
                standing=self._settled.standing(job, table),
            )
        return known

    @property
    def serves_topology(self) -> bool:
        """Whether a plugin chooses topology domains, so that hard topologies are kept to."""
        return bool(self.functions(points.HYPER_NODE_GRADIENT_FOR_JOB))

    def known_jobs(self) -> Mapping[JobId, SessionJob]:
        """Return the jobs looked at so far."""
        return self._jobs

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

    def pending_tasks(self, job: SessionJob) -> list[Task]:
        """Return a job's pending tasks, first to be placed first."""
        return sorted(job.in_status(TaskStatus.PENDING), key=self.task_order_key)

    def job_order_key(self, job: SessionJob) -> tuple[Any, ...]:
        """Key by which jobs are ordered: plugins' keys, then age, then UID."""
        keys = [each.function(job) for each in self.functions(points.JOB_ORDER)]
        return (*keys, job.job.created, job.job.uid, job.id)

    def task_order_key(self, task: Task) -> tuple[Any, ...]:
        """Key by which tasks of a job are ordered: plugins' keys, then index in the name, age, UID."""
        return (*(each.function(task) for each in self.functions(points.TASK_ORDER)), task_order_key(task))

    def sub_job_order_key(self, sub_job: SubJob) -> tuple[Any, ...]:
        """Key by which sub-jobs of a job are ordered: plugins' keys, then id."""
        return (*(each.function(sub_job) for each in self.functions(points.SUB_JOB_ORDER)), sub_job.id)

    def queue_order_key(self, queue: Queue) -> tuple[Any, ...]:
        """Key by which queues are ordered: plugins' keys, then age, then name."""
        return (*(each.function(queue) for each in self.functions(points.QUEUE_ORDER)), queue.created, queue.name)

    def queue(self, name: QueueName) -> Queue:
        """Return a queue of the snapshot."""
        return self.queues[name]

    def overused(self, queue: Queue) -> Refusal | None:
        """Tell whether a queue has had enough: the refusal that says so, or None."""
        for each in self.functions(points.OVERUSED):
            refusal = answer_of(each.plugin, lambda each=each: each.function(queue), permitted=False)  # type: ignore[misc]
            if refusal is not None:
                return refusal
        return None

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        """Tell whether a queue may take one more task: None, or why not."""
        for each in self.functions(points.ALLOCATABLE):
            refusal = answer_of(each.plugin, lambda each=each: each.function(queue, task))  # type: ignore[misc]
            if refusal is not None:
                return refusal
        return None

    def headroom(self, queue: Queue, task: Task, most: int) -> int:
        """Count how many tasks like this one a queue may take, at most `most`; 1 where somebody must be asked."""
        for each in self.functions(points.ALLOCATABLE):
            most = 1 if each.headroom is None else min(most, each.headroom(queue, task))
        return most

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """Tell whether a queue may take room from others for tasks: None, or why not."""
        for each in self.functions(points.PREEMPTIVE):
            refusal = answer_of(each.plugin, lambda each=each: each.function(queue, tasks))  # type: ignore[misc]
            if refusal is not None:
                return refusal
        return None

    def job_valid(self, job: SessionJob) -> Refusal | None:
        """Tell whether a job can be taken up: None, or why not."""
        for each in self.functions(points.JOB_VALID):
            refusal = answer_of(each.plugin, lambda each=each: each.function(job))  # type: ignore[misc]
            if refusal is not None:
                return refusal
        return None

    def job_ready(self, job: SessionJob) -> bool:
        """Tell whether a job's places may be committed."""
        return all(self.ask_or(each, False, job) for each in self.functions(points.JOB_READY))

    def missing(self, sub_job: SubJob, most: int) -> int:
        """Count how many placements can be made before anybody need be asked whether a sub-job is ready, at least 1."""
        is_part = sub_job.job.has_sub_group_policy
        least = 1
        for each in self.functions(points.SUB_JOB_READY if is_part else points.JOB_READY):
            if each.missing is not None:
                least = max(least, each.missing(sub_job if is_part else sub_job.job))
        return min(least, most)

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        """Tell whether a part of a job is ready; a job without policy is its only part."""
        if not sub_job.job.has_sub_group_policy:
            return self.job_ready(sub_job.job)
        return all(self.ask_or(each, False, sub_job) for each in self.functions(points.SUB_JOB_READY))

    def job_pipelined(self, job: SessionJob) -> bool:
        """Tell whether a job's places may be held for room that is being released."""
        return cast_votes(self.tiers(points.JOB_PIPELINED), lambda function: function(job))[0]

    def sub_job_pipelined(self, sub_job: SubJob) -> bool:
        """The same for a part of a job."""
        if not sub_job.job.has_sub_group_policy:
            return self.job_pipelined(sub_job.job)
        return cast_votes(self.tiers(points.SUB_JOB_PIPELINED), lambda function: function(sub_job))[0]

    def job_starving(self, job: SessionJob) -> bool:
        """Tell whether evictions may be made for a job; no where no plugin says so."""
        tiers = self.tiers(points.JOB_STARVING)
        return bool(tiers) and all(self.ask_or(each, False, job) for each in tiers[0])

    def job_enqueueable(self, job: SessionJob) -> list[Refusal]:
        """Ask whether a job may pass the gate of its queue; empty, or why not."""
        permitted, refusals = cast_votes(self.tiers(points.JOB_ENQUEUEABLE), lambda function: function(job))
        return [] if permitted else refusals

    def job_enqueued(self, job: SessionJob) -> None:
        """Tell everybody that a job has passed the gate."""
        job.phase = JobPhase.INQUEUE
        job.touched = True
        for each in self.functions(points.JOB_ENQUEUED):
            self.ask_or(each, None, job)

    # Victims ----------------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Return which candidates may give way to a task of their own queue."""
        return self._victims(points.PREEMPTABLE, preemptor, candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Return which candidates may give way to a task of another queue."""
        return self._victims(points.RECLAIMABLE, reclaimer, candidates)

    def _victims(self, point: Point[Any], beneficiary: Task, candidates: Sequence[Task]) -> list[Task]:
        tiers: Tiers = self.tiers(point)
        victims, vetoes = choose_victims(tiers, candidates, lambda function: function(beneficiary, candidates))
        for victim, refusal in vetoes.items():
            self.vetoes.setdefault(victim, []).append((beneficiary.id, refusal))
        return victims

    # Changing ---------------------------------------------------------------------------------------------------------

    def statement(self) -> Statement:
        """Begin a transaction."""
        return Statement(self)

    def defer(self, job: SessionJob, statement: Statement) -> None:
        """Keep a statement open until the rest of its gang is placed; see `framework.placing.complete`."""
        statement.hold()
        self._deferred[job.id] = statement

    def take_deferred(self, job: SessionJob) -> Statement | None:
        """Take back a job's deferred statement; None where there is none."""
        return self._deferred.pop(job.id, None)

    def deferred_jobs(self) -> list[SessionJob]:
        """Return the jobs with deferred statements, first deferred first."""
        return [job for job_id in self._deferred if (job := self.job(job_id)) is not None]

    def transact(self, operation: Operation) -> None:
        """Carry out an operation on jobs and nodes; for statements alone."""
        change = operation.change
        needs = self.nodes.needs(change.template)
        change.job.move(change.tasks, operation.before[0].status, change.verb.value, change.amounts)
        self.nodes.add(change.columns, _delta(needs, change.verb), change.tasks)

    def retract(self, operation: Operation) -> None:
        """Undo `transact`; for statements alone."""
        change = operation.change
        needs = self.nodes.needs(change.template)
        change.job.move(operation.before, change.verb.value, operation.before[0].status, change.amounts)
        delta = _delta(needs, change.verb)
        if change.verb is Verb.EVICT:
            self.nodes.add(change.columns, -delta, operation.before)
        else:
            self.nodes.remove(change.columns, delta, change.tasks)

    def commit(self, operations: Sequence[Operation]) -> None:
        """Make a plan of operations and hand it on; for statements alone."""
        placed = next((op.change.job for op in operations if op.change.verb is not Verb.EVICT), None)
        plan = Plan(
            number=len(self.plans),
            cycle=self.cycle,
            configuration=self.generation,
            action=self.action,
            job=None if placed is None else placed.id,
            queue=None if placed is None else placed.queue,
            binds=tuple(self._binds(operations)),
            evictions=tuple(_evictions(operations)),
            nominations=tuple(_nominations(operations)),
        )
        self.nominated.update(nomination.task for nomination in plan.nominations)
        if plan.binds or plan.evictions or plan.nominations:
            self.plans.append(plan)
            self._committed(plan)

    def _binds(self, operations: Sequence[Operation]) -> Iterator[Bind]:
        for operation in operations:
            change = operation.change
            if change.verb is not Verb.ALLOCATE:
                continue
            binding = [task.moved(TaskStatus.BINDING, task.node) for task in change.tasks]
            change.job.move(binding, TaskStatus.ALLOCATED, TaskStatus.BINDING, change.amounts)
            for task, column in zip(binding, change.columns, strict=True):
                assert task.node is not None, "an allocated task has a node"
                yield Bind(
                    task=task.id,
                    job=task.job,
                    namespace=task.namespace,
                    name=task.name,
                    node=task.node,
                    annotations=self._annotations(task, column) if self._annotators else {},
                    preparations=self._preparations(task, column) if self._preparers else (),
                )

    def _annotations(self, task: Task, column: int) -> dict[str, str]:
        return {key: value for _, annotate in self._annotators for key, value in annotate(task, column).items()}

    def _preparations(self, task: Task, column: int) -> tuple[Preparation, ...]:
        return tuple(step for _, prepare in self._preparers for step in prepare(task, column))

    # Saying -----------------------------------------------------------------------------------------------------------

    def set_condition(self, job: SessionJob, condition: Condition) -> None:
        """Set a condition of a PodGroup; the last of a type counts."""
        conditions = self.conditions.setdefault(job.id, [])
        conditions[:] = [known for known in conditions if known.type != condition.type]
        conditions.append(condition)

    def sample(self, metric: str, value: float, kind: str = "gauge", **labels: str) -> None:
        """Note a value of a metric, named without the `volcano_` prefix."""
        self.samples.append(Sample(metric=metric, labels=tuple(labels.items()), value=value, kind=kind))

    def sample_amounts(self, metric: str, amounts: Sequence[int], **labels: str) -> None:
        """Note amounts by resource: `<metric>_milli_cpu`, `_memory_bytes`, and `_scalar_resources` by name."""
        for name, amount, scale in zip(self.resources.names, amounts, self.resources.scales, strict=True):
            if name == CPU:
                self.sample(f"{metric}_milli_cpu", amount, **labels)
            elif name == MEMORY:
                self.sample(f"{metric}_memory_bytes", amount, **labels)
            elif amount:
                # other resources count in thousandths there, but for pods
                thousandths = amount if name == PODS else amount * MILLI // scale
                self.sample(f"{metric}_scalar_resources", thousandths, resource=name, **labels)

    def group_event(self, job: SessionJob, type_: str, reason: str, message: str) -> None:
        """Record an event on a PodGroup."""
        self.events.append(
            EventNote(
                kind="PodGroup",
                namespace=job.job.namespace,
                name=job.job.name,
                uid=job.job.uid,
                type=type_,
                reason=reason,
                message=message,
            )
        )

    def close_plugins(self, observed: Callable[[str, Callable[[], None]], None]) -> None:
        """Call the close hooks in the order of registration; `observed` runs each under its plugin's name."""
        for plugin, hook in self._close_hooks:
            try:
                observed(plugin, hook)
            except Exception as error:  # noqa: BLE001  # a broken plugin must not end the cycle
                self._failures.setdefault(plugin, failure_of(plugin, error))


def _delta(needs: Any, verb: Verb) -> IntArray:
    delta: IntArray = {Verb.ALLOCATE: needs.allocate, Verb.PIPELINE: needs.pipeline, Verb.EVICT: needs.evict}[verb]
    return delta


def _evictions(operations: Sequence[Operation]) -> Iterator[Eviction]:
    for operation in operations:
        if operation.change.verb is Verb.EVICT:
            for task in operation.before:
                assert task.node is not None, "a victim has a node"
                yield Eviction(
                    task=task.id,
                    job=task.job,
                    namespace=task.namespace,
                    name=task.name,
                    node=task.node,
                    reason=operation.reason,
                )


def _nominations(operations: Sequence[Operation]) -> Iterator[Nomination]:
    for operation in operations:
        if operation.change.verb is Verb.PIPELINE and operation.evicts_for:
            for task in operation.change.tasks:
                assert task.node is not None, "a pipelined task has a node"
                yield Nomination(task=task.id, job=task.job, namespace=task.namespace, name=task.name, node=task.node)
