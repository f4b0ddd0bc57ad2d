"""Nodes of a session: the live amounts, the tasks on each node, and what plugins are shown of them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from pyroclast.framework.state.caller import Caller
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.nodes import Node, NodeFacts, NodeTable, StateRows
from pyroclast.model.resources import UNLIMITED, ResourceSpace
from pyroclast.model.sealed import SealedDict, SealedList
from pyroclast.model.tasks import Task, TaskTemplate

__all__ = ["Needs", "NodeColumns", "NodeView", "SessionNodes"]


class NodeColumns:
    """Some columns of the node table, as array functions see them: n columns, R resources, read only.

    The amounts may be hypothetical ("with two more such tasks on it"): a function of locality `AMOUNTS` reads them from
    here and nowhere else.
    """

    __slots__ = ("_state", "allocatable", "facts", "index", "is_all", "reported", "rows")

    def __init__(
        self,
        index: IntArray,
        state: IntArray,
        allocatable: IntArray,
        reported: IntArray,
        *,
        rows: StateRows,
        facts: NodeFacts,
        is_all: bool,
    ) -> None:
        self.index = index
        """Column numbers in the table, shape (n,)."""
        self._state = state
        self.allocatable = allocatable
        """Allocatable resources of each node, shape (R, n)."""
        self.reported = reported
        """The same without oversubscription, shape (R, n)."""
        self.rows = rows
        self.facts = facts
        """Facts of all nodes of the table; take `index` of what is derived from them."""
        self.is_all = is_all
        """Whether these are all columns in order, so that nothing need be picked by `index`."""

    def __len__(self) -> int:
        """Return the number of columns."""
        return self.index.size

    def seen_as(
        self,
        *,
        allocatable: IntArray | None = None,
        used: IntArray | None = None,
        releasing: IntArray | None = None,
        pipelined: IntArray | None = None,
        facts: NodeFacts | None = None,
    ) -> "NodeColumns":
        """Return the columns with other amounts, each of shape (R, n), or facts; None leaves a part as it is.

        What is used more or less also counts for Kubernetes' filters (`viewed`).
        """
        changed = ((self.rows.releasing, releasing), (self.rows.pipelined, pipelined))
        state = self._state
        if used is not None or any(amounts is not None for _, amounts in changed):
            state = state.copy()
            if used is not None:
                state[self.rows.viewed] += used - state[self.rows.used]
                state[self.rows.used] = used
            for rows, amounts in changed:
                if amounts is not None:
                    state[rows] = amounts
            state.flags.writeable = False
        return NodeColumns(
            self.index,
            state,
            self.allocatable if allocatable is None else allocatable,
            self.reported if allocatable is None else np.minimum(self.reported, allocatable),
            rows=self.rows,
            facts=self.facts if facts is None else facts,
            is_all=self.is_all,
        )

    @property
    def used(self) -> IntArray:
        """Requests of what runs or is about to, shape (R, n)."""
        return self._state[self.rows.used]

    @property
    def releasing(self) -> IntArray:
        """Requests of what is being deleted (also part of `used`), shape (R, n)."""
        return self._state[self.rows.releasing]

    @property
    def pipelined(self) -> IntArray:
        """Requests of what waits for released capacity, shape (R, n)."""
        return self._state[self.rows.pipelined]

    @property
    def viewed(self) -> IntArray:
        """Requests of pods as Kubernetes' filters see them (pipelined present, evicted gone), shape (R, n)."""
        return self._state[self.rows.viewed]

    @property
    def scored(self) -> IntArray:
        """Non-zero requests of those pods, cpu in thousandths and memory in bytes, shape (2, n)."""
        return self._state[self.rows.scored]

    @property
    def idle(self) -> IntArray:
        """Capacity that is free now, shape (R, n); may be negative."""
        return self.allocatable - self.used

    @property
    def future_idle(self) -> IntArray:
        """Resources that will be free when releasing tasks are gone, shape (R, n)."""
        return self.allocatable - self.used + self.releasing - self.pipelined


