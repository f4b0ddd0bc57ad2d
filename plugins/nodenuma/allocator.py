"""CPU allocator: the CPUs and NUMA amounts of each node in one session, and which tasks still fit.

This is a ledger: placements, also pipelined ones, allocate CPUs and amounts; evictions release them for tasks that are
pipelined; undoing reverses both. They are chosen when a task is placed and do not change until it is undone; the
binding has them as an annotation. The initial state comes from the annotations of the pods on each node, read at the
first use. N nodes.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, NumaHint, Verb
from pyroclast.framework.session.pending_changes import PendingChanges
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.framework.state.reservations import ReservationView
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray, ReasonArray
from pyroclast.model.ids import TaskId
from pyroclast.model.nodenuma.amplified import amplified
from pyroclast.model.nodenuma.names import DEFAULT_POLICY, NUMA_POLICIES, RESOURCE_SPEC, RESOURCE_STATUS
from pyroclast.model.nodenuma.specs import ResourceSpec, write_resource_spec
from pyroclast.model.nodenuma.status import ResourceStatus, read_status, write_status
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.resources import CPU, MILLI, NO_AMOUNTS
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.nodenuma import reasons
from pyroclast.plugins.nodenuma.arguments import NodeNumaArgs
from pyroclast.plugins.nodenuma.choice import CpuChoice, NodeState, never_fits
from pyroclast.plugins.nodenuma.demand import CpuDemand, demand_of
from pyroclast.plugins.nodenuma.hints import mask_of
from pyroclast.plugins.nodenuma.nodes import CpuNode, cpu_node
from pyroclast.plugins.nodenuma.reserved_cpus import NO_SOURCE, ReservedCpus, Source
from pyroclast.plugins.nodenuma.usage import NOTHING_USED, CpuUsage, Holders, Holding, holding_of

__all__ = ["NO_CPUS", "CpuAllocator"]

NO_CPUS: Final = "NoCPUs"
"""Reason of a refusal: the node has not the CPUs or NUMA amounts for the task any more."""
_MOST_KNOWN: Final = 1 << 16
"""Maximum number of remembered choices. Above it, all are dropped and computed again."""


class CpuAllocator(Ledger):
    """CPUs and NUMA amounts of the nodes of a session."""

    def __init__(self, session: Session, plugin: str, args: NodeNumaArgs) -> None:
        self._session, self._plugin, self._args = session, plugin, args
        self._numa_scoring = args.numa_scoring.scoring
        topologies, table = session.snapshot.topologies, session.nodes.table
        self.nodes: list[CpuNode] = [
            cpu_node(node, topologies.get(name)) for name, node in zip(table.names, table.facts.nodes, strict=True)
        ]
        """What decides on each node, by column."""
        self._any_decides = any(node.decides for node in self.nodes)
        self._kinds: dict[Hashable, int] = {}
        kinds = [self._kinds.setdefault(node.signature, len(self._kinds)) for node in self.nodes]
        self._kind_of: IntArray = np.array(kinds, dtype=np.int64)
        """Number of each column's kind, shape (N,): nodes of one kind with equal usage give equal answers."""
        self._is_amplified: BoolArray = np.array([node.cpu_ratio is not None for node in self.nodes], dtype=np.bool_)
        self._is_aligned: BoolArray = np.array(
            [node.numa_policy in NUMA_POLICIES for node in self.nodes], dtype=np.bool_
        )
        """Nodes with amplified CPU, and with a NUMA policy, shape (N,)."""
        self._numbers: dict[Hashable, int] = {}
        self._state_of: IntArray | None = None
        """Numbers of states, and that of each column, shape (N,); None before the first use."""
        self._cursor = len(session.nodes.log)
        self._demands: dict[int, CpuDemand | None] = {}
        self._faults: dict[int, str] = {}
        self._pending = PendingChanges()
        self._reserved = ReservedCpus(session)
        self._holders: dict[int, Holders] = {}
        """Holders by column, for nodes with CPUs or NUMA nodes that are known."""
        self._given: dict[TaskId, tuple[int, CpuChoice]] = {}
        """Column and choice of the tasks that this session placed."""
        self._known: dict[Hashable, CpuChoice | str] = {}
        self._planned: tuple[Hashable, CpuChoice | str] | None = None
        """The last plan, and when it was made: the ledgers of one placement see the same one."""
        self._is_filtering = False
        """Whether a Reservation is filtered. Plugins that give hints then ask for the Reservation of the task."""
        self.unread: list[tuple[Task, str]] = []
        """Tasks on nodes whose annotations cannot be read, with a message."""

    # Demand -----------------------------------------------------------------------------------------------------------

    def demand(self, task: Task) -> CpuDemand | None:
        """Return the demand of a template's tasks; None if they request nothing or the demand cannot be read."""
        number = task.template.number
        if number not in self._demands:
            try:
                self._demands[number] = demand_of(task, self._args.default_policy)
            except ValueError as error:
                self._demands[number], self._faults[number] = None, str(error)
        return self._demands[number]

    def concern(self, task: Task) -> CpuDemand | None:
        """Return the demand of a task if this plugin decides about it on some node."""
        demand = self.demand(task)
        if demand is None or not (demand.binds or demand.numa.policy or demand.designated or self._any_decides):
            return None
        return demand

    def refuse_unreadable(self, task: Task) -> Refusal | None:
        """Refuse a task whose demand cannot be read, or whose CPUs are not a whole number."""
        self.demand(task)
        fault = self._faults.get(task.template.number)
        if fault is None:
            return None
        return Refusal(plugin=self._plugin, reason="InvalidCPURequest", message=fault, resolvable=False)

    # Verdicts ---------------------------------------------------------------------------------------------------------

    def never(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes that never take a task, shape (columns,)."""
        demand = self.concern(task)
        if demand is None:
            return None
        _, first, kinds = np.unique(self._kind_of[columns.index], return_index=True, return_inverse=True)
        why = [never_fits(self.nodes[column], demand) for column in columns.index[first].tolist()]
        verdicts: ReasonArray = np.array([reasons.never(text) if text else 0 for text in why], dtype=np.uint8)[kinds]
        if demand.designated is not None and demand.designated.nodes:
            names = self._session.nodes.table.names
            others = [names[column] not in demand.designated.nodes for column in columns.index.tolist()]
            verdicts[others] = reasons.never(reasons.NOT_HINTED)
        return verdicts

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes without free CPUs or NUMA amounts, shape (columns,). What is being released counts as free."""
        demand = self.concern(task)
        if demand is None:
            return None
        texts = reasons.reasons_now(demand.request)
        row = self._session.resources.rows[CPU]
        viewed, allocatable = columns.viewed[row], columns.allocatable[row]

        def verdict(place: int, column: int) -> int:
            if self.nodes[column].cpu_ratio is not None:
                left = int(allocatable[place] - viewed[place]) - self.amplification(task, column, in_future=True)
                if demand.cpu_millis > left:
                    return reasons.now(texts, reasons.AMPLIFIED)
            choice = self.choice(task, column, in_future=True)
            return reasons.now(texts, choice) if isinstance(choice, str) else 0

        return self.by_state(task, columns.index, verdict).astype(np.uint8)

    def by_state(self, task: Task, index: IntArray, ask: Callable[[int, int], float]) -> FloatArray:
        """Call a function once for all nodes in an equal state, and for each node whose answer depends on more.

        Args:
            task: The task for which it is called; this plugin decides about it.
            index: Columns, shape (n,).
            ask: Given the position of a node and its column, returns the answer.

        Returns:
            The answers, shape (n,).
        """
        if index.size == 1:
            return np.array([ask(0, int(index[0]))], dtype=np.float64)
        states, alone = self._states()[index], self._is_alone(task)[index]
        answers = np.zeros(index.size)
        for place in np.flatnonzero(alone).tolist():
            answers[place] = ask(place, int(index[place]))
        alike = np.flatnonzero(~alone)
        _, first, numbers = np.unique(states[alike], return_index=True, return_inverse=True)
        found = np.array([ask(place, int(index[place])) for place in alike[first].tolist()], dtype=np.float64)
        answers[alike] = found[numbers]
        return answers

    def _states(self) -> IntArray:
        """Return the number of each node's state, shape (N,): its kind, and what will be in use."""
        log = self._session.nodes.log
        if self._state_of is None:
            self._state_of = np.array([self._state(column) for column in range(len(self.nodes))], dtype=np.int64)
        for column in set(log[self._cursor :]):
            self._state_of[column] = self._state(column)
        self._cursor = len(log)
        return self._state_of

    def _state(self, column: int) -> int:
        state = (int(self._kind_of[column]), self.usage(column, in_future=True))
        return self._numbers.setdefault(state, len(self._numbers))

    def _is_alone(self, task: Task) -> BoolArray:
        """Return which nodes may answer otherwise than others in their state, shape (N,).

        Amplified CPU is compared with the amounts of the node. Reservations and devices differ.
        """
        demand, alone = self.demand(task), self._is_amplified | self._reserved.differs_on(task, len(self.nodes))
        if self._session.extensions.gives_numa_hints and demand is not None:
            alone |= bool(demand.numa.policy) | self._is_aligned
        return alone

    def reasons_of(self, task: Task) -> Sequence[Reason]:
        """Return the meanings of `verdicts`."""
        demand = self.demand(task)
        return tuple(map(Reason, reasons.reasons_now(() if demand is None else demand.request)))

    def amplified(self, index: IntArray) -> BoolArray:
        """Return which of some nodes have amplified CPU, shape (n,)."""
        return self._is_amplified[index]

    def aligned(self, demand: CpuDemand, index: IntArray) -> BoolArray:
        """Return on which of some nodes a NUMA policy is in force for a pod, shape (n,)."""
        found: BoolArray = self._is_aligned[index]
        return np.ones_like(found) if demand.numa.policy else found

    def amplification(self, task: Task, column: int, *, in_future: bool, is_placed: bool = False) -> int:
        """Return the CPU that counts in addition to requests, since CPUs of pods' own count amplified, thousandths.

        CPUs that the task gets of a Reservation count once.

        Args:
            task: A task that this plugin decides about, with its own CPUs.
            column: Column of the node.
            in_future: Whether what is being released counts as free.
            is_placed: Whether the task has its capacity of a Reservation already.
        """
        node, demand, holders = self.nodes[column], self.demand(task), self.holders.get(column)
        assert demand is not None, "a task without a demand has no CPUs"
        source = (self._reserved.source_placed if is_placed else self._reserved.source)(task, column, holders)
        own = demand.cpu_millis if node.binds(demand) else 0
        bound = 0
        if holders is not None:
            cpus = holders.usage(in_future=in_future).cpus
            others = holders.usage(in_future=in_future, without=source.without).cpus
            bound = max(cpus.bit_count() * MILLI - own, others.bit_count() * MILLI)
        ratio = node.cpu_ratio
        return amplified(bound, ratio) - bound + amplified(own, ratio) - own

    # Choices ----------------------------------------------------------------------------------------------------------

    def choice(self, task: Task, column: int, *, in_future: bool) -> CpuChoice | str:
        """Return what a task would get on a node, or the reason of a refusal.

        Args:
            task: A task that this plugin decides about.
            column: Column of the node.
            in_future: Whether what is being released counts as free.
        """
        if not self._pending.is_built:
            self._build()
        return self._choice(
            task, column, self._reserved.source(task, column, self._holders.get(column)), in_future=in_future
        )

    def refuse_reservation(self, task: Task, reservation: ReservationView) -> str | None:
        """Return why a task cannot use a Reservation because of its CPUs or NUMA nodes; None if it can (R31)."""
        if self.concern(task) is None or self._is_filtering:
            return None
        if not self._pending.is_built:
            self._build()
        source = self._reserved.source_in(reservation.id)
        if source is NO_SOURCE:
            return None
        self._is_filtering = True
        try:
            choice = self._choice(task, reservation.column, source, in_future=True)
        finally:
            self._is_filtering = False
        if isinstance(choice, str):
            return choice
        reserved = mask_of(node for node, _ in source.preferred.amounts)
        is_apart = choice.nodes is not None and reserved and not choice.nodes & reserved
        return reasons.OTHER_NUMA_NODES if is_apart else None

    def _choice(self, task: Task, column: int, source: Source, *, in_future: bool) -> CpuChoice | str:
        demand, node = self.demand(task), self.nodes[column]
        assert demand is not None, "a task without a demand has no choice"
        why = never_fits(node, demand)
        if why:
            return why
        if not node.binds(demand) and not node.numa_policy_for(demand):
            return CpuChoice()
        hints: dict[str, tuple[NumaHint, ...]] = {}
        if node.numa_policy_for(demand) and node.numa_nodes:
            found = self._session.extensions.numa_hints(task, column, node.numa_nodes, in_future=in_future)
            hints = {name: tuple(each) for name, each in found.items()}
        holders = self.holders.get(column)
        usage = NOTHING_USED if holders is None else holders.usage(in_future=in_future, without=source.without)
        seen = source._replace(without=())  # the usage is without them
        key = (int(self._kind_of[column]), task.template.number, usage, seen, tuple(sorted(hints.items())))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            strategy = self._args.numa_scoring.type
            state = NodeState(node, usage, demand, self._numa_scoring, strategy=strategy, source=source)
            known = self._known[key] = state.choose(hints)
        return known

    def plan(self, task: Task, column: int, in_future: bool) -> int | None:  # as in `NumaPlan`
        """Return the NUMA nodes of a task on a node; None if it is not aligned there, 0 if no set serves it."""
        given = self._given.get(task.id)
        if given is not None and given[0] == column:
            return given[1].nodes
        if self.concern(task) is None:
            return None
        choice = self._plan(task, column, in_future=in_future)
        return 0 if isinstance(choice, str) else choice.nodes

    def _plan(self, task: Task, column: int, *, in_future: bool) -> CpuChoice | str:
        """Return the choice for a placement. Ledgers of other plugins may have counted it already, so it is kept."""
        key = (task.id, column, in_future, len(self._session.nodes.log))
        if self._planned is None or self._planned[0] != key:
            if not self._pending.is_built:
                self._build()
            source = self._reserved.source_placed(task, column, self._holders.get(column))
            self._planned = (key, self._choice(task, column, source, in_future=in_future))
        return self._planned[1]

    # Holders ----------------------------------------------------------------------------------------------------------

    @property
    def holders(self) -> Mapping[int, Holders]:
        """Holders by column. Read-only."""
        if not self._pending.is_built:
            self._build()
        return self._holders

    def usage(self, column: int, *, in_future: bool) -> CpuUsage:
        """Return what is in use on a node now, or when leaving pods are gone."""
        holders = self.holders.get(column)
        return NOTHING_USED if holders is None else holders.usage(in_future=in_future)

    def _build(self) -> None:
        table = self._session.nodes.table
        for column, node in enumerate(self.nodes):
            if node.topology.layout is None and not node.topology.zones:
                continue
            holders = self._holders[column] = Holders(node.topology.layout)
            tasks = table.tasks[column]
            self._reserved.read(column, tasks, partial(self._read, node))
            for task in tasks.values():
                if RESOURCE_STATUS in task.pod.metadata.annotations and not self._reserved.keeps(task):
                    self._read_held(holders, column, task)
            self._reserved.count(column, holders)
        for change, sign in self._pending.build():
            self._release(change, sign)

    def _read_held(self, holders: Holders, column: int, task: Task) -> None:
        """Count what the annotation of a task on a node says."""
        holding = self._read(self.nodes[column], task)
        if holding.cpus or holding.amounts:
            leaves = task.status is TaskStatus.RELEASING
            holders.put(task.id, holding, leaves=leaves)
            self._reserved.note(holders, column, task, holding, leaves=leaves)

    def _read(self, node: CpuNode, task: Task) -> Holding:
        """Return what the annotation of a task on a node says."""
        try:
            status = read_status(task.pod.metadata.annotations)
        except ValueError as error:
            self.unread.append((task, f"{error}; the pod holds no CPUs"))
            return Holding()
        return holding_of(task, status, node.topology.layout, self._request(task))

    def _request(self, task: Task) -> Mapping[str, int]:
        """Return what limits the annotation of a task: its request, or what the Reservation has that it stands for.

        A Reservation that has expired has nothing.
        """
        if self._session.reserved.has_expired(task.id):
            return NO_AMOUNTS
        reserved = self._session.snapshot.reservations.get(task.id)
        return task.template.request if reserved is None else reserved.amounts

    # Ledger -----------------------------------------------------------------------------------------------------------

    def chooses_for(self, task: Task) -> bool:
        """Return whether CPUs or NUMA nodes are chosen for a task. The choice depends on earlier placements."""
        return self.concern(task) is not None

    def apply(self, change: Change) -> Refusal | None:
        """Allocate CPUs and amounts to placed tasks, and release those of evicted ones."""
        if change.verb is Verb.EVICT:
            if not self._pending.record(change, -1):
                self._release(change, -1)
            return None
        if self.concern(change.tasks[0]) is None:
            return None
        for done, (task, column) in enumerate(zip(change.tasks, change.columns, strict=True)):
            choice = self._plan(task, column, in_future=change.verb is Verb.PIPELINE)
            if change.verb is Verb.ALLOCATE and self._lacks_amplified(task, column):
                choice = reasons.AMPLIFIED
            if isinstance(choice, str):
                self._take_back(change.tasks[:done])
                name = self._session.nodes.table.names[column]
                return Refusal(plugin=self._plugin, reason=NO_CPUS, message=f"{name}: {choice}")
            self._put(task, column, choice)
        return None

    def _lacks_amplified(self, task: Task, column: int) -> bool:
        """Return whether a node lacks amplified CPU for a task now; verdicts count what is being released as free.

        The amounts of the node include the task already, its CPUs do not.
        """
        demand = self.demand(task)
        if demand is None or not demand.cpu_millis or self.nodes[column].cpu_ratio is None:
            return False
        idle = int(self._session.nodes.one(column).idle[self._session.resources.rows[CPU], 0])
        return self.amplification(task, column, in_future=False, is_placed=True) > idle

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        if change.verb is not Verb.EVICT:
            self._take_back(change.tasks)
        elif not self._pending.record(change, 1):
            self._release(change, 1)

    def _put(self, task: Task, column: int, choice: CpuChoice) -> None:
        self._given[task.id] = (column, choice)
        self._planned = None
        holders, demand = self.holders.get(column), self.demand(task)
        if holders is not None and demand is not None and (choice.cpus or choice.amounts):
            holding = Holding(choice.cpus, choice.amounts, demand.exclusive if choice.cpus else "")
            holders.put(task.id, holding)
            self._reserved.note(holders, column, task, holding)
            self._reserved.take_over(holders, task, holding)

    def _take_back(self, tasks: Sequence[Task]) -> None:
        self._planned = None
        for task in tasks:
            given = self._given.pop(task.id, None)
            holders = None if given is None else self.holders.get(given[0])
            if holders is not None:
                self._reserved.leave_alone(task)
                holders.take(task.id)
                self._reserved.forget(holders, task)

    def _release(self, change: Change, sign: int) -> None:
        self._planned = None
        for task, column in zip(change.tasks, change.columns, strict=True):
            holders = self._holders.get(column)
            if holders is None:
                continue
            if sign < 0:
                holders.leave(task.id)
                self._reserved.leave(holders, task)
            else:
                holders.stay(task.id)
                if task.id in holders.staying:
                    self._reserved.note(holders, column, task, holders.staying[task.id])

    # Bindings ---------------------------------------------------------------------------------------------------------

    def annotations(self, task: Task, column: int) -> Mapping[str, str]:
        """Return the annotations of a task's binding: what it was given, and the policy in force."""
        given, demand = self._given.get(task.id), self.demand(task)
        if given is None or demand is None or not (given[1].cpus or given[1].amounts):
            # the agent would apply what a pod brings along, such as CPUs of other pods
            return {RESOURCE_STATUS: "{}"} if RESOURCE_STATUS in task.pod.metadata.annotations else {}
        found = {RESOURCE_STATUS: write_status(ResourceStatus(given[1].cpus, given[1].amounts))}
        node = self.nodes[column]
        completed = _completed(demand.spec, node, demand) if node.binds(demand) else demand.spec
        if completed != demand.spec:
            found[RESOURCE_SPEC] = write_resource_spec(completed)
        return found

    def given(self) -> Iterator[tuple[TaskId, int, CpuChoice]]:
        """Yield the tasks that this session placed, with their columns and what they were given."""
        for task, (column, choice) in self._given.items():
            yield task, column, choice


def _completed(spec: ResourceSpec, node: CpuNode, demand: CpuDemand) -> ResourceSpec:
    """Return the CPU policies of a pod with the policy in force, where it states none or the default (R26)."""
    required: Any = node.required_policy(demand)
    policy: Any = node.policy(demand)
    if required and spec.required in {"", DEFAULT_POLICY}:
        spec = ResourceSpec(required, spec.preferred, spec.exclusive)
    if spec.preferred == DEFAULT_POLICY or not (spec.required or spec.preferred):
        spec = ResourceSpec(spec.required, policy, spec.exclusive)
    return spec
