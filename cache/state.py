"""Cluster state: the current state of the cluster, computed from objects alone.

Every object comes in through `apply` and leaves through `remove`; plans are assumed on top. Nothing here reads a clock
or speaks to a server. A snapshot costs what changed since the last one, plus a copy of the changing amounts.

What always holds: the books equal those that `rebuild` makes from the stored objects and the assumptions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, cast

import msgspec

from pyroclast.cache.assumptions import Assumption
from pyroclast.cache.carried_state import CarriedState
from pyroclast.cache.execution.plan_faults import bind_faults, eviction_faults
from pyroclast.cache.options import SINGLE, BooksOptions
from pyroclast.cache.stores.departed import DepartedMembers
from pyroclast.cache.stores.gangs import GangKeeper
from pyroclast.cache.stores.job_store import JobEntry, JobStore
from pyroclast.cache.stores.lookups import LOOKUP_KINDS, Lookups
from pyroclast.cache.stores.node_store import NodeStore, takes_room
from pyroclast.cache.stores.orphan_pods import NO_GROUP, broken_pod, orphan_pods
from pyroclast.cache.stores.parsed_by_node import ParsedByNode
from pyroclast.cache.stores.priorities import PriorityClasses
from pyroclast.cache.stores.quotas import QuotaKeeper, UsesByClaim
from pyroclast.cache.stores.resource_names import ResourceNames
from pyroclast.cache.stores.reverse_index import ReverseIndex
from pyroclast.cache.stores.topology import TopologyKeeper
from pyroclast.cache.stores.uncounted import Uncounted
from pyroclast.cache.stores.volumes import VolumeLookup, attach_limits, claim_keys, volume_names
from pyroclast.cache.sync.heartbeats import is_heartbeat, tells_the_same
from pyroclast.cache.sync.object_filter import ObjectFilter
from pyroclast.cache.sync.shards import shard_mask
from pyroclast.cache.translation.template_deltas import TemplateDeltas
from pyroclast.cache.translation.translate import Translator, single_group, single_job_id, task_status
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray
from pyroclast.model.device_claims import device_claim_keys
from pyroclast.model.elastic import QuotaUses
from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs import GangRules
from pyroclast.model.gangs.identity import gang_of
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.load import read_load
from pyroclast.model.numa import read_numa
from pyroclast.model.plan import Plan
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.model.requests import is_counted
from pyroclast.model.resources import Amounts, ResourceSpace
from pyroclast.model.snapshot import Outsider, Snapshot
from pyroclast.model.tasks import Task, TaskStatus, by_name
from pyroclast.model.usage import NO_USAGE, NodeUsage
from pyroclast.model.wire.sealing import seal

__all__ = ["ClusterState"]

_TOO_MANY = frozenset({"Pod", "NodeMetric"})
"""Kinds whose inner mappings stay plain, for they come in too often; of pods those of templates decide."""
_TEMPLATE_SLACK = 1000
"""Templates without tasks that are kept at least, for the next pods of their kind."""
_RESOURCE_SLACK = 64
"""Resources that nothing speaks of any more, and that are kept at least."""

_UNPLACED = frozenset({TaskStatus.BOUND, TaskStatus.BINDING})
"""A task that fails in one of these never ran: its node refused it."""


class ClusterState:
    """The running picture of the cluster."""

    def __init__(
        self, options: BooksOptions | None = None, report: Callable[[ObjectError], None] | None = None
    ) -> None:
        """Start with an empty cluster; `report` is told of each broken field."""
        self.options = options or BooksOptions()
        self.fault_counts: Counter[str] = Counter()
        """Broken fields seen, by kind of object."""
        self._tracking = ObjectFilter(self.options)
        self._names = ResourceNames()
        self.translator = Translator(
            default_queue=self.options.default_queue, report=self._fault, fold=self._names.fold
        )
        self._report = report
        self._space = ResourceSpace()
        self._effects = TemplateDeltas(self._space)
        self._nodes = NodeStore(self._space)
        self._jobs = JobStore(self._space, caps_priority=self.options.caps_group_priority)
        self._lookups = Lookups()
        self._priorities = PriorityClasses()
        self._queues: dict[QueueName, Queue] = {}
        self._queue_names: tuple[QueueName, ...] = ()
        self._queue_faults: dict[QueueName, ObjectError] = {}
        self._stored: dict[str, dict[str, Any]] = {"Pod": {}, "Node": {}, "PodGroup": {}, "Queue": {}}
        """Objects that were made into nouns, by kind and UID (pods) or name."""
        self._tasks: dict[TaskId, Task] = {}
        self._ids_by_key: dict[str, TaskId] = {}
        self._loose: dict[TaskId, Refusal] = {}
        self._claims = ReverseIndex[TaskId, wire.Pod](claim_keys)
        self._device_claims = ReverseIndex[TaskId, wire.Pod](device_claim_keys)
        self._volumes = ReverseIndex[str, wire.PersistentVolumeClaim](volume_names)
        self._assumed: dict[TaskId, Assumption] = {}
        self._broken_gangs: set[JobId] = set()
        self._departed = DepartedMembers()
        self._kept: set[TaskId] = set()
        """Whom the server did not let leave because of a disruption budget: not asked again until budgets change."""
        self._with_affinity: dict[TaskId, Task] = {}
        self._with_claims: dict[TaskId, Task] = {}
        self._sorted_with_claims: tuple[Task, ...] | None = ()
        self._volume_lookup = VolumeLookup(
            claims=self._lookups.of("PersistentVolumeClaim"),
            volumes=self._lookups.of("PersistentVolume"),
            classes=self._lookups.of("StorageClass"),
            ignored_provisioners=self.options.ignored_provisioners,
        )
        self._placed: tuple[tuple[NodeName, ...], tuple[Task, ...]] | None = None
        self._template_limit = _TEMPLATE_SLACK
        self._resource_limit = _RESOURCE_SLACK
        self._shard_mask: tuple[tuple[NodeName, ...], BoolArray] | None = None
        self._topology = TopologyKeeper(self._fault)
        self._numa = ParsedByNode(read_numa, self._fault)
        self._loads = ParsedByNode(partial(read_load, report=self._fault), self._fault)
        self._quotas = QuotaKeeper(self._fault)
        self._quota_uses = UsesByClaim()
        self._gangs = GangKeeper(self._lookups.of("GangPodGroup"), self.translator.group, self._fault)
        self._usage: Mapping[NodeName, NodeUsage] = NO_USAGE
        self._generation = 0
        self._snapshot: Snapshot | None = None

    @property
    def generation(self) -> int:
        """Number of changes so far."""
        return self._generation

    def apply(self, kind: str, new: Any) -> None:
        """Take over an object of the cluster, new or changed; kinds that play no part are ignored.

        Its mappings are read-only from then on: cycles share them, and plugins are shown them.
        """
        new.metadata.freeze()
        if kind not in _TOO_MANY:
            seal(new)
        match kind:
            case "Pod":
                self._set_pod(new)
            case "Node":
                self._set_node(new)
            case "PodGroup":
                self._set_group(new)
            case "Queue":
                self._set_queue(new)
            case "PriorityClass":
                if self._priorities.set(new):
                    self._jobs.mark_all()
                    self._generation += 1
            case _ if kind in LOOKUP_KINDS:
                known = self._lookups.of(kind).get(new.metadata.key)
                if self._lookups.put(kind, new.metadata, new):
                    self._follow_lookup(kind, known, new)

    def remove(self, kind: str, old: Any) -> None:
        """Forget an object that left the cluster; one that is not known is ignored."""
        match kind:
            case "Pod":
                self._remove_pod(TaskId(old.metadata.uid))
            case "Node":
                self._stored["Node"].pop(old.metadata.name, None)
                if self._nodes.has_object(NodeName(old.metadata.name)):
                    self._nodes.set_node(NodeName(old.metadata.name), None)
                    self._names.withdraw()
                    self._generation += 1
            case "PodGroup":
                self._remove_group(old)
            case "Queue":
                self._remove_queue(QueueName(old.metadata.name))
            case "PriorityClass":
                if self._priorities.remove(old.metadata.name):
                    self._jobs.mark_all()
                    self._generation += 1
            case _ if kind in LOOKUP_KINDS:
                known = self._lookups.of(kind).get(old.metadata.key)
                if self._lookups.drop(kind, old.metadata):
                    self._follow_lookup(kind, known, None)

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now; the same object while nothing changed."""
        if self._snapshot is not None and self._snapshot.generation == self._generation:
            return self._snapshot
        self._settle_gangs()
        if self._names.is_stale:
            self._settle_names()
        self._forget_templates()
        self._forget_resources()
        numbers = {name: number for number, name in enumerate(self._queue_names)}
        self._jobs.refresh(numbers, self._priorities)
        nodes, objects = self._nodes.table(self._in_shard), self._lookups.frozen()
        uncounted = self._nodes.uncounted(self._effects)
        self._snapshot = Snapshot(
            generation=self._generation,
            resources=self._space,
            nodes=nodes,
            jobs=self._jobs.jobs(),
            job_table=self._jobs.table(uncounted),
            queues=MappingProxyType({name: self._queues[name] for name in self._queue_names}),
            queue_names=self._queue_names,
            objects=objects,
            topology=self._topology.of(objects.hyper_nodes, nodes.facts),
            orphan_pods=self._outsiders(),
            shard_mode=self.options.shard_mode,
            lifts_queue_gates=self.options.lifts_queue_gates,
            tasks_with_affinity=self._placed_with_affinity(),
            tasks_with_claims=self._claiming(),
            broken_gangs=self._still_broken(),
            departed=self._departed.shown(),
            usage=self._usage,
            numa=self._numa.of(objects.numatopologies),
            loads=self._loads.of(objects.node_metrics),
            elastic_quotas=self._quotas.by_name(),
            quota_uses=self._uses_by_claim(uncounted),
            uncounted=MappingProxyType({task.id: amounts for task, amounts in uncounted}),
            gangs=self._gangs.shown(),
        )
        return self._snapshot

    def assume(self, plan: Plan, now: float) -> list[str]:
        """Take all of a plan as done, or none of it.

        Args:
            plan: What was decided.
            now: Seconds of a clock that never goes back.

        Returns:
            What speaks against the plan; empty when it is taken.
        """
        faults = [
            *bind_faults(plan, self._tasks, self._nodes, self._effects, self._space),
            *eviction_faults(plan, self._tasks),
        ]
        if faults:
            return faults
        deadline = now + self.options.assume_seconds
        for bind in plan.binds:
            assumption = Assumption(node=bind.node, annotations=bind.annotations, deadline=deadline)
            self._assume(bind.task, assumption)
        for eviction in plan.evictions:
            self._assume(eviction.task, Assumption(node=None, deadline=deadline))
        return []

    def forget(self, task: TaskId, node: NodeName | None, *, failed: bool = False) -> bool:
        """Drop what was assumed of a task, so that it is again what its pod says: on the node that it shows, if any.

        Args:
            task: Whose assumption to drop.
            node: Where it was to be bound; None where it was to leave. Anything else that is assumed of it stays: a
                bind may fail so late that its pod is known to be bound, and another plan evicts it.
            failed: What was assumed went wrong: of a bind, what its gang lacks ranks first from now on; of an
                eviction, a budget keeps the pod, and it is no victim until a budget of its namespace changes.

        Returns:
            Whether that was assumed of it.
        """
        assumption = self._assumed.get(task)
        if assumption is not None and assumption.node != node:
            return False
        known = self._tasks.get(task)
        if failed and node is not None and known is not None and known.job is not None:
            self._broken_gangs.add(known.job)
            self._generation += 1
        if assumption is None:
            return False
        if failed and node is None:
            self._kept.add(task)
        del self._assumed[task]
        self._translate_pod(self._stored["Pod"][task])
        return True

    def assumed(self) -> Mapping[TaskId, Assumption]:
        """Return what is assumed, by task."""
        return self._assumed

    def overdue(self, now: float) -> list[TaskId]:
        """List the tasks whose echo is overdue; read their pods again, then `apply` or `remove`, and `forget`."""
        return [task for task, assumption in self._assumed.items() if assumption.deadline <= now]

    def extend(self, task: TaskId, now: float) -> None:
        """Give the echo of a task more time: the server has what was assumed, but the watch lags."""
        assumption = self._assumed.get(task)
        if assumption is not None:
            self._assumed[task] = replace(assumption, deadline=now + self.options.assume_seconds)

    def stored(self, kind: str) -> Mapping[str, Any]:
        """Return the live objects of a kind: pods by UID, others by `namespace/name` or name."""
        if kind in self._stored:
            return self._stored[kind]
        return (
            {each.metadata.name: each for each in self._priorities.all()}
            if kind == "PriorityClass"
            else (self._lookups.of(kind))
        )

    def task(self, task: TaskId) -> Task | None:
        """Return a task as it is now, assumptions included."""
        return self._tasks.get(task)

    def is_complete_with(self, task: TaskId) -> bool:
        """Return whether the job of a task has as many pods as it needs to start."""
        known = self._tasks.get(task)
        if known is None or known.job is None:
            return False
        entry = self._jobs.entry(known.job)
        if entry is None or entry.facts is None:
            return bool(self._gang_of(known.pod))  # its facts are made with the next snapshot
        return len(entry.tasks) >= entry.facts.min_available

    def is_made_up(self, job: JobId) -> bool:
        """Tell whether a job's group stands for a single pod, or for gangs, and exists nowhere else."""
        entry = self._jobs.entry(job)
        return entry is not None and entry.is_made_up

    def mark_half_bound(self) -> None:
        """Rank what half-bound gangs lack first: called after the first list, for whoever was killed in between."""
        self._settle_gangs()
        self._read_departed()
        for entry in map(self._jobs.entry, {task.job for task in self._tasks.values() if task.job is not None}):
            if entry is not None and self._is_half_bound(entry, failed=self._failed_of(entry)):
                self._broken_gangs.add(entry.id)
                self._generation += 1

    def measure(self, usage: Mapping[NodeName, NodeUsage]) -> None:
        """Take what nodes were measured to use in place of all earlier measurements."""
        if usage != self._usage:
            self._usage = MappingProxyType(dict(usage))
            self._generation += 1

    def follow_gangs(self, rules: GangRules | None) -> None:
        """Make jobs of gangs by these rules from now on; by None their pods are each for itself."""
        if rules == self._gangs.rules:
            return
        self._gangs.follow(rules)
        self._generation += 1
        self._translate([TaskId(uid) for uid, pod in self._stored["Pod"].items() if gang_of(pod.metadata)])

    @property
    def usage(self) -> Mapping[NodeName, NodeUsage]:
        """What nodes really use, as last measured."""
        return self._usage

    def surrounding_objects(self) -> Iterator[tuple[str, Any]]:
        """Iterate over objects that others refer to, by kind: those to take over first."""
        yield from self._lookups.everything()
        for priority_class in self._priorities.all():
            yield "PriorityClass", priority_class

    def translated_objects(self) -> Iterator[tuple[str, Any]]:
        """Iterate over objects that were made into nouns, by kind, in the order to take them over."""
        for kind in ("Queue", "Node", "PodGroup", "Pod"):
            for each in self._stored[kind].values():
                yield kind, each

    def carried_state(self) -> CarriedState:
        """Return what is known beside the objects."""
        return CarriedState(
            generation=self._generation,
            assumed=dict(self._assumed),
            broken_gangs=tuple(sorted(self._broken_gangs)),
            kept=tuple(sorted(self._kept)),
            usage=self._usage,
            gang_rules=self._gangs.rules,
            satisfied=tuple(sorted(self._gangs.satisfied())),
            departed=self._departed.shown(),
            elsewhere={n: each for n, each in self._nodes.elsewhere().items() if n not in self._stored["Node"]},
        )

    def resume(self, state: CarriedState) -> None:
        """Take over a state: after the surrounding objects, and before the translated ones, which it concerns."""
        self._assumed = dict(state.assumed)
        self._broken_gangs = set(state.broken_gangs)
        self._kept = set(state.kept)
        self._usage = state.usage
        self._gangs.resume(state.gang_rules, state.satisfied)

    def conclude(self, state: CarriedState) -> None:
        """Take over the rest of a state, once all objects are there."""
        for name, offered in state.elsewhere.items():
            self._set_elsewhere(name, offered)
        self._departed = DepartedMembers(state.departed)  # of pods that are gone no object tells
        self._generation = state.generation

    def rebuild(self) -> "ClusterState":
        """Make the books anew from the stored objects and the assumptions."""
        fresh, state = ClusterState(self.options), self.carried_state()
        for kind, each in self.surrounding_objects():
            fresh.apply(kind, each)
        fresh.resume(state)
        for kind, each in self.translated_objects():
            fresh.apply(kind, each)
        fresh.conclude(state)
        return fresh

    def copy_of_objects(self) -> Callable[[], "ClusterState"]:
        """Copy what is stored, and return how to make books of it, which another thread may do."""
        copied = ClusterState(self.options)
        copied._lookups, copied._priorities = self._lookups.copy(), self._priorities.copy()
        copied._stored = {kind: dict(objects) for kind, objects in self._stored.items()}
        copied._assumed, copied._broken_gangs = dict(self._assumed), set(self._broken_gangs)
        copied._kept = set(self._kept)
        copied._departed = DepartedMembers(self._departed.shown())
        copied._usage = self._usage
        for name, offered in self._nodes.elsewhere().items():
            copied._set_elsewhere(name, offered)
        copied._gangs.resume(self._gangs.rules, self._gangs.satisfied())
        return copied.rebuild

    # Pods

    def _set_pod(self, pod: wire.Pod) -> None:
        task_id = TaskId(pod.metadata.uid)
        known = self._stored["Pod"].get(task_id)
        if known is not None and _is_same_version(known, pod):
            return
        if not self._tracking.matters(pod):
            self._remove_pod(task_id)
            return
        key = pod.metadata.key
        previous = self._ids_by_key.get(key)
        if previous is not None and previous != task_id:
            self._remove_pod(previous)
        self._ids_by_key[key] = task_id
        self._stored["Pod"][task_id] = pod
        self._claims.note(task_id, known, pod)
        self._device_claims.note(task_id, known, pod)
        assumption = self._assumed.get(task_id)
        if assumption is not None and assumption.is_settled_by(pod):
            del self._assumed[task_id]
        self._translate_pod(pod)

    def _remove_pod(self, task_id: TaskId) -> None:
        pod = self._stored["Pod"].pop(task_id, None)
        if pod is None:
            return
        if self._ids_by_key.get(pod.metadata.key) == task_id:
            del self._ids_by_key[pod.metadata.key]
        self._claims.note(task_id, pod, None)
        self._device_claims.note(task_id, pod, None)
        self._assumed.pop(task_id, None)
        self._kept.discard(task_id)
        self._loose.pop(task_id, None)
        self._replace(self._tasks.pop(task_id), None)

    def _translate_pod(self, pod: wire.Pod) -> None:
        """Make the task of a stored pod anew, with what is assumed of it, and put it into the books."""
        task_id = TaskId(pod.metadata.uid)
        known = self._tasks.get(task_id)
        task = self._task(pod)
        self._cover_template(task)
        if task_id in self._kept:
            task = msgspec.structs.replace(task, preemptable=False)
        assumption = self._assumed.get(task_id)
        if assumption is not None:
            task = assumption.applied_to(task)
        if (
            known is not None
            and known.status in _UNPLACED
            and task.status is TaskStatus.FAILED
            and task.job is not None
        ):
            self._broken_gangs.add(task.job)
        self._tasks[task_id] = task
        self._replace(known, task)

    def _task(self, pod: wire.Pod) -> Task:
        self._loose.pop(TaskId(pod.metadata.uid), None)
        job = self._job_of(pod)
        try:
            task = self.translator.task(pod, job, self._volume_lookup.needed)
        except ObjectError as fault:
            self._fault(fault)
            if self._tracking.is_ours(pod):
                self._loose[TaskId(pod.metadata.uid)] = broken_pod(fault)
            return self.translator.fenced_task(pod)
        if job is None and self._tracking.is_ours(pod) and task.status is TaskStatus.PENDING:
            self._loose[task.id] = NO_GROUP
        elif gang := self._gang_of(pod):
            task = msgspec.structs.replace(task, role=gang)
        elif job is not None and self.translator.job_id(pod) is None and job not in self._stored["PodGroup"]:
            facts = self.translator.group(single_group(pod, task.status))
            self._jobs.set_group(job, facts, is_made_up=True)
        return task

    def _job_of(self, pod: wire.Pod) -> JobId | None:
        """Return the job that a pod names, that of its gang, or its own, where it is for itself."""
        job = self.translator.job_id(pod)
        if job is not None or not self._tracking.is_ours(pod):
            return job
        if self._gang_of(pod):
            return self._gangs.job_of(pod, task_status(pod))
        # no controller makes a group for who names a gang, so that nobody waits for it where gangs are not asked for
        is_alone = self.options.ungrouped_pods == SINGLE or gang_of(pod.metadata)
        return single_job_id(pod) if is_alone else None

    def _gang_of(self, pod: wire.Pod) -> str:
        """Return the gang of a pod of ours while jobs are made of gangs; a PodGroup that it names goes before that."""
        if self._gangs.rules is None or self.translator.job_id(pod) is not None or not self._tracking.is_ours(pod):
            return ""
        return gang_of(pod.metadata)

    def _settle_gangs(self) -> None:
        """Make the jobs of gangs whose members or words have changed."""
        for job, facts in self._gangs.settle(lambda task: self._translate_pod(self._stored["Pod"][task])):
            self._jobs.set_group(job, facts, is_made_up=facts is not None)

    def _replace(self, old: Task | None, new: Task | None) -> None:
        """Exchange a task in the books of nodes, quotas and jobs."""
        self._generation += 1
        self._quota_uses.exchange(old, new, self._effects)
        self._gangs.exchange(old, new)
        self._move_on_nodes(
            old if old is not None and takes_room(old) else None, new if new is not None and takes_room(new) else None
        )
        if old is not None and self._with_claims.pop(old.id, None) is not None:
            self._sorted_with_claims = None
        if new is not None and new.job is not None and new.pod.spec.resource_claims:
            self._with_claims[new.id] = new
            self._sorted_with_claims = None
        if old is not None and new is not None and old.job is not None and old.job == new.job:
            self._jobs.exchange(old, new, self._effects)
            return
        if old is not None and old.job is not None:
            entry = self._jobs.entry(old.job)
            self._jobs.remove(old, self._effects)
            if entry is not None:
                self._departed.note_removal(entry, old.status)
            self._drop_made_up(old.job)
        if new is not None and new.job is not None:
            self._jobs.add(new, self._effects)

    def _move_on_nodes(self, old: Task | None, new: Task | None) -> None:
        """Exchange a task that takes room, before and after, on its nodes."""
        if old is not None and new is not None and old.node == new.node:
            self._nodes.exchange(old, new, self._effects)
        else:
            if old is not None:
                self._nodes.remove(old, self._effects)
            if new is not None:
                self._nodes.add(new, self._effects)
        if old is not None and self._with_affinity.pop(old.id, None) is not None:
            self._placed = None
        if new is not None and _has_pod_affinity(new):
            self._with_affinity[new.id] = new
            self._placed = None

    def _drop_made_up(self, job: JobId) -> None:
        """Take the made-up group of a pod away with the pod, or when the pod joins a real group."""
        entry = self._jobs.entry(job)
        if entry is not None and entry.is_made_up:
            self._jobs.set_group(job, None)

    # Nodes

    def _set_node(self, node: wire.Node) -> None:
        name = NodeName(node.metadata.name)
        if not self._tracking.has_node(name):
            self._set_elsewhere(name, self.translator.allocatable(node))
            return
        known = self._stored["Node"].get(name)
        if known is not None and is_heartbeat(known, node):
            return
        self._stored["Node"][name] = node
        self._translate_node(node)

    def _translate_node(self, node: wire.Node) -> None:
        name = NodeName(node.metadata.name)
        if not self.options.node_selector.selects(node.metadata.labels):
            # One that stops matching leaves, but what runs on it stays accounted, for it may match again.
            self._set_elsewhere(name, self.translator.allocatable(node))
        else:
            limits = attach_limits(self._lookups.of("CSINode").get(name))
            new = self.translator.node(node, limits, self._lookups.of("Device").get(name))
            self._offer(new.allocatable, new.oversubscribed)
            self._nodes.set_node(name, new)
            self._generation += 1

    def _set_elsewhere(self, name: NodeName, offered: Amounts) -> None:
        """Note what a node offers that is not ours: what runs on it counts for queues."""
        if self._nodes.elsewhere().get(name) == offered:
            return
        if self._nodes.node(name) is not None:
            self._names.withdraw()
        self._nodes.set_node(name, None, elsewhere=offered)
        self._generation += 1

    # Groups, queues, lookups

    def _set_group(self, group: wire.PodGroup) -> None:
        if not self._tracking.has_group(group):
            return
        known = self._stored["PodGroup"].get(group.metadata.key)
        if known is not None and _is_same_version(known, group):
            return
        self._stored["PodGroup"][group.metadata.key] = group
        self._translate_group(group)
        self._note_group(JobId(group.metadata.key), is_new=known is None or known.metadata.uid != group.metadata.uid)
        self._generation += 1

    def _translate_group(self, group: wire.PodGroup) -> None:
        job = JobId(group.metadata.key)
        try:
            facts = self.translator.group(group)
        except ObjectError as fault:
            self._fault(fault)
            self._jobs.set_group(job, None, fault=fault)
        else:
            if facts.min_resources is not None:
                self._cover([facts.min_resources])
            self._jobs.set_group(job, facts)

    def _remove_group(self, group: wire.PodGroup) -> None:
        known = self._stored["PodGroup"].get(group.metadata.key)
        if known is None or (group.metadata.uid and known.metadata.uid != group.metadata.uid):
            return
        del self._stored["PodGroup"][group.metadata.key]
        job = JobId(group.metadata.key)
        self._departed.forget(job)
        self._jobs.set_group(job, None)
        self._generation += 1
        entry = self._jobs.entry(job)
        for task in list(entry.tasks.values()) if entry is not None else ():
            if self.translator.job_id(task.pod) is None:
                self._translate_pod(self._stored["Pod"][task.id])

    def _note_group(self, job: JobId, *, is_new: bool) -> None:
        entry = self._jobs.entry(job)
        if entry is not None:
            self._departed.note_group(entry, is_new=is_new)

    def _read_departed(self) -> None:
        for key in self._stored["PodGroup"]:
            entry = self._jobs.entry(JobId(key))
            if entry is not None and self._departed.read_status(entry):
                self._jobs.mark(entry.id)
                self._generation += 1

    def _set_queue(self, queue: wire.Queue) -> None:
        name = QueueName(queue.metadata.name)
        known = self._stored["Queue"].get(name)
        if known is not None and _is_same_version(known, queue):
            return
        self._stored["Queue"][name] = queue
        try:
            new = self.translator.queue(queue)
        except ObjectError as fault:
            self._fault(fault)
            self._queues.pop(name, None)
            self._queue_faults[name] = fault
        else:
            self._queues[name] = new
            self._queue_faults.pop(name, None)
            self._offer(new.capability, new.guarantee, new.deserved)
        self._number_queues()

    def _remove_queue(self, name: QueueName) -> None:
        if self._stored["Queue"].pop(name, None) is None:
            return
        self._names.withdraw()
        self._queues.pop(name, None)
        self._queue_faults.pop(name, None)
        self._number_queues()

    def _number_queues(self) -> None:
        names = tuple(sorted(self._queues))
        if names != self._queue_names:
            self._queue_names = names
            self._jobs.mark_all()
        self._generation += 1

    def _release_kept(self, namespace: str) -> None:
        """Let those be victims again whom a budget kept that may be another now."""
        pods = self._stored["Pod"]
        free = [task for task in self._kept if pods[task].metadata.namespace == namespace]
        self._kept.difference_update(free)
        for task in free:
            self._translate_pod(pods[task])

    def _follow_lookup(self, kind: str, old: Any, new: Any) -> None:
        """Make anew what depends on an object that is looked up; None stands for its absence."""
        self._generation += 1
        changed = old if new is None else new
        match kind:
            case "PersistentVolumeClaim":
                self._volumes.note(changed.metadata.key, old, new)
                self._translate_users([changed.metadata.key])
            case "ResourceClaim":
                self._translate(self._device_claims.users([changed.metadata.key]))
            case "PodDisruptionBudget":
                self._release_kept(changed.metadata.namespace)
            case "PersistentVolume":
                self._translate_users(self._volumes.users([changed.metadata.name]))
            case "StorageClass":
                self._translate_users(self._claims.used())
            case "Device" if old is not None and new is not None and tells_the_same(old, new):
                pass
            case "CSINode" | "Device":
                node = self._stored["Node"].get(changed.metadata.name)
                if node is not None:
                    self._translate_node(node)
            case "NodeShard":
                self._shard_mask = None
            case "ElasticQuota":
                self._cover(map(self._names.fold, self._quotas.follow(changed.metadata.key, new)))
            case "GangPodGroup":
                self._gangs.note_pod_group(changed.metadata.key)
            case _:
                pass

    def _translate_users(self, claims: Iterable[str]) -> None:
        self._translate(self._claims.users(claims))

    def _translate(self, tasks: Iterable[TaskId]) -> None:
        for task_id in tasks:
            self._translate_pod(self._stored["Pod"][task_id])

    # The resource space

    def _cover_template(self, task: Task) -> None:
        if not self._effects.knows(task.template):
            self._cover([task.template.request])
            self._effects.request(task.template)

    def _cover(self, amounts: Iterable[Amounts]) -> None:
        """Grow the resource space where amounts need it."""
        space = self._space.covering(amounts)
        if space is not self._space:
            self._respace(space)

    def _offer(self, *offers: Amounts) -> None:
        """Give the resources that a node or a queue offers their rows."""
        self._names.withdraw()  # it may have offered others before
        for amounts in offers:
            self._names.offer(amounts)
        self._cover(offers)

    def _settle_names(self) -> None:
        """Choose anew which resources have rows, and translate what asks for those of which that changed."""
        templates, groups = self.translator.templates, self._stored["PodGroup"]
        in_use = {task.template.number: task.template for task in self._tasks.values()}
        asked = {name for template in in_use.values() for name in templates.names(template)}
        asked.update(name for amounts in self._quotas.amounts() for name in amounts)
        minimums = {key: set(filter(is_counted, group.spec.min_resources or ())) for key, group in groups.items()}
        asked.update(*minimums.values())
        changed = self._names.settle((name for amounts in self._offers() for name in amounts), asked) & asked
        if not changed:
            return
        self._cover(map(self._names.fold, self._quotas.amounts()))
        affected = {number for number, each in in_use.items() if not changed.isdisjoint(templates.names(each))}
        templates.forget_names(changed)
        for task_id in [task.id for task in self._tasks.values() if task.template.number in affected]:
            self._translate_pod(self._stored["Pod"][task_id])
        for key, names in minimums.items():
            if not changed.isdisjoint(names):
                self._translate_group(groups[key])

    def _offers(self) -> Iterator[Amounts]:
        """Return what nodes and queues offer."""
        for node in self._nodes.nodes():
            yield from (node.allocatable, node.oversubscribed)
        for queue in self._queues.values():
            yield from (queue.capability, queue.guarantee, queue.deserved)

    def _respace(self, space: ResourceSpace) -> None:
        self._space = space
        self._effects = TemplateDeltas(space)
        self._nodes.respace(space)
        self._jobs.respace(space)

    def _forget_resources(self) -> None:
        """Drop the rows of resources that are gone, when they have become as many as those that are not.

        Whoever may create pods may name resources, and each costs several numbers a node and a job.
        """
        if len(self._space) <= self._resource_limit:
            return
        space = self._space
        used = {*ResourceSpace().names, *(name for amounts in self._spoken_of() for name in amounts)}
        kept = [name for name in space.names if name in used]
        self._resource_limit = 2 * len(kept) + _RESOURCE_SLACK
        if len(kept) < len(space):
            self._respace(ResourceSpace(tuple(kept), tuple(space.scales[space.rows[name]] for name in kept)))

    def _spoken_of(self) -> Iterator[Amounts]:
        """Return all amounts that the books hold."""
        templates = {task.template.number: task.template for task in self._tasks.values()}
        yield from (template.request for template in templates.values())
        yield from self._offers()
        yield from self._jobs.min_resources()
        yield from self._quotas.amounts()

    def _forget_templates(self) -> None:
        """Drop the templates of pods that are gone, when they have become as many as those in use."""
        templates = self.translator.templates
        if len(templates) > self._template_limit:
            templates.keep(task.template for task in self._tasks.values())
            self._template_limit = 2 * len(templates) + _TEMPLATE_SLACK
            self._effects = TemplateDeltas(self._space)

    # Parts of the snapshot

    def _in_shard(self, names: tuple[NodeName, ...]) -> BoolArray:
        if self._shard_mask is None or self._shard_mask[0] is not names:
            shards = cast("Mapping[str, wire.NodeShard]", self._lookups.of("NodeShard"))
            mask = shard_mask(names, shards, mode=self.options.shard_mode, shard=self.options.shard_name)
            self._shard_mask = (names, mask)
        return self._shard_mask[1]

    def _outsiders(self) -> tuple[Outsider, ...]:
        loose = (
            (task, self._loose[task.id]) for task in sorted((self._tasks[each] for each in self._loose), key=by_name)
        )
        return tuple(orphan_pods(loose, self._jobs.outside(), self._queue_faults))

    def _uses_by_claim(self, uncounted: Iterable[Uncounted]) -> QuotaUses | None:
        if not self._quotas.by_name():
            self._quota_uses.stop()
            return None
        return self._quota_uses.table(self._space, self._effects, self._tasks.values(), uncounted)

    def _placed_with_affinity(self) -> tuple[Task, ...]:
        names = self._nodes.names()
        if self._placed is None or self._placed[0] is not names:
            placed = sorted(self._with_affinity.values(), key=by_name)
            known = tuple(task for task in placed if task.node is not None and self._nodes.node(task.node) is not None)
            self._placed = (names, known)
        return self._placed[1]

    def _claiming(self) -> tuple[Task, ...]:
        if self._sorted_with_claims is None:
            self._sorted_with_claims = tuple(sorted(self._with_claims.values(), key=by_name))
        return self._sorted_with_claims

    def _still_broken(self) -> frozenset[JobId]:
        """Drop the gangs that are whole again, or hold nothing any more."""
        entries = ((job, self._jobs.entry(job)) for job in self._broken_gangs)
        self._broken_gangs = {job for job, entry in entries if entry is not None and self._is_half_bound(entry)}
        return frozenset(self._broken_gangs)

    def _failed_of(self, entry: JobEntry) -> int:
        return entry.failed_count() + self._departed.of(entry.id).failed

    def _is_half_bound(self, entry: JobEntry, *, failed: int = 0) -> bool:
        if entry.facts is None or not entry.ready_count():
            return False
        return entry.ready_count() + failed + self._departed.of(entry.id).succeeded < entry.facts.min_available

    # Plans

    def _assume(self, task_id: TaskId, assumption: Assumption) -> None:
        pod = self._stored["Pod"][task_id]
        if not assumption.is_settled_by(pod):
            self._assumed[task_id] = assumption
            self._translate_pod(pod)

    def _fault(self, fault: ObjectError) -> None:
        self.fault_counts[fault.kind] += 1
        if self._report is not None:
            self._report(fault)


def _has_pod_affinity(task: Task) -> bool:
    affinity = task.template.spec.affinity
    return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)


def _is_same_version(known: Any, new: Any) -> bool:
    version = new.metadata.resource_version
    return bool(version) and known.metadata.resource_version == version and known.metadata.uid == new.metadata.uid
