"""Jobs of a session: a frozen job plus what this session did to it.

Counting rules are Volcano's. A job's state is changed by statements alone; plugins and actions read.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pyroclast.framework.state.caller import Caller
from pyroclast.framework.state.departed_members import Needs, needs_without
from pyroclast.framework.state.last_result import LastResult, said_once
from pyroclast.framework.state.reasons import Reasons
from pyroclast.framework.state.sub_jobs import SubJobDivision, group_of
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import JobId, QueueName, SubJobId, TaskId
from pyroclast.model.jobs import Departed, Job, JobTable
from pyroclast.model.native import Disruption
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict, SealedList, SealedSet
from pyroclast.model.tasks import ALLOCATED_STATUSES, READY_STATUSES, Task, TaskStatus, TaskTemplate
from pyroclast.model.wire import NetworkTopologySpec, SubGroupPolicySpec

__all__ = ["NONE_DEPARTED", "SessionJob", "SubJob"]

NONE_DEPARTED: Final = Departed(0, 0)
"""Departed members of jobs whose pods all exist."""
_PENDING: Final = TaskStatus.PENDING
_NO_MINIMUMS: Final[Mapping[str, int]] = SealedDict()
_ROLE_READY: Final = READY_STATUSES
_VALID: Final = READY_STATUSES | {TaskStatus.PIPELINED, TaskStatus.PENDING}


class SessionJob:
    """One job within a session."""

    __slots__ = (
        "_caller",
        "_owns_tasks",
        "_pending_best_effort",
        "_roles",
        "_sub_jobs",
        "_succeeded",
        "_tasks",
        "allocated",
        "changes",
        "counts",
        "departed",
        "id",
        "job",
        "kept_by_share",
        "last_result",
        "min_available",
        "phase",
        "queue",
        "reasons",
        "start_refused_by",
        "touched",
        "unplaceable",
        "vetoed_by",
        "was_broken",
    )

    def __init__(
        self,
        job: Job,
        table: JobTable,
        *,
        departed: Departed = NONE_DEPARTED,
        was_broken: bool = False,
        last_result: LastResult | None = None,
        caller: Caller | None = None,
    ) -> None:
        self._caller = caller or Caller()
        self.job = job
        self.id: JobId = job.id
        """`namespace/name`."""
        self.queue: QueueName = job.queue
        """Name of its queue."""
        self.last_result = last_result
        """Result of the last cycle; None if the job changed since."""
        self._tasks: dict[TaskId, Task] = job.tasks  # type: ignore[assignment]  # copied before the first write
        self._owns_tasks = False
        self.counts: SealedList[int] = SealedList(table.counts[:, job.column].tolist())
        """Tasks by status, indexed by `TaskStatus`."""
        self._pending_best_effort = int(table.pending_best_effort[job.column])
        self._succeeded = departed.succeeded
        """Members that have succeeded and whose pods are deleted."""
        self.departed = self._missed_of(departed)
        """Members that have ended and whose pods are deleted, as far as others have not taken their places."""
        self.min_available = job.min_available - self.departed.succeeded
        """Tasks that must run for any to run: `spec.minMember` less what has departed."""
        self.unplaceable: SealedSet[TaskId] = SealedSet()
        """Best-effort tasks that no node takes in this session: they do not count towards the minimum."""
        self.allocated: IntArray = table.allocated[:, job.column]
        """Requests of tasks in an allocated status, base units, shape (R,)."""
        self.changes = 0
        """Number of changes of its tasks in this session."""
        self.phase = job.phase
        self.reasons = Reasons()
        """Reasons that it waits. A trial restores the earlier ones."""
        self.was_broken = was_broken
        """Whether it lost places on the way to its nodes (a failed bind, a refusing node) and lacks its minimum."""
        self.kept_by_share = False
        """Whether this session refused it, or a task of it, beyond its queue's share, where idle capacity is lent."""
        self.vetoed_by = ""
        """The plugin that did not let it start when its minimum had places; empty if none did."""
        self.start_refused_by = ""
        """The first plugin that did so in this cycle: nothing is evicted for the job then."""
        self.touched = False
        """Whether this session placed, evicted or admitted any of its tasks, or has a new reason for it."""
        self._sub_jobs: SealedDict[SubJobId, SubJob] | None = None
        self._roles: Counter[tuple[str, TaskStatus, bool]] | None = None
        """Tasks by role, status and whether they ask for nothing; counted at the first question."""

    # What it is -------------------------------------------------------------------------------------------------------

    @property
    def priority(self) -> int:
        """Value of its priority class."""
        return self.job.priority

    @property
    def created(self) -> float:
        """Creation of the PodGroup, seconds since 1970."""
        return self.job.created

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations of the PodGroup."""
        return MappingProxyType(self.job.group.metadata.annotations)

    @property
    def tasks(self) -> Mapping[TaskId, Task]:
        """All tasks, in their states of this moment."""
        return MappingProxyType(self._tasks)

    def in_status(self, *statuses: TaskStatus) -> Iterator[Task]:
        """Iterate over tasks in any of these statuses."""
        return (task for task in self._tasks.values() if task.status in statuses)

    def _missed_of(self, departed: Departed) -> Departed:
        """Return how many of the members that have departed the minimum misses; those that succeeded count first."""
        if departed is NONE_DEPARTED:
            return NONE_DEPARTED
        missed = max(self.job.min_available - len(self.job.tasks) + self.counts[TaskStatus.FAILED], 0)
        succeeded = min(departed.succeeded, missed)
        return Departed(succeeded, min(departed.failed, missed - succeeded))

    # Counting ---------------------------------------------------------------------------------------------------------

    @property
    def ready_count(self) -> int:
        """Tasks that count towards the minimum: allocated statuses and succeeded."""
        counts = self.counts
        return counts[1] + counts[3] + counts[4] + counts[5] + counts[7]

    @property
    def waiting_count(self) -> int:
        """Pipelined tasks."""
        return self.counts[TaskStatus.PIPELINED]

    @property
    def pending_best_effort(self) -> int:
        """Pending tasks that ask for nothing and are not known to fit nowhere: they count as good as placed."""
        return self._pending_best_effort - sum(self._is_unplaceable(task_id) for task_id in self.unplaceable)

    @property
    def valid_count(self) -> int:
        """Tasks that run, ran well, or may run."""
        return self.ready_count + self.counts[TaskStatus.PIPELINED] + self.counts[_PENDING]

    @property
    def allocated_count(self) -> int:
        """Tasks in an allocated status."""
        counts = self.counts
        return counts[1] + counts[3] + counts[4] + counts[5]

    @property
    def is_ready(self) -> bool:
        """Whether the minimum is reached, pending best-effort tasks counting as placed."""
        return self.ready_count + self.pending_best_effort >= self.min_available

    @property
    def may_start(self) -> bool:
        """Whether the minimum is reached and no plugin keeps the job from starting."""
        return self.is_ready and not (self.vetoed_by and self.allocated_count == self.counts[TaskStatus.ALLOCATED])

    @property
    def is_pipelined(self) -> bool:
        """Whether the minimum is reached when waiting tasks count too."""
        return self.waiting_count + self.ready_count + self.pending_best_effort >= self.min_available

    @property
    def is_starving(self) -> bool:
        """Whether even with waiting tasks the minimum is not reached; best-effort tasks do not count."""
        return self.waiting_count + self.ready_count < self.min_available

    @property
    def relies_on_best_effort(self) -> bool:
        """Whether a minimum, its own or of a role, is reached only by counting best-effort tasks without a place."""
        if self.pending_best_effort <= 0:
            return False
        return self.ready_count < self.min_available or not self._roles_reach(_ROLE_READY, count_best_effort=False)

    @property
    def waits_for_best_effort(self) -> bool:
        """The same when waiting tasks count too."""
        if self.pending_best_effort <= 0:
            return False
        placed = _ROLE_READY | {TaskStatus.PIPELINED}
        return self.is_starving or not self._roles_reach(placed, count_best_effort=False)

    @property
    def is_pending(self) -> bool:
        """Whether it still waits at the gate of its queue."""
        return self.phase is PodGroupPhase.PENDING

    @property
    def has_finished(self) -> bool:
        """Whether it has completed, and only pods that ended are there, or none any more."""
        ended = self.counts[TaskStatus.SUCCEEDED] + self.counts[TaskStatus.FAILED]
        return self.phase is PodGroupPhase.COMPLETED and ended == len(self._tasks)

    # Roles ------------------------------------------------------------------------------------------------------------

    @property
    def checks_roles(self) -> bool:
        """Whether minimums by role apply: not when they sum to more than the job's minimum."""
        by_role = self.job.min_by_role
        return bool(by_role) and self.job.min_available >= sum(by_role.values())

    def roles_valid(self) -> bool:
        """Whether each role with a minimum has enough tasks that run or may run."""
        return self._roles_reach(_VALID, count_best_effort=False)

    def roles_ready(self) -> bool:
        """Whether each role has its minimum placed, pending best-effort tasks counting as placed."""
        return self._roles_reach(_ROLE_READY, count_best_effort=True)

    def roles_pipelined(self) -> bool:
        """Whether each role has its minimum placed or waiting."""
        return self._roles_reach(_ROLE_READY | {TaskStatus.PIPELINED}, count_best_effort=True)

    def role_count(self, role: str) -> int:
        """Count tasks of a role that are placed, pending best-effort tasks included."""
        return self._count_role(role, _ROLE_READY, count_best_effort=True)

    def _roles_reach(self, statuses: frozenset[TaskStatus], *, count_best_effort: bool) -> bool:
        if not self.checks_roles:
            return True
        lacking = (
            max(minimum - self._count_role(role, statuses, count_best_effort=count_best_effort), 0)
            for role, minimum in self.job.min_by_role.items()
        )
        return sum(lacking) <= self.departed.succeeded  # the roles of deleted pods are unknown

    def _count_role(self, role: str, statuses: frozenset[TaskStatus], *, count_best_effort: bool) -> int:
        if self._roles is None:
            self._roles = Counter((each.role, each.status, each.template.best_effort) for each in self._tasks.values())
        roles = self._roles
        count = sum(roles[role, status, light] for status in statuses for light in (False, True))
        if count_best_effort:
            unplaceable = (each for each in self.unplaceable if self._is_unplaceable(each))
            count += roles[role, _PENDING, True] - sum(self._tasks[each].role == role for each in unplaceable)
        return count

    def _is_unplaceable(self, task: TaskId) -> bool:
        """Whether a task known to fit nowhere still waits: evictions may have made a place for it since."""
        return self._tasks[task].status is _PENDING

    def counts_as_placed(self, task: Task) -> bool:
        """Whether a pending task counts as good as placed, because it asks for nothing."""
        return task.status is _PENDING and task.template.best_effort and task.id not in self.unplaceable

    # Sub-jobs ---------------------------------------------------------------------------------------------------------

    @property
    def has_sub_group_policy(self) -> bool:
        """Whether the PodGroup divides its pods into sub-groups."""
        return bool(self.job.group.spec.sub_group_policy)

    @property
    def min_sub_jobs(self) -> Mapping[str, int]:
        """Minimum number of sub-jobs by group, of groups that have one."""
        policies = self.job.group.spec.sub_group_policy
        if not policies:
            return _NO_MINIMUMS
        least = self._needs.parts if self._succeeded else [policy.min_sub_groups for policy in policies]
        counted = zip(policies, least, strict=True)
        return SealedDict((group_of(self.id, policy), count) for policy, count in counted if count > 0)

    @property
    def _needs(self) -> Needs:
        """Requirements of sub-groups beside departed members. Pods count as they were when the session began."""
        policies = self.job.group.spec.sub_group_policy
        division = SubJobDivision(self.id, policies)
        present: list[Counter[SubJobId]] = [Counter() for _ in policies]
        for task in self.job.tasks.values():
            part, policy, _ = division.place_of(task)
            if policy is not None:
                present[policies.index(policy)][part] += task.status is not TaskStatus.FAILED
        sizes = [(each.sub_group_size, each.min_sub_groups) for each in policies]
        return needs_without(self._succeeded, sizes, present)

    @property
    def sub_jobs(self) -> Mapping[SubJobId, "SubJob"]:
        """Parts of the job in the order of their first task; the job itself where nothing divides it."""
        if self._sub_jobs is None:
            self._sub_jobs = self._divide()
        return self._sub_jobs

    @property
    def topology_key(self) -> str:
        """Label of nodes of which all its pods need one value; empty without such a constraint."""
        return "" if self.job.native is None else self.job.native.topology_key

    @property
    def disruption(self) -> Disruption | None:
        """Which of its pods are evicted together; None if its minimum decides."""
        return None if self.job.native is None else self.job.native.disruption

    @property
    def has_topology(self) -> bool:
        """Whether it, or one of its policies, limits the distance of its tasks."""
        spec = self.job.group.spec
        return spec.network_topology is not None or any(each.network_topology for each in spec.sub_group_policy)

    def part_of(self, task: Task) -> "SubJob | None":
        """Return the sub-job that a task belongs to."""
        parts = self.sub_jobs
        if len(parts) == 1:
            return next(iter(parts.values()))
        return next((part for part in parts.values() if part.holds(task.id)), None)

    def _divide(self) -> "SealedDict[SubJobId, SubJob]":
        whole = SubJobId(self.id)
        policies = self.job.group.spec.sub_group_policy
        if not policies:
            topology = self.job.group.spec.network_topology
            return SealedDict(
                {
                    whole: SubJob(
                        self, whole, group=self.id, min_available=self.min_available, members=None, topology=topology
                    )
                }
            )
        division = SubJobDivision(self.id, policies)
        members: dict[SubJobId, list[TaskId]] = {}
        made_by: dict[SubJobId, SubGroupPolicySpec | None] = {}
        index: dict[SubJobId, int] = {}
        for task in self._tasks.values():
            part, policy, value = division.place_of(task)
            members.setdefault(part, []).append(task.id)
            made_by[part] = policy
            index[part] = int(value) if value.isdecimal() and value.isascii() else 0
        sizes = self._needs.sizes if self._succeeded else {}
        return SealedDict(
            {
                part: SubJob(
                    self,
                    part,
                    group=self.id if policy is None else group_of(self.id, policy),
                    min_available=1 if policy is None else sizes.get(part, policy.sub_group_size),
                    members=members[part],
                    index=index[part],
                    topology=self.job.group.spec.network_topology if policy is None else policy.network_topology,
                )
                for part, policy in made_by.items()
            }
        )

    # Changes, made by statements --------------------------------------------------------------------------------------

    def move(self, tasks: Sequence[Task], before: TaskStatus, after: TaskStatus, amounts: IntArray) -> None:
        """Set another status of tasks; `amounts` is the sum of their requests, shape (R,)."""
        if self._caller.guard is not None:
            self._caller.for_actions("move")
        if not self._owns_tasks:
            self._tasks = dict(self._tasks)
            self._owns_tasks = True
        for task in tasks:
            self._tasks[task.id] = task
        self.changes += 1
        count = len(tasks)
        counts = self.counts
        list.__setitem__(counts, before, counts[before] - count)
        list.__setitem__(counts, after, counts[after] + count)
        if self._roles is not None:
            light = tasks[0].template.best_effort
            for task in tasks:
                self._roles[task.role, before, light] -= 1
                self._roles[task.role, after, light] += 1
        if tasks[0].template.best_effort:
            self._pending_best_effort += count * ((after is _PENDING) - (before is _PENDING))
        is_allocated = after in ALLOCATED_STATUSES
        if is_allocated is not (before in ALLOCATED_STATUSES):
            self.allocated = self.allocated + amounts if is_allocated else self.allocated - amounts
            self.allocated.setflags(write=False)
        self.touched = True

    @property
    def all_refusals(self) -> tuple[Refusal, ...]:
        """Reasons that the job waits: its refusals, its gang's shortage, and why no pods are evicted for it."""
        verdict = self.reasons.verdict or self.reasons.cause
        return (*self.reasons.refusals, *(() if verdict is None else (verdict,)), *self.told_evictions.values())

    @property
    def told_evictions(self) -> Mapping[str, Refusal]:
        """Reasons that actions evict nothing for the job, by action. Refusals of the job itself are not repeated."""
        causes = self.reasons.refusals if self.reasons.cause is None else (*self.reasons.refusals, self.reasons.cause)
        return said_once(self.reasons.eviction_refusals, causes, self.reasons.task_refusals)

    @property
    def permanent_cause(self) -> Refusal | None:
        """Reason that the whole job cannot run after any end or eviction of other jobs; None if it may."""
        return self.reasons.cause or next((each for each in self.reasons.refusals if not each.resolvable), None)

    def note_cause(self, cause: Refusal | None) -> None:
        """Note why the job can never run, or that nothing is known that would always keep it."""
        if self._caller.guard is not None:
            self._caller.for_actions("note_cause")
        self.reasons.cause = cause
        if self.last_result is not None and self.last_result.cause != cause:
            self.touched = True

    def refuse(self, refusal: Refusal) -> bool:
        """Note why the job waits. The same reason of the same plugin is noted once. Return whether it is new."""
        if self._caller.guard is not None:
            self._caller.for_actions("refuse")
        if all((known.plugin, known.reason) != (refusal.plugin, refusal.reason) for known in self.reasons.refusals):
            list.append(self.reasons.refusals, refusal)
        self.kept_by_share = self.kept_by_share or refusal.lendable
        is_news = self.last_result is None or refusal not in self.last_result.refusals
        self.touched = self.touched or is_news
        return is_news

    def refuse_eviction(self, action: str, refusal: Refusal) -> None:
        """Note why an action evicts no pods for the job. Skipped jobs are noted too, because queues may have changed.

        Changed counts and amounts need no new message, because the report has them.
        """
        if self._caller.guard is not None:
            self._caller.for_actions("refuse_eviction")
        named = replace(refusal, action=action)
        dict.__setitem__(self.reasons.eviction_refusals, action, named)
        known = None if self.last_result is None else self.last_result.eviction_refusals.get(action)
        self.touched = self.touched or known is None or _words(known) != _words(named)

    def recall(self) -> None:
        """Restore the reasons of the last cycle that this cycle has not set."""
        if self._caller.guard is not None:
            self._caller.for_actions("recall")
        if self.last_result is not None:
            self.reasons.refusals = self.reasons.refusals or SealedList(self.last_result.refusals)
            self.reasons.task_refusals = SealedDict({**self.last_result.task_refusals, **self.reasons.task_refusals})
            self.reasons.blocking_jobs = self.last_result.blocking_jobs
            if not self.waiting_count:
                self.reasons.unschedulable_template, self.reasons.is_unschedulable_by_queue = (
                    self.last_result.unschedulable_template,
                    self.last_result.is_unschedulable_by_queue,
                )

    def record_unschedulable(self, template: TaskTemplate, *, in_queue: bool = False) -> None:
        """Note that no node, or not the queue, has capacity for a task of the only template of a job.

        It counts only where nothing else of the job waits: a job with best-effort tasks or sub-jobs is tried each time,
        and so is one that passed its gate just now, until its phase is written.
        """
        if self._caller.guard is not None:
            self._caller.for_actions("note_misfit")
        if not (self._pending_best_effort or self.has_sub_group_policy or self.job.phase is PodGroupPhase.PENDING):
            self.reasons.unschedulable_template = template.number
            self.reasons.is_unschedulable_by_queue = in_queue

    def forget_refusal(self, task: TaskId) -> None:
        """Forget why a task was not placed, because it is tried again."""
        if self._caller.guard is not None:
            self._caller.for_actions("forget_refusal")
        dict.pop(self.reasons.task_refusals, task, None)

    def note_places(self, tasks: Sequence[Task]) -> None:
        """Note where an attempt that is undone had put tasks."""
        if self._caller.guard is not None:
            self._caller.for_actions("note_places")
        dict.update(self.reasons.last_places, ((task.id, task) for task in tasks))

    def forget_place(self, task: TaskId) -> None:
        """Forget where undone attempts had put a task."""
        if self._caller.guard is not None:
            self._caller.for_actions("forget_place")
        dict.pop(self.reasons.last_places, task, None)

    def note_unplaceable(self, task: TaskId) -> None:
        """Note that no node takes a best-effort task in this session."""
        if self._caller.guard is not None:
            self._caller.for_actions("note_unplaceable")
        set.add(self.unplaceable, task)

    def refuse_task(self, task: Task, refusal: Refusal) -> None:
        """Note why a task was not placed."""
        if self._caller.guard is not None:
            self._caller.for_actions("refuse_task")
        dict.__setitem__(self.reasons.task_refusals, task.id, refusal)
        self.kept_by_share = self.kept_by_share or refusal.lendable
        if self.last_result is None or self.last_result.task_refusals.get(task.id) != refusal:
            self.touched = True


