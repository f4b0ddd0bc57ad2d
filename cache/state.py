"""Cluster state: the current state of the cluster, computed from objects alone.

Every object comes in through `apply` and leaves through `remove`; plans are assumed on top. Nothing here reads a clock
or calls a server. A snapshot costs as much as changed since the last one, plus a copy of the changing amounts.

The stores hold one kind each. `PodDependents` and `_DEPENDENTS` list which pods, nodes and jobs are translated again
when another object changes.

Invariant: the state equals the one that `rebuild` makes from the stored objects and the assumptions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Final, cast

import msgspec

from pyroclast.cache.assumptions import Assumption, Assumptions
from pyroclast.cache.carried_state import CarriedState
from pyroclast.cache.execution.plan_faults import bind_faults, eviction_faults
from pyroclast.cache.options import SINGLE, StateOptions
from pyroclast.cache.stores.affinities import PlacedAffinities
from pyroclast.cache.stores.amounts.resource_rows import ResourceRows
from pyroclast.cache.stores.amounts.uncounted import Uncounted
from pyroclast.cache.stores.gangs.broken_gangs import BrokenGangs
from pyroclast.cache.stores.gangs.departed import DepartedMembers
from pyroclast.cache.stores.gangs.gangs import GangStore
from pyroclast.cache.stores.gangs.native_groups import NativeGroupStore
from pyroclast.cache.stores.gangs.orphan_pods import NO_GROUP, broken_pod, orphan_pods
from pyroclast.cache.stores.job_store import JobStore
from pyroclast.cache.stores.lookups import LOOKUP_KINDS, ObjectLookups
from pyroclast.cache.stores.node_store import NodeStore, occupies_node
from pyroclast.cache.stores.parsed_by_node import ParsedByNode
from pyroclast.cache.stores.pod_dependents import PodDependents, either
from pyroclast.cache.stores.pods import PodsOfServer, PodStore
from pyroclast.cache.stores.priorities import PriorityClasses
from pyroclast.cache.stores.queues import QueueStore
from pyroclast.cache.stores.quotas import QuotaStore, UsesByClaim
from pyroclast.cache.stores.reservations.reservations import ReservationStore
from pyroclast.cache.stores.topology import TopologyStore
from pyroclast.cache.stores.volumes import VolumeLookup, driver_amounts
from pyroclast.cache.sync.heartbeats import is_device_heartbeat, is_node_heartbeat
from pyroclast.cache.sync.object_filter import ObjectFilter
from pyroclast.cache.sync.shards import shard_mask
from pyroclast.cache.translation.translate import Translator, single_group, single_job_id, task_status
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray
from pyroclast.model.counted import COUNTED
from pyroclast.model.elastic import QuotaUses
from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs import GangRules
from pyroclast.model.gangs.identity import gang_of
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.load import read_load
from pyroclast.model.native.identity import is_native, job_of_native, native_group_of
from pyroclast.model.native.reading import group_name_fault
from pyroclast.model.nodenuma.topology import read_topology
from pyroclast.model.numa import read_numa
from pyroclast.model.plan import Plan
from pyroclast.model.requests import is_counted
from pyroclast.model.resources import Amounts, ResourceSpace
from pyroclast.model.sealed import SealedDict
from pyroclast.model.snapshot import ClusterObjects, Snapshot
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.model.usage import NO_USAGE, NodeUsage
from pyroclast.model.watched import is_watched
from pyroclast.model.wire.sealing import seal

__all__ = ["ClusterState"]

_NOT_SEALED: Final = frozenset({"Pod", "NodeMetric"})
"""Kinds whose inner mappings are not made read-only here: pods share those of their templates, and of NodeMetrics only
what was parsed is kept."""
RESERVATION: Final = "Reservation"
_TEMPLATE_SLACK: Final = 1000
"""Least number of templates without tasks that stay, for later pods with equal requirements."""
_UNPLACED: Final = frozenset({TaskStatus.BOUND, TaskStatus.BINDING})
"""Statuses of a task that has not run. If it fails in one of them, its node refused it."""


class ClusterState:
    """The current state of the cluster."""

    def __init__(
        self, options: StateOptions | None = None, report: Callable[[ObjectError], None] | None = None
    ) -> None:
        """Start with an empty cluster; `report` receives each broken field of an object."""
        self.options = options or StateOptions()
        self.fault_counts: Counter[str] = Counter()
        """Number of broken fields by kind of object."""
        self._report = report
        self._filter = ObjectFilter(self.options)
        self._rows = ResourceRows(self._respace)
        self._reservations = ReservationStore(self._fault)
        self.translator = Translator(
            default_queue=self.options.default_queue,
            report=self._fault,
            fold=self._rows.names.fold,
            usable_by=self._reservations.usable_by,
            counts_resized_pods=self.options.counts_resized_pods,
        )
        self._template_limit = _TEMPLATE_SLACK
        self._node_objects: dict[NodeName, wire.Node] = {}
        self._nodes = NodeStore(self._rows.space)
        self._affinities = PlacedAffinities(self._nodes)
        self._pods = PodStore()
        self._pods_of_server = PodsOfServer(self._pods, self._reservations)
        self._assumptions = Assumptions()
        self._group_objects: dict[JobId, wire.PodGroup] = {}
        self._jobs = JobStore(self._rows.space, caps_priority=self.options.caps_group_priority)
        self._broken_gangs = BrokenGangs(self._jobs)
        self._queues = QueueStore(self.translator.queue, self._fault)
        self._priorities = PriorityClasses()
        self._lookups = ObjectLookups()
        self._pod_dependents = PodDependents(self._pods)
        self._volume_lookup = VolumeLookup(
            claims=self._lookups.of("PersistentVolumeClaim"),
            volumes=self._lookups.of("PersistentVolume"),
            classes=self._lookups.of("StorageClass"),
            registered=self._pod_dependents.drivers,
            ignored_provisioners=self.options.ignored_provisioners,
        )
        self._shard_mask: tuple[tuple[NodeName, ...], BoolArray] | None = None
        self._topology = TopologyStore(self._fault)
        self._numa = ParsedByNode(read_numa, self._fault)
        self._topologies = ParsedByNode(partial(read_topology, report=self._fault), self._fault)
        self._loads = ParsedByNode(partial(read_load, report=self._fault), self._fault)
        self._quotas = QuotaStore(self._fault)
        self._quota_uses = UsesByClaim()
        self._gangs = GangStore(self._lookups.of("GangPodGroup"), self.translator.group, self._fault)
        self._natives = NativeGroupStore(self._lookups.of("NativePodGroup"), self.translator.group, self._fault)
        self._usage: Mapping[NodeName, NodeUsage] = NO_USAGE
        self._generation = 0
        self._snapshot: Snapshot | None = None

    @property
    def generation(self) -> int:
        """Number of changes so far."""
        return self._generation

    def apply(self, kind: str, new: Any) -> None:
        """Add a new object or replace a changed one. Kinds that do not affect scheduling are ignored.

        The mappings of the object become read-only, because cycles share them and plugins read them.
        """
        new.metadata.freeze()
        if kind not in _NOT_SEALED and not is_watched(kind):
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
                    self._mark_all_jobs()
            case _ if kind in LOOKUP_KINDS or is_watched(kind):
                known = self._lookups.of(kind).get(new.metadata.key)
                if self._lookups.put(kind, new.metadata, new):
                    self._update_dependents(kind, known, new)

    def remove(self, kind: str, old: Any) -> None:
        """Remove a deleted object. An unknown object is ignored."""
        match kind:
            case "Pod":
                self._remove_pod(TaskId(old.metadata.uid))
            case "Node":
                self._remove_node(NodeName(old.metadata.name))
            case "PodGroup":
                self._remove_group(old)
            case "Queue":
                self._remove_queue(QueueName(old.metadata.name))
            case "PriorityClass":
                if self._priorities.remove(old.metadata.name):
                    self._mark_all_jobs()
            case _ if kind in LOOKUP_KINDS or is_watched(kind):
                known = self._lookups.of(kind).get(old.metadata.key)
                if self._lookups.drop(kind, old.metadata):
                    self._update_dependents(kind, known, None)

    def snapshot(self) -> Snapshot:
        """Return the current cluster; the same object until the next change."""
        if self._snapshot is not None and self._snapshot.generation == self._generation:
            return self._snapshot
        self._translate_pods(self._reservations.rematch(self._pods.tasks.values()))
        self._settle_gangs()
        if self._rows.names.is_stale:
            self._settle_resource_names()
        self._forget_templates()
        self._rows.drop_unused(self._mentioned_amounts)
        self._jobs.refresh({name: number for number, name in enumerate(self._queues.names)}, self._priorities)
        nodes, objects = self._nodes.table(self._in_shard), self._with_assumed_claims(self._lookups.frozen())
        uncounted = self._nodes.uncounted(self._rows.deltas)
        self._snapshot = Snapshot(
            generation=self._generation,
            resources=self._rows.space,
            nodes=nodes,
            jobs=self._jobs.jobs(),
            job_table=self._jobs.table(uncounted),
            queues=self._queues.by_name(),
            queue_names=self._queues.names,
            objects=objects,
            topology=self._topology.of(objects.hyper_nodes, nodes.facts),
            layers=self._topology.layers(objects.network_topologies),
            orphan_pods=tuple(orphan_pods(self._pods.orphan_tasks(), self._jobs.outside(), self._queues.faults)),
            shard_mode=self.options.shard_mode,
            lifts_queue_gates=self.options.lifts_queue_gates,
            counts_resized_pods=self.options.counts_resized_pods,
            tasks_with_affinity=self._affinities.on_known_nodes(),
            tasks_with_claims=self._pods.with_device_claims(),
            broken_gangs=self._broken_gangs.current(),
            departed=self._broken_gangs.departed.shown(),
            usage=self._usage,
            numa=self._numa.of(objects.numatopologies),
            topologies=self._topologies.of(objects.node_topologies),
            loads=self._loads.of(objects.node_metrics),
            elastic_quotas=self._quotas.by_name(),
            quota_uses=self._uses_by_claim(uncounted),
            uncounted=MappingProxyType({task.id: amounts for task, amounts in uncounted}),
            gangs=self._gangs.shown(),
            reservations=self._reservations.shown(self._rows.names.fold),
            reserve_tasks=self._reservations.names(),
        )
        return self._snapshot

    # Plans

    def assume(self, plan: Plan, now: float) -> list[str]:
        """Assume a whole plan or none of it.

        Args:
            plan: The plan.
            now: Seconds of a monotonic clock.

        Returns:
            The faults of the plan; empty if the plan is assumed.
        """
        tasks = self._pods.tasks
        faults = [
            *bind_faults(
                plan,
                tasks,
                self._nodes,
                self._rows.deltas,
                self._rows.space,
                lent=lambda bind: self._reservations.lent(bind, tasks),
            ),
            *eviction_faults(plan, tasks),
        ]
        if faults:
            return faults
        deadline = now + self.options.assume_seconds
        for bind in plan.binds:
            labels = bind.labels or {}
            assumption = Assumption(node=bind.node, annotations=bind.annotations, labels=labels, deadline=deadline)
            self._assume(bind.task, assumption)
            self._assumptions.assume_claims(bind)
        for eviction in plan.evictions:
            self._assume(eviction.task, Assumption(node=None, deadline=deadline))
        return []

    def forget(self, task: TaskId, node: NodeName | None, *, failed: bool = False) -> bool:
        """End the assumption of a task, so that the task has the state of its pod again.

        Args:
            task: The task.
            node: The node of the assumed bind; None for an assumed eviction. An assumption of another kind stays: a
                bind may fail so late that its pod is known to be bound, and another plan evicts it.
            failed: Whether the change failed. After a failed bind the gang counts as broken. After a failed eviction
                a disruption budget protects the pod until a budget of its namespace changes.

        Returns:
            Whether this change was assumed.
        """
        assumption = self._assumptions.by_task.get(task)
        if assumption is not None and assumption.node != node:
            return False
        known = self._pods.tasks.get(task)
        if failed and node is not None and known is not None and known.job is not None:
            self._broken_gangs.add(known.job)
            self._generation += 1
        if assumption is None:
            return False
        if failed and node is None:
            self._assumptions.protected.add(task)
        del self._assumptions.by_task[task]
        if node is not None:
            self._assumptions.forget_claims(task)
        self._translate_pod(self._pods.objects[task])
        return True

    def assumed(self) -> Mapping[TaskId, Assumption]:
        """Return the assumptions by task."""
        return self._assumptions.by_task

    def overdue(self, now: float) -> list[TaskId]:
        """Return the tasks with overdue assumptions: read their pods, `apply` or `remove` them, and `forget`."""
        return self._assumptions.overdue(now)

    def extend(self, task: TaskId, now: float) -> None:
        """Give the assumption of a task more time: the server shows the change, but the watch lags."""
        self._assumptions.extend(task, now + self.options.assume_seconds)

    def _with_assumed_claims(self, objects: ClusterObjects) -> ClusterObjects:
        """Return the objects with resource claims as they will be."""
        claims = {
            key: assumed.applied_to(objects.resource_claims[key])
            for key, assumed in self._assumptions.claims.items()
            if key in objects.resource_claims
        }
        if not claims:
            return objects
        return replace(objects, resource_claims=SealedDict({**objects.resource_claims, **claims}))

    def _follow_claim(self, old: wire.ResourceClaim | None, new: wire.ResourceClaim | None) -> None:
        self._assumptions.settle_claim(either(old, new).metadata.key, new)

    def _assume(self, task_id: TaskId, assumption: Assumption) -> None:
        pod = self._pods.objects[task_id]
        if not assumption.is_settled_by(pod):
            self._assumptions.by_task[task_id] = assumption
            self._translate_pod(pod)

    # Reading the state

    def stored(self, kind: str) -> Mapping[str, Any]:
        """Return the live objects of a kind: pods by UID, others by `namespace/name` or name."""
        objects: Mapping[Any, Any]
        match kind:
            case "Pod":
                objects = self._pods_of_server
            case "Node":
                objects = self._node_objects
            case "PodGroup":
                objects = self._group_objects
            case "Queue":
                objects = self._queues.objects
            case "PriorityClass":
                objects = {each.metadata.name: each for each in self._priorities.all()}
            case _:
                objects = self._lookups.of(kind)
        return cast("Mapping[str, Any]", objects)

    def watched_objects(self) -> list[tuple[str, Any]]:
        """Return the objects of the kinds that plugins watch, with the names of the declarations."""
        return [(kind, each) for kind, each in self._lookups.everything() if is_watched(kind)]

    def reservation_of(self, task: TaskId) -> wire.Reservation | None:
        """Return the Reservation for which a task stands; None if the task is a pod."""
        return self._reservations.of(task)

    def task(self, task: TaskId) -> Task | None:
        """Return the current task, including assumptions."""
        return self._pods.tasks.get(task)

    def is_complete_with(self, task: TaskId) -> bool:
        """Return whether the job of a task has as many pods as it needs to start."""
        known = self._pods.tasks.get(task)
        if known is None or known.job is None:
            return False
        entry = self._jobs.entry(known.job)
        if entry is not None and is_native(entry.id):
            return self._natives.is_complete(entry)
        if entry is None or entry.facts is None:
            return bool(self._gang_of(known.pod))  # its facts are made with the next snapshot
        return len(entry.tasks) >= entry.facts.min_available

    def is_made_up(self, job: JobId) -> bool:
        """Return whether the group of a job stands for a single pod or for gangs, and is no object of the cluster."""
        entry = self._jobs.entry(job)
        return entry is not None and entry.is_made_up

    @property
    def usage(self) -> Mapping[NodeName, NodeUsage]:
        """The last measured usage of nodes."""
        return self._usage

    # Changes without an object

    def mark_half_bound(self) -> None:
        """Mark half-bound gangs as broken: called after the first list, for binds that the last process left undone."""
        self._settle_gangs()
        self._read_departed()
        for entry in map(self._jobs.entry, {task.job for task in self._pods.tasks.values() if task.job is not None}):
            if entry is not None and self._broken_gangs.add_if_half_bound(entry):
                self._generation += 1

    def measure(self, usage: Mapping[NodeName, NodeUsage]) -> None:
        """Replace all measurements of node usage."""
        if usage != self._usage:
            self._usage = MappingProxyType(dict(usage))
            self._generation += 1

    def follow_gangs(self, rules: GangRules | None) -> None:
        """Form jobs of gangs by these rules from now on. With None the pods of gangs are single pods."""
        if rules == self._gangs.rules:
            return
        self._gangs.set_rules(rules)
        self._generation += 1
        self._translate_pods([task for task, pod in self._pods.objects.items() if gang_of(pod.metadata)])

    # The state as a value

    def surrounding_objects(self) -> Iterator[tuple[str, Any]]:
        """Yield the objects that others refer to, with their kinds. Apply them first."""
        yield from (each for each in self._lookups.everything() if each[0] != RESERVATION)
        for priority_class in self._priorities.all():
            yield "PriorityClass", priority_class

    def translated_objects(self) -> Iterator[tuple[str, Any]]:
        """Yield the objects that are translated, with their kinds, in the order to apply them."""
        for kind in ("Queue", "Node", "PodGroup", "Pod"):
            for each in self.stored(kind).values():
                yield kind, each
        for each in self._lookups.of(RESERVATION).values():
            yield RESERVATION, each

    def carried_state(self) -> CarriedState:
        """Return the part of the state that no object holds."""
        return CarriedState(
            generation=self._generation,
            assumed=dict(self._assumptions.by_task),
            broken_gangs=tuple(sorted(self._broken_gangs.noted())),
            kept=tuple(sorted(self._assumptions.protected)),
            usage=self._usage,
            gang_rules=self._gangs.rules,
            satisfied=tuple(sorted(self._gangs.satisfied())),
            departed=self._broken_gangs.departed.shown(),
            claims=dict(self._assumptions.claims),
            elsewhere={n: each for n, each in self._nodes.elsewhere().items() if n not in self._node_objects},
        )

    def resume(self, state: CarriedState) -> None:
        """Take over a carried state after the surrounding objects, before the translated objects depend on it."""
        self._assumptions = Assumptions(state.assumed, state.kept, state.claims)
        self._broken_gangs.resume(state.broken_gangs)
        self._usage = state.usage
        self._gangs.resume(state.gang_rules, state.satisfied)

    def conclude(self, state: CarriedState) -> None:
        """Take over the rest of a carried state after all objects are applied."""
        for name, offered in state.elsewhere.items():
            self._set_elsewhere(name, offered)
        self._broken_gangs.departed = DepartedMembers(state.departed)  # no object shows deleted pods
        self._generation = state.generation

    def rebuild(self) -> "ClusterState":
        """Return a new state, made from the stored objects and the carried state."""
        fresh, state = ClusterState(self.options), self.carried_state()
        for kind, each in self.surrounding_objects():
            fresh.apply(kind, each)
        fresh.resume(state)
        for kind, each in self.translated_objects():
            fresh.apply(kind, each)
        fresh.conclude(state)
        return fresh

    def copy_of_objects(self) -> Callable[[], "ClusterState"]:
        """Copy the stored objects, and return a function that makes a state of them. Another thread may call it."""
        copied = ClusterState(self.options)
        copied._lookups, copied._priorities = self._lookups.copy(), self._priorities.copy()
        copied._pods.objects = dict(self._pods_of_server)  # pods that stand for Reservations are made again
        copied._node_objects, copied._group_objects = dict(self._node_objects), dict(self._group_objects)
        copied._queues.objects = dict(self._queues.objects)
        copied._assumptions = self._assumptions.copy()
        copied._broken_gangs.resume(self._broken_gangs.noted())
        copied._broken_gangs.departed = DepartedMembers(self._broken_gangs.departed.shown())
        copied._usage = self._usage
        for name, offered in self._nodes.elsewhere().items():
            copied._set_elsewhere(name, offered)
        copied._gangs.resume(self._gangs.rules, self._gangs.satisfied())
        return copied.rebuild

    # Pods

    def _set_pod(self, pod: wire.Pod) -> None:
        task_id = TaskId(pod.metadata.uid)
        if _is_same_version(self._pods.objects.get(task_id), pod):
            return
        if not self._filter.matters(pod):
            self._remove_pod(task_id)
            return
        if (previous := self._pods.namesake(pod)) is not None:
            self._remove_pod(previous)
        self._pods.put(pod)
        self._assumptions.settle(task_id, pod)
        self._translate_pod(pod)

    def _remove_pod(self, task_id: TaskId) -> None:
        task = self._pods.drop(task_id)
        if task is not None:
            self._assumptions.forget(task_id)
            self._replace(task, None)

    def _translate_pods(self, tasks: Iterable[TaskId]) -> None:
        for task_id in tasks:
            self._translate_pod(self._pods.objects[task_id])

    def _translate_pod(self, pod: wire.Pod) -> None:
        """Make the task of a stored pod again, apply its assumption, and put the task into the stores."""
        known = self._pods.tasks.get(TaskId(pod.metadata.uid))
        assumption = self._assumptions.by_task.get(TaskId(pod.metadata.uid))
        if assumption is not None and COUNTED in assumption.annotations:  # the amounts are those of the bind
            pod = msgspec.structs.replace(pod, metadata=assumption.added_to(pod.metadata))
        task = self._task(pod)
        self._rows.cover_template(task.template)
        task = self._assumptions.applied_to(task)
        if known is not None and known.status in _UNPLACED and task.status is TaskStatus.FAILED and task.job:
            self._broken_gangs.add(task.job)
        self._pods.tasks[task.id] = task
        self._replace(known, task)

    def _task(self, pod: wire.Pod) -> Task:
        task_id, job = TaskId(pod.metadata.uid), self._job_of(pod)
        self._pods.orphans.pop(task_id, None)
        if task_id in self._reservations and pod.spec.node_name:
            task = self.translator.standing_task(pod, job)
            return msgspec.structs.replace(task, role=gang) if (gang := self._gang_of(pod)) else task
        try:
            self._check_native_name(pod)
            task = self.translator.task(pod, job, self._volume_lookup.needed)
        except ObjectError as fault:
            self._fault(fault)
            if self._filter.is_ours(pod):
                self._pods.orphans[task_id] = broken_pod(fault)
            return self.translator.fenced_task(pod)
        if job is None and task_id not in self._reservations and self._is_orphan(pod, task.status):
            self._pods.orphans[task_id] = NO_GROUP
        elif gang := self._gang_of(pod):
            task = msgspec.structs.replace(task, role=gang)
        elif job is not None and job == single_job_id(pod) and job not in self._group_objects:
            facts = self.translator.group(single_group(pod, task.status))
            if task_id in self._reservations and not pod.spec.priority_class_name:
                facts = replace(facts, priority=pod.spec.priority)  # no admission resolves a class for a template
            self._jobs.set_group(job, facts, is_made_up=True)
        return task

    def _job_of(self, pod: wire.Pod) -> JobId | None:
        """Return the job that a pod names, the job of its gang, or a job of its own for a single pod.

        The pod of a Reservation is always scheduled alone unless it is in a group. It has no other job once it is on a
        node, since no queue pays for a Reservation.
        """
        job = self.translator.job_id(pod)
        if job is not None or not self._filter.is_ours(pod):
            return job
        native = native_group_of(pod)
        if native and self.options.forms_native_groups:
            return job_of_native(pod.metadata.namespace, native)
        if self._gang_of(pod):
            return self._gangs.job_of(pod, task_status(pod))
        if TaskId(pod.metadata.uid) in self._reservations:
            return None if pod.spec.node_name else single_job_id(pod)
        # No controller makes a PodGroup for pods that name a gang: where none is formed they run alone.
        is_alone = self.options.ungrouped_pods == SINGLE or native or gang_of(pod.metadata)
        return single_job_id(pod) if is_alone else None

    def _gang_of(self, pod: wire.Pod) -> str:
        """Return the gang of one of our pods while jobs are made of gangs; a PodGroup that it names has precedence."""
        if self._gangs.rules is None or self.translator.job_id(pod) is not None or not self._filter.is_ours(pod):
            return ""
        in_native_group = native_group_of(pod) and self.options.forms_native_groups
        return "" if in_native_group else gang_of(pod.metadata)

    def _check_native_name(self, pod: wire.Pod) -> None:
        """Refuse a pod whose scheduling group names no object.

        Raises:
            ObjectError: The name is missing or invalid.
        """
        if pod.spec.scheduling_group is None or not self.options.forms_native_groups:
            return
        fault = group_name_fault(native_group_of(pod))
        if fault:
            raise ObjectError("Pod", pod.metadata.key, "spec.schedulingGroup.podGroupName", fault)

    def _is_orphan(self, pod: wire.Pod, status: TaskStatus) -> bool:
        return status is TaskStatus.PENDING and self._filter.is_ours(pod)

    def _settle_gangs(self) -> None:
        """Make the jobs of gangs whose members or annotations have changed."""
        for job, facts in self._gangs.settle(lambda task: self._translate_pod(self._pods.objects[task])):
            self._jobs.set_group(job, facts, is_made_up=facts is not None)
        for native, facts, fault in self._natives.settle(self._jobs.entry):
            self._jobs.set_group(native, facts, fault=fault, is_made_up=facts is not None)

    def _replace(self, old: Task | None, new: Task | None) -> None:
        """Exchange a task in the stores of nodes, quotas, gangs and jobs."""
        self._generation += 1
        deltas = self._rows.deltas
        self._quota_uses.exchange(old, new, deltas)
        self._gangs.exchange(old, new)
        self._natives.exchange(old, new)
        self._reservations.exchange(old, new)
        self._pods.exchange(old, new)
        self._exchange_on_nodes(
            old if old is not None and occupies_node(old) else None,
            new if new is not None and occupies_node(new) else None,
        )
        if old is not None and new is not None and old.job is not None and old.job == new.job:
            self._jobs.exchange(old, new, deltas)
            return
        if old is not None and old.job is not None:
            entry = self._jobs.entry(old.job)
            self._jobs.remove(old, deltas)
            if entry is not None:
                self._broken_gangs.departed.note_removal(entry, old.status)
            self._drop_made_up(old.job)
        if new is not None and new.job is not None:
            self._jobs.add(new, deltas)

    def _exchange_on_nodes(self, old: Task | None, new: Task | None) -> None:
        """Exchange a task on its nodes; None stands for a task that uses no node."""
        deltas = self._rows.deltas
        if old is not None and new is not None and old.node == new.node:
            self._nodes.exchange(old, new, deltas)
        else:
            if old is not None:
                self._nodes.remove(old, deltas)
            if new is not None:
                self._nodes.add(new, deltas)
        self._affinities.exchange(old, new)

    def _drop_made_up(self, job: JobId) -> None:
        """Drop the made-up group of a pod with the pod, or when the pod joins a real group."""
        entry = self._jobs.entry(job)
        if entry is not None and entry.is_made_up:
            self._jobs.set_group(job, None)

    # Nodes

    def _set_node(self, node: wire.Node) -> None:
        name = NodeName(node.metadata.name)
        if not self._filter.has_node(name):
            self._set_elsewhere(name, self.translator.allocatable(node))
            return
        known = self._node_objects.get(name)
        if known is not None and is_node_heartbeat(known, node):
            return
        self._node_objects[name] = node
        self._translate_node(node)

    def _remove_node(self, name: NodeName) -> None:
        self._node_objects.pop(name, None)
        if self._nodes.has_object(name):
            self._nodes.set_node(name, None)
            self._rows.names.withdraw()
            self._generation += 1

    def _translate_node(self, node: wire.Node) -> None:
        name = NodeName(node.metadata.name)
        if not self.options.node_selector.selects(node.metadata.labels):
            # A node that stops matching leaves the snapshot; its pods stay accounted, since it may match again.
            self._set_elsewhere(name, self.translator.allocatable(node))
        else:
            drivers = driver_amounts(self._lookups.of("CSINode").get(name))
            new = self.translator.node(node, drivers, self._lookups.of("Device").get(name))
            self._rows.offer(new.allocatable, new.oversubscribed)
            self._nodes.set_node(name, new)
            self._generation += 1

    def _set_elsewhere(self, name: NodeName, offered: Amounts) -> None:
        """Set the allocatable amounts of a node that this scheduler does not use: queues count its tasks up to them."""
        if self._nodes.elsewhere().get(name) == offered:
            return
        if self._nodes.node(name) is not None:
            self._rows.names.withdraw()
        self._nodes.set_node(name, None, elsewhere=offered)
        self._generation += 1

    def _in_shard(self, names: tuple[NodeName, ...]) -> BoolArray:
        if self._shard_mask is None or self._shard_mask[0] is not names:
            shards = cast("Mapping[str, wire.NodeShard]", self._lookups.of("NodeShard"))
            mask = shard_mask(names, shards, mode=self.options.shard_mode, shard=self.options.shard_name)
            self._shard_mask = (names, mask)
        return self._shard_mask[1]

    # PodGroups

    def _set_group(self, group: wire.PodGroup) -> None:
        if not self._filter.has_group(group):
            return
        job = JobId(group.metadata.key)
        known = self._group_objects.get(job)
        if _is_same_version(known, group):
            return
        self._group_objects[job] = group
        self._translate_group(group)
        self._generation += 1
        entry = self._jobs.entry(job)
        if entry is not None:
            is_new = known is None or known.metadata.uid != group.metadata.uid
            self._broken_gangs.departed.note_group(entry, is_new=is_new)

    def _translate_group(self, group: wire.PodGroup) -> None:
        job = JobId(group.metadata.key)
        try:
            facts = self.translator.group(group)
        except ObjectError as fault:
            self._fault(fault)
            self._jobs.set_group(job, None, fault=fault)
        else:
            if facts.min_resources is not None:
                self._rows.cover([facts.min_resources])
            self._jobs.set_group(job, facts)

    def _remove_group(self, group: wire.PodGroup) -> None:
        job = JobId(group.metadata.key)
        known = self._group_objects.get(job)
        if known is None or (group.metadata.uid and known.metadata.uid != group.metadata.uid):
            return
        del self._group_objects[job]
        self._broken_gangs.departed.forget(job)
        self._jobs.set_group(job, None)
        self._generation += 1
        entry = self._jobs.entry(job)
        for task in list(entry.tasks.values()) if entry is not None else ():
            if self.translator.job_id(task.pod) is None:
                self._translate_pod(self._pods.objects[task.id])

    def _read_departed(self) -> None:
        for job in self._group_objects:
            entry = self._jobs.entry(job)
            if entry is not None and self._broken_gangs.departed.read_status(entry):
                self._jobs.mark(entry.id)
                self._generation += 1

    def _mark_all_jobs(self) -> None:
        self._jobs.mark_all()
        self._generation += 1

    # Queues

    def _set_queue(self, queue: wire.Queue) -> None:
        if _is_same_version(self._queues.objects.get(QueueName(queue.metadata.name)), queue):
            return
        new = self._queues.set(queue)
        if new is not None:
            self._rows.offer(new.capability, new.guarantee, new.deserved)
        self._renumber_queues()

    def _remove_queue(self, name: QueueName) -> None:
        if self._queues.remove(name):
            self._rows.names.withdraw()
            self._renumber_queues()

    def _renumber_queues(self) -> None:
        if self._queues.renumber():
            self._jobs.mark_all()
        self._generation += 1

    def _uses_by_claim(self, uncounted: Iterable[Uncounted]) -> QuotaUses | None:
        if not self._quotas.by_name():
            self._quota_uses.stop()
            return None
        return self._quota_uses.table(self._rows.space, self._rows.deltas, self._pods.tasks.values(), uncounted)

    # Dependents

    def _update_dependents(self, kind: str, old: Any, new: Any) -> None:
        """Update everything that depends on an object; None stands for its absence."""
        self._generation += 1
        self._translate_pods(self._pod_dependents.of(kind, old, new))
        update = self._DEPENDENTS.get(kind)
        if update is not None:
            update(self, old, new)

    def _follow_budget(self, old: Any, new: Any) -> None:
        namespace = either(old, new).metadata.namespace
        self._translate_pods(self._assumptions.release(self._pods.objects, namespace))

    def _follow_node_object(self, old: Any, new: Any) -> None:
        node = self._node_objects.get(NodeName(either(old, new).metadata.name))
        if node is not None:
            self._translate_node(node)

    def _follow_device(self, old: Any, new: Any) -> None:
        if old is None or new is None or not is_device_heartbeat(old, new):
            self._follow_node_object(old, new)

    def _follow_shard(self, _old: Any, _new: Any) -> None:
        self._shard_mask = None

    def _follow_quota(self, old: wire.ElasticQuota | None, new: wire.ElasticQuota | None) -> None:
        amounts = self._quotas.set(either(old, new).metadata.key, new)
        self._rows.cover(map(self._rows.names.fold, amounts))

    def _follow_reservation(self, old: wire.Reservation | None, new: wire.Reservation | None) -> None:
        """Put the pod that stands for a Reservation in the place of the known one; match pods with its owners again."""
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self._reservations.drop(TaskId(old.metadata.uid))
            self._remove_pod(TaskId(old.metadata.uid))
        pod = None if new is None else self._reservations.set(new)
        self._rows.cover(map(self._rows.names.fold, self._reservations.amounts()))
        if pod is not None:
            self._set_pod(pod)
        elif new is not None:
            self._remove_pod(TaskId(new.metadata.uid))
        if old is None or new is None or _offer_of(old) != _offer_of(new):
            for each in (old, new):
                if each is not None:
                    self._reservations.note_offer(TaskId(each.metadata.uid))

    def _follow_gang_group(self, old: Any, new: Any) -> None:
        self._gangs.note_pod_group(either(old, new).metadata.key)

    def _follow_native_group(self, old: Any, new: Any) -> None:
        self._natives.note_group(either(old, new).metadata.key)

    _DEPENDENTS: ClassVar[Mapping[str, Callable[["ClusterState", Any, Any], None]]] = {
        "PodDisruptionBudget": _follow_budget,  # pods of the namespace whose eviction a budget refused
        "CSINode": _follow_node_object,  # the node with its name
        "Device": _follow_device,  # the node with its name
        "NodeShard": _follow_shard,  # which nodes of the snapshot this scheduler uses
        "ResourceClaim": _follow_claim,  # what plans assumed about it
        "ElasticQuota": _follow_quota,  # rows of the resources that it names
        "GangPodGroup": _follow_gang_group,  # the job of its gang
        "NativePodGroup": _follow_native_group,  # its job
        "Reservation": _follow_reservation,  # the pod that stands for it, and the waiting pods of its owners
    }
    """What else depends on objects that are looked up by name. Plugins read the other kinds in each cycle."""

    # Resources and templates

    def _respace(self, space: ResourceSpace) -> None:
        self._nodes.respace(space)
        self._jobs.respace(space)

    def _settle_resource_names(self) -> None:
        """Choose again which resources have rows, and translate the pods and groups that request the changed ones."""
        templates, groups, names = self.translator.templates, self._group_objects, self._rows.names
        in_use = {task.template.number: task.template for task in self._pods.tasks.values()}
        asked = {name for template in in_use.values() for name in templates.names(template)}
        asked.update(name for amounts in self._quotas.amounts() for name in amounts)
        asked.update(name for amounts in self._reservations.amounts() for name in amounts)
        minimums = {job: set(filter(is_counted, group.spec.min_resources or ())) for job, group in groups.items()}
        asked.update(*minimums.values())
        changed = names.settle((name for amounts in self._offers() for name in amounts), asked) & asked
        if not changed:
            return
        self._rows.cover(map(names.fold, (*self._quotas.amounts(), *self._reservations.amounts())))
        self._reservations.forget_amounts()
        affected = {number for number, each in in_use.items() if not changed.isdisjoint(templates.names(each))}
        templates.forget_names(changed)
        self._translate_pods([task.id for task in self._pods.tasks.values() if task.template.number in affected])
        for job, asked_for in minimums.items():
            if not changed.isdisjoint(asked_for):
                self._translate_group(groups[job])

    def _offers(self) -> Iterator[Amounts]:
        """Yield all amounts that nodes and queues offer."""
        for node in self._nodes.nodes():
            yield from (node.allocatable, node.oversubscribed)
        yield from self._queues.offers()

    def _mentioned_amounts(self) -> Iterator[Amounts]:
        """Yield all amounts that the state holds."""
        templates = {task.template.number: task.template for task in self._pods.tasks.values()}
        yield from (template.request for template in templates.values())
        yield from self._offers()
        yield from self._jobs.min_resources()
        yield from self._quotas.amounts()
        yield from self._reservations.amounts()

    def _forget_templates(self) -> None:
        """Drop unused templates, once they are as many as the templates in use."""
        templates = self.translator.templates
        if len(templates) > self._template_limit:
            templates.keep(task.template for task in self._pods.tasks.values())
            self._template_limit = 2 * len(templates) + _TEMPLATE_SLACK
            self._rows.forget_templates()

    def _fault(self, fault: ObjectError) -> None:
        self.fault_counts[fault.kind] += 1
        if self._report is not None:
            self._report(fault)


def _offer_of(reservation: wire.Reservation) -> tuple[Any, ...]:
    """Return what decides which pods may use a Reservation."""
    return reservation.spec.owners, reservation.status.phase, reservation.status.node_name


def _is_same_version(known: Any, new: Any) -> bool:
    if known is None:
        return False
    version = new.metadata.resource_version
    return bool(version) and known.metadata.resource_version == version and known.metadata.uid == new.metadata.uid