class NodeView:
    """One node, as functions of one task and one node see it; read only."""

    __slots__ = ("_nodes", "column")

    def __init__(self, nodes: "SessionNodes", column: int) -> None:
        self._nodes = nodes
        self.column = column

    @property
    def name(self) -> NodeName:
        """Name of the node."""
        return self._nodes.table.names[self.column]

    @property
    def facts(self) -> Node:
        """Labels, taints, annotations and other fields of the Node object."""
        return self._nodes.table.facts.nodes[self.column]

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the node."""
        return MappingProxyType(self.facts.labels)

    @property
    def tasks(self) -> Mapping[TaskId, Task]:
        """Tasks on the node, those of this session included."""
        return MappingProxyType(self._nodes.tasks_on(self.column))

    @property
    def allocatable(self) -> Mapping[str, int]:
        """Allocatable resources of the node, thousandths by resource name."""
        return self._amounts(self._nodes.table.allocatable[:, self.column])

    @property
    def used(self) -> Mapping[str, int]:
        """Used resources, thousandths by resource name."""
        return self._amounts(self._nodes.state[self._nodes.rows.used, self.column])

    @property
    def idle(self) -> Mapping[str, int]:
        """Free resources, thousandths by resource name. A name with nothing free is absent."""
        return self._amounts(self._nodes.columns(np.array([self.column])).idle[:, 0])

    @property
    def future_idle(self) -> Mapping[str, int]:
        """Future free resources, thousandths by resource name. A name with nothing free is absent."""
        return self._amounts(self._nodes.columns(np.array([self.column])).future_idle[:, 0])

    def _amounts(self, vector: IntArray) -> Mapping[str, int]:
        return MappingProxyType(self._nodes.resources.amounts(vector))


class _TransformedView(NodeView):
    """One node of some columns that show it otherwise than it is."""

    __slots__ = ("_position", "_seen")

    def __init__(self, nodes: "SessionNodes", column: int, seen: NodeColumns, position: int) -> None:
        super().__init__(nodes, column)
        self._seen, self._position = seen, position

    @property
    def facts(self) -> Node:
        return self._seen.facts.nodes[self.column]

    @property
    def allocatable(self) -> Mapping[str, int]:
        return self._amounts(self._seen.allocatable[:, self._position])

    @property
    def used(self) -> Mapping[str, int]:
        return self._amounts(self._seen.used[:, self._position])

    @property
    def idle(self) -> Mapping[str, int]:
        return self._amounts(self._seen.idle[:, self._position])

    @property
    def future_idle(self) -> Mapping[str, int]:
        return self._amounts(self._seen.future_idle[:, self._position])


class Needs:
    """Changes to a column of the state by a task of one template, one vector per verb."""

    __slots__ = ("_changes", "_rows", "_scored", "amounts", "checked", "request", "thresholds")

    def __init__(self, template: TaskTemplate, resources: ResourceSpace, rows: StateRows) -> None:
        self.request = resources.vector(template.request)
        """Request in base units, shape (R,)."""
        self.amounts: SealedList[int] = SealedList(self.request.tolist())
        """The same as a list, for arithmetic on single rows."""
        asked = {resources.rows[name] for name in template.request if name in resources.rows} | {0, 1, 2}
        self.checked: IntArray = np.array(sorted(asked), dtype=np.int64)
        """Rows that must fit: cpu, memory and pods always, other resources when asked for."""
        self.thresholds: IntArray = np.full((len(resources), 1), -UNLIMITED, dtype=np.int64)
        """Least capacity that must be free, shape (R, 1): the request in `checked` rows, far below 0 elsewhere."""
        self.thresholds[self.checked, 0] = self.request[self.checked]
        self._rows = rows
        self._scored = template.scored_cpu_millis, template.scored_memory_bytes
        self._changes: dict[str, IntArray] = {}
        """Vectors by verb, computed on demand, because most waiting templates are not placed."""
        for array in (self.checked, self.thresholds):
            array.setflags(write=False)

    @property
    def allocate(self) -> IntArray:
        """Change by a task that is placed on free resources, shape (rows.height,)."""
        return self._change("allocate", used=1, viewed=1)

    @property
    def pipeline(self) -> IntArray:
        """Change by a task that is placed on resources that are being released, shape (rows.height,)."""
        return self._change("pipeline", pipelined=1, viewed=1)

    @property
    def evict(self) -> IntArray:
        """Change by the eviction of a task, shape (rows.height,)."""
        return self._change("evict", releasing=1, viewed=-1)

    def _change(self, verb: str, **signs: int) -> IntArray:
        change = self._changes.get(verb)
        if change is None:
            change = self._changes[verb] = self._delta(**signs)
            change.setflags(write=False)
        return change

    def _delta(self, *, used: int = 0, releasing: int = 0, pipelined: int = 0, viewed: int = 0) -> IntArray:
        rows = self._rows
        delta = np.zeros(rows.height, dtype=np.int64)
        delta[rows.used] = used * self.request
        delta[rows.releasing] = releasing * self.request
        delta[rows.pipelined] = pipelined * self.request
        delta[rows.viewed] = viewed * self.request
        delta[rows.scored] = np.array(self._scored, dtype=np.int64) * viewed
        return delta


class SessionNodes:
    """The node table of a session: the snapshot's facts, amounts of its own, and a log of touched columns."""

    __slots__ = (
        "_all",
        "_caller",
        "_capacities",
        "_moved",
        "_needs",
        "_state",
        "log",
        "resources",
        "rows",
        "state",
        "table",
        "uncounted",
    )

    def __init__(
        self,
        table: NodeTable,
        resources: ResourceSpace,
        *,
        uncounted: Mapping[TaskId, IntArray] | None = None,
        caller: Caller | None = None,
    ) -> None:
        self._caller = caller or Caller()
        self.uncounted: Mapping[TaskId, IntArray] = SealedDict() if uncounted is None else uncounted
        """Requested resources that no node offers, so that they do not count for queues, by task, shape (R,)."""
        self.table = table
        self.resources = resources
        self.rows = table.rows
        self._state: IntArray = table.state.copy()
        """Live amounts, shape (rows.height, N): written by statements alone."""
        self.state: IntArray = self._state.view()
        """The same, to be read."""
        self.state.flags.writeable = False
        self.log: SealedList[int] = SealedList()
        """Columns in the order in which they were touched; candidates keep a cursor into it."""
        self._moved: dict[int, SealedDict[TaskId, Task]] = {}
        self._needs: dict[int, Needs] = {}
        self._capacities: dict[int, bytes] = {}
        self._all: IntArray = np.arange(len(table), dtype=np.int64)
        self._all.flags.writeable = False

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.table)

    @property
    def facts(self) -> NodeFacts:
        """Facts of the Node objects, in column order."""
        return self.table.facts

    def needs(self, template: TaskTemplate) -> Needs:
        """Return what a task of this template takes."""
        needs = self._needs.get(template.number)
        if needs is None:
            needs = self._needs[template.number] = Needs(template, self.resources, self.rows)
        return needs

    def counted_amounts(self, task: Task) -> list[int]:
        """Return what counts of a task for its queue or quota, base units by row; do not write.

        That is its request, of a task on a node as far as the node offers it.
        """
        uncounted = self.uncounted.get(task.id)
        amounts: list[int] = self.needs(task.template).amounts
        return (
            amounts
            if uncounted is None
            else [each - more for each, more in zip(amounts, uncounted.tolist(), strict=True)]
        )

    def columns(self, index: IntArray | None = None) -> NodeColumns:
        """Show some columns, or all of them."""
        if index is None:
            return self._bundle(self._all, self.state, self.table.allocatable, self.table.reported, is_all=True)
        return self.supposing(index, self.state[:, index])

    @property
    def is_releasing(self) -> bool:
        """Whether capacity is being released on some node."""
        return bool(self.state[self.rows.releasing].any())

    def future_idle_key(self, names: Sequence[NodeName]) -> bytes:
        """Return a key of the capacity that is free now or later on some nodes; empty if one of them is gone."""
        columns = [self.table.column.get(name) for name in names]
        if None in columns:
            return b""
        return self.columns(np.array(columns, dtype=np.int64)).future_idle.tobytes()

    def amounts_key(self, column: int) -> bytes:
        """Return a key of all amounts of a node. Nodes with equal keys are equal to a rule that checks only amounts."""
        capacity = self._capacities.get(column)
        if capacity is None:
            table = self.table
            capacity = table.allocatable[:, column].tobytes() + table.reported[:, column].tobytes()
            self._capacities[column] = capacity
        return self.state[:, column].tobytes() + capacity

    def one(self, column: int) -> NodeColumns:
        """Show one column: cheaper than `columns`, for it copies nothing; it shows later changes too."""
        where = slice(column, column + 1)
        table = self.table
        state = self.state[:, where]
        allocatable = table.allocatable[:, where]
        same = table.reported is table.allocatable
        return self._bundle(self._all[where], state, allocatable, allocatable if same else table.reported[:, where])

    def future_idle_on(self, column: int) -> IntArray:
        """Return a new array of one node's resources after releasing tasks are gone, shape (R,)."""
        state, rows = self.state[:, column], self.rows
        room: IntArray = self.table.allocatable[:, column] - state[rows.used] + state[rows.releasing]
        room -= state[rows.pipelined]
        return room

    def supposing(self, index: IntArray, state: IntArray) -> NodeColumns:
        """Show some columns with other amounts, shape (rows.height, n)."""
        allocatable = self.table.allocatable[:, index]
        same = self.table.reported is self.table.allocatable
        return self._bundle(index, state, allocatable, allocatable if same else self.table.reported[:, index])

    def _bundle(
        self, index: IntArray, state: IntArray, allocatable: IntArray, reported: IntArray, *, is_all: bool = False
    ) -> NodeColumns:
        return NodeColumns(index, state, allocatable, reported, rows=self.rows, facts=self.table.facts, is_all=is_all)

    def view(self, column: int, seen: NodeColumns | None = None, position: int = 0) -> NodeView:
        """Show one node; as it is at a position of some columns, if these are given."""
        return NodeView(self, column) if seen is None else _TransformedView(self, column, seen, position)

    def tasks_on(self, column: int) -> Mapping[TaskId, Task]:
        """Return the tasks on a node, those of this session included."""
        return self._moved.get(column) or self.table.tasks[column]

    def add(self, columns: Sequence[int], delta: IntArray, tasks: Sequence[Task]) -> None:
        """Put tasks of one template on nodes (or show them in another state): one column and delta for each."""
        if self._caller.guard is not None:
            self._caller.for_actions("add")
        self._shift(columns, delta)
        for column, task in zip(columns, tasks, strict=True):
            dict.__setitem__(self._tasks_to_change(column), task.id, task)

    def remove(self, columns: Sequence[int], delta: IntArray, tasks: Sequence[Task]) -> None:
        """Take tasks off nodes again: the reverse of `add` for tasks that were not there before."""
        if self._caller.guard is not None:
            self._caller.for_actions("remove")
        self._shift(columns, -delta)
        for column, task in zip(columns, tasks, strict=True):
            changed = self._tasks_to_change(column)
            dict.__delitem__(changed, task.id)
            if changed == self.table.tasks[column]:
                del self._moved[column]

    def hold(self, column: int, amounts: IntArray, returning: IntArray) -> None:
        """Count amounts of a node as used until the session closes.

        Args:
            column: The node.
            amounts: The amounts, base units, shape (R,).
            returning: Amounts that are held in addition when terminating tasks are gone, base units, shape (R,).
        """
        self._caller.for_actions("hold")
        delta = np.zeros(self.rows.height, dtype=np.int64)
        delta[self.rows.used] = delta[self.rows.viewed] = amounts
        delta[self.rows.pipelined] = returning
        self._shift([column], delta)

    def credit(
        self,
        column: int,
        *,
        used: IntArray | None = None,
        viewed: IntArray | None = None,
        pipelined: IntArray | None = None,
    ) -> None:
        """Take amounts out of what counts on a node, base units, shape (R,), because a Reservation had counted them."""
        self._caller.for_actions("credit")
        delta = np.zeros(self.rows.height, dtype=np.int64)
        for rows, amounts in ((self.rows.used, used), (self.rows.viewed, viewed), (self.rows.pipelined, pipelined)):
            if amounts is not None:
                delta[rows] = -amounts
        self._shift([column], delta)

    def _shift(self, columns: Sequence[int], delta: IntArray) -> None:
        if len(columns) == 1:
            self._state[:, columns[0]] += delta
        else:
            distinct, times = np.unique(np.asarray(columns), return_counts=True)
            self._state[:, distinct] += delta[:, None] * times
        list.extend(self.log, columns)

    def _tasks_to_change(self, column: int) -> SealedDict[TaskId, Task]:
        changed = self._moved.get(column)
        if changed is None:
            changed = self._moved[column] = SealedDict(self.table.tasks[column].items())
        return changed
