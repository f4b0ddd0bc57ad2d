"""Node store: tasks by node, and the columns of nodes.

An entry is created when a pod or a Node object first names a node. Its tasks stay accounted while the Node object is
missing, so that a node that is created again has the same usage. The table contains only nodes with an object that this
scheduler may use.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from pyroclast.cache.stores.amounts.columns import Matrix, frozen
from pyroclast.cache.stores.amounts.uncounted import Uncounted, beyond
from pyroclast.cache.translation.template_deltas import NODE_SEGMENTS, TemplateDeltas
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.nodes import Node, NodeFacts, NodeTable, StateRows
from pyroclast.model.resources import NO_AMOUNTS, Amounts, ResourceSpace
from pyroclast.model.tasks import Task, TaskStatus, by_name

__all__ = ["NodeStore", "occupies_node"]

_FINISHED = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
_REPORTED, _ALLOCATABLE = 5, 6


def occupies_node(task: Task) -> bool:
    """Return whether a task uses resources of a node."""
    return task.node is not None and task.status not in _FINISHED


@dataclass(slots=True, eq=False)
class _Entry:
    """A node that an object or a pod names."""

    column: int
    node: Node | None = None
    tasks: dict[TaskId, Task] = field(default_factory=dict)
    is_sorted: bool = True

    def frozen_tasks(self) -> Mapping[TaskId, Task]:
        """Return a copy of the tasks, in the order of their names."""
        if not self.is_sorted:
            self.tasks = {task.id: task for task in sorted(self.tasks.values(), key=by_name)}
            self.is_sorted = True
        return MappingProxyType(self.tasks.copy())


class NodeStore:
    """All nodes and their tasks."""

    def __init__(self, space: ResourceSpace) -> None:
        """Start without nodes."""
        self._space = space
        self._matrix = Matrix(NODE_SEGMENTS, space)
        self._entries: dict[NodeName, _Entry] = {}
        self._changed_tasks: set[NodeName] = set()
        self._order: list[_Entry] | None = None
        self._names: tuple[NodeName, ...] = ()
        self._positions: Mapping[NodeName, int] = {}
        self._columns: IntArray = np.zeros(0, dtype=np.int64)
        self._facts: NodeFacts | None = None
        self._offers: tuple[IntArray, IntArray] | None = None
        self._tasks: list[Mapping[TaskId, Task]] = []
        self._elsewhere: dict[NodeName, Amounts] = {}
        """Allocatable amounts of nodes that have an object and are not in the table."""
        self._uncounted: dict[NodeName, Mapping[TaskId, Uncounted]] = {}
        self._changed_amounts: set[NodeName] = set()
        """Nodes whose entry in `_uncounted` may be outdated."""

    def add(self, task: Task, deltas: TemplateDeltas) -> None:
        """Account a task on its node."""
        assert task.node is not None
        entry = self._entry(task.node)
        self._matrix.values[:, entry.column] += _delta(task, deltas)
        entry.tasks[task.id] = task
        entry.is_sorted = False
        self._changed_tasks.add(task.node)
        self._changed_amounts.add(task.node)

    def remove(self, task: Task, deltas: TemplateDeltas) -> None:
        """Remove a task from its node."""
        assert task.node is not None
        entry = self._entries[task.node]
        self._matrix.values[:, entry.column] -= _delta(task, deltas)
        del entry.tasks[task.id]
        self._changed_tasks.add(task.node)
        self._changed_amounts.add(task.node)
        self._tidy(task.node, entry)

    def exchange(self, old: Task, new: Task, deltas: TemplateDeltas) -> None:
        """Replace an older state of a task by a newer one on the same node."""
        assert new.node is not None
        entry = self._entries[new.node]
        before, after = _delta(old, deltas), _delta(new, deltas)
        if before is not after:
            self._matrix.values[:, entry.column] += after - before
        entry.tasks[new.id] = new
        self._changed_tasks.add(new.node)
        if before is not after or old.status is not new.status or new.node in self._uncounted:
            self._changed_amounts.add(new.node)

    def set_node(self, name: NodeName, node: Node | None, *, elsewhere: Amounts | None = None) -> None:
        """Add a node to the table, update it, or remove it.

        Args:
            name: The name of the node.
            node: The node; None if it is not in the table.
            elsewhere: The allocatable amounts of a node that is not in the table; None if it has no object.
        """
        if elsewhere is None:
            self._elsewhere.pop(name, None)
        else:
            self._elsewhere[name] = elsewhere
        if node is None and name not in self._entries:
            return
        entry = self._entry(name)
        if (entry.node is None) != (node is None):
            self._order = None
        entry.node = node
        self._facts = self._offers = None
        self._changed_amounts.add(name)
        reported = allocatable = self._space.vector(elsewhere or NO_AMOUNTS)
        if node is not None:
            reported = self._space.vector(node.allocatable)
            allocatable = reported + self._space.vector(node.oversubscribed)
        self._matrix.values[self._matrix.slices[_REPORTED], entry.column] = reported
        self._matrix.values[self._matrix.slices[_ALLOCATABLE], entry.column] = allocatable
        self._tidy(name, entry)

    def has_object(self, name: NodeName) -> bool:
        """Return whether a node has an object, in the table or not."""
        return name in self._elsewhere or self.node(name) is not None

    def node(self, name: NodeName) -> Node | None:
        """Return a node of the table."""
        entry = self._entries.get(name)
        return None if entry is None else entry.node

    def tasks_on(self, name: NodeName) -> Mapping[TaskId, Task]:
        """Return the live tasks on a node, in the table or not."""
        entry = self._entries.get(name)
        return {} if entry is None else entry.tasks

    def nodes(self) -> Iterable[Node]:
        """Return all nodes of the table."""
        return (entry.node for entry in self._entries.values() if entry.node is not None)

    def idle(self, name: NodeName) -> IntArray:
        """Return the idle amounts of a node of the table, base units, shape (resources,)."""
        column = self._entries[name].column
        offered: IntArray = self._matrix.values[self._matrix.slices[_ALLOCATABLE], column]
        idle: IntArray = offered - self._matrix.values[self._matrix.slices[0], column]
        return idle

    def uncounted(self, deltas: TemplateDeltas) -> Iterable[Uncounted]:
        """Return the tasks that request more than their nodes offer. Only changed nodes are computed again."""
        names = sorted(name for name in self._changed_amounts if name in self._entries)
        for name in self._changed_amounts:
            self._uncounted.pop(name, None)
        self._changed_amounts.clear()
        columns = np.array([self._entries[name].column for name in names], dtype=np.int64)
        used = self._matrix.values[: len(self._space), columns]
        offered = self._matrix.values[self._matrix.slices[_ALLOCATABLE]][:, columns]
        for position in np.flatnonzero((used > offered).any(axis=0)).tolist():
            tasks = self._entries[names[position]].tasks.values()
            if found := beyond(tasks, offered[:, position], deltas):
                self._uncounted[names[position]] = found
        return [each for name in sorted(self._uncounted) for each in self._uncounted[name].values()]

    def elsewhere(self) -> Mapping[NodeName, Amounts]:
        """Return the allocatable amounts of nodes that have an object and are not in the table."""
        return self._elsewhere

    def respace(self, space: ResourceSpace) -> None:
        """Move the amounts to another resource space."""
        self._matrix.respace(space)
        self._space = space
        self._offers = None
        self._uncounted.clear()
        self._changed_amounts.update(self._entries)
        for name, entry in self._entries.items():
            if entry.node is None:
                self._write_elsewhere(name, entry)

    def names(self) -> tuple[NodeName, ...]:
        """Return the names of the nodes of the table, ascending."""
        self._sort()
        return self._names

    def table(self, in_shard: Callable[[tuple[NodeName, ...]], BoolArray]) -> NodeTable:
        """Return the current nodes. The cost depends on the number of changes, plus a copy of the changing amounts."""
        self._sort()
        self._copy_changed_tasks()
        facts, (reported, allocatable) = self._current_facts(), self._current_offers()
        rows = StateRows(len(self._space))
        return NodeTable(
            names=self._names,
            column=self._positions,
            facts=facts,
            rows=rows,
            state=frozen(np.take(self._matrix.values[: rows.height], self._columns, axis=1)),
            allocatable=allocatable,
            reported=reported,
            tasks=tuple(self._tasks),
            in_shard=in_shard(self._names),
        )

    def _entry(self, name: NodeName) -> _Entry:
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = _Entry(self._matrix.take())
            self._write_elsewhere(name, entry)
        return entry

    def _write_elsewhere(self, name: NodeName, entry: _Entry) -> None:
        offered = self._space.vector(self._elsewhere.get(name, NO_AMOUNTS))
        self._matrix.values[self._matrix.slices[_ALLOCATABLE], entry.column] = offered

    def _tidy(self, name: NodeName, entry: _Entry) -> None:
        """Remove the entry of a node without an object and without tasks."""
        if entry.node is None and not entry.tasks:
            self._matrix.give_back(entry.column)
            del self._entries[name]

    def _sort(self) -> None:
        if self._order is not None:
            return
        present = sorted((name, entry) for name, entry in self._entries.items() if entry.node is not None)
        self._order = [entry for _, entry in present]
        self._names = tuple(name for name, _ in present)
        self._positions = MappingProxyType({name: position for position, name in enumerate(self._names)})
        self._columns = np.array([entry.column for entry in self._order], dtype=np.int64)
        self._facts = self._offers = None
        self._tasks = [entry.frozen_tasks() for entry in self._order]
        self._changed_tasks.clear()

    def _copy_changed_tasks(self) -> None:
        for name in self._changed_tasks:
            position = self._positions.get(name)
            if position is not None:
                self._tasks[position] = self._entries[name].frozen_tasks()
        self._changed_tasks.clear()

    def _current_facts(self) -> NodeFacts:
        if self._facts is None:
            assert self._order is not None
            self._facts = NodeFacts(nodes=tuple(entry.node for entry in self._order if entry.node is not None))
        return self._facts

    def _current_offers(self) -> tuple[IntArray, IntArray]:
        if self._offers is None:
            values, slices = self._matrix.values, self._matrix.slices
            self._offers = (
                frozen(np.take(values[slices[_REPORTED]], self._columns, axis=1)),
                frozen(np.take(values[slices[_ALLOCATABLE]], self._columns, axis=1)),
            )
        return self._offers


def _delta(task: Task, deltas: TemplateDeltas) -> IntArray:
    return deltas.on_node(task.template, releasing=task.status is TaskStatus.RELEASING)