def _words(refusal: Refusal) -> tuple[str, str, str]:
    return refusal.plugin, refusal.reason, refusal.message


class SubJob:
    """A part of a job: its own minimum, its own tasks."""

    __slots__ = ("_members", "_own", "group", "id", "index", "job", "min_available", "topology")

    def __init__(
        self,
        job: SessionJob,
        sub_job_id: SubJobId,
        *,
        group: str,
        min_available: int,
        members: Sequence[TaskId] | None,
        index: int = 0,
        topology: NetworkTopologySpec | None = None,
    ) -> None:
        self.job = job
        self.id = sub_job_id
        self.group = group
        """Id of the policy's group; the job's id for the rest."""
        self.min_available = min_available
        self.index = index
        """The first label value that made it, where that is a number, else 0: orders sub-jobs that are else equal."""
        self._members = None if members is None else tuple(members)
        self._own: frozenset[TaskId] | None = None
        self.topology = topology
        """Topology constraint of its tasks, from its policy, or from the job if no policy made it."""

    @property
    def tasks(self) -> Mapping[TaskId, Task]:
        """Its tasks, in their states of this moment."""
        if self._members is None:
            return self.job.tasks
        tasks = self.job.tasks
        return SealedDict((task_id, tasks[task_id]) for task_id in self._members)

    def holds(self, task: TaskId) -> bool:
        """Return whether a task is one of its own."""
        if self._own is None:
            self._own = frozenset(self.job.tasks if self._members is None else self._members)
        return task in self._own

    @property
    def size(self) -> int:
        """Number of its tasks."""
        return len(self.job.tasks if self._members is None else self._members)

    @property
    def missing(self) -> int:
        """Placements that its minimum lacks, pending best-effort tasks counting as placed; may be negative."""
        return self.min_available - self._count(READY_STATUSES)

    @property
    def is_ready(self) -> bool:
        """Whether its minimum is reached, pending best-effort tasks counting as placed."""
        return self.missing <= 0

    @property
    def lacking(self) -> int:
        """The same when waiting tasks count as placed too."""
        return self.min_available - self._count(READY_STATUSES | {TaskStatus.PIPELINED})

    @property
    def is_pipelined(self) -> bool:
        """Whether its minimum is reached when waiting tasks count too."""
        return self.lacking <= 0

    def _count(self, statuses: frozenset[TaskStatus]) -> int:
        return sum(task.status in statuses or self.job.counts_as_placed(task) for task in self.tasks.values())
