"""Node store: tasks by node, and the columns of nodes.

A node is entered when a pod or a Node object first names it. Its tasks stay accounted while the Node object is away,
so that a node that comes back is as full as it was; only nodes with an object that we may use are in the table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from pyroclast.cache.stores.columns import Matrix, frozen
from pyroclast.cache.stores.uncounted import Uncounted, beyond
from pyroclast.cache.translation.template_deltas import NODE_SEGMENTS, TemplateDeltas
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.nodes import Node, NodeFacts, NodeTable, StateRows
from pyroclast.model.resources import NO_AMOUNTS, Amounts, ResourceSpace
from pyroclast.model.tasks import Task, TaskStatus, by_name

__all__ = ["NodeStore", "takes_room"]

_FINISHED = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
_REPORTED, _ALLOCATABLE = 5, 6


def takes_room(task: Task) -> bool:
    """Tell whether a task occupies a node."""
    return task.node is not None and task.status not in _FINISHED


@dataclass(slots=True, eq=False)
class _Entry:
    """One node that was spoken of."""

    column: int
    node: Node | None = None
    tasks: dict[TaskId, Task] = field(default_factory=dict)
    is_sorted: bool = True

    def frozen_tasks(self) -> Mapping[TaskId, Task]:
        """Copy the tasks, in the order of their names."""
        if not self.is_sorted:
            self.tasks = {task.id: task for task in sorted(self.tasks.values(), key=by_name)}
            self.is_sorted = True
        return MappingProxyType(self.tasks.copy())


class NodeStore:
    """All nodes and what runs on them."""

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
        """What nodes offer that have an object and are not in the table."""
        self._uncounted: dict[NodeName, Mapping[TaskId, Uncounted]] = {}
        self._unmeasured: set[NodeName] = set()
        """Nodes of which `_uncounted` may not be true any more."""

    def add(self, task: Task, effects: TemplateDeltas) -> None:
        """Account a task that takes room on its node."""
        assert task.node is not None
        entry = self._entry(task.node)
        self._matrix.values[:, entry.column] += _effect(task, effects)
        entry.tasks[task.id] = task
        entry.is_sorted = False
        self._changed_tasks.add(task.node)
        self._unmeasured.add(task.node)

    def remove(self, task: Task, effects: TemplateDeltas) -> None:
        """Take a task off its node."""
        assert task.node is not None
        entry = self._entries[task.node]
        self._matrix.values[:, entry.column] -= _effect(task, effects)
        del entry.tasks[task.id]
        self._changed_tasks.add(task.node)
        self._unmeasured.add(task.node)
        self._tidy(task.node, entry)

    def exchange(self, old: Task, new: Task, effects: TemplateDeltas) -> None:
        """Put a newer state of a task, on the same node, in the place of an older one."""
        assert new.node is not None
        entry = self._entries[new.node]
        before, after = _effect(old, effects), _effect(new, effects)
        if before is not after:
            self._matrix.values[:, entry.column] += after - before
        entry.tasks[new.id] = new
        self._changed_tasks.add(new.node)
        if before is not after or old.status is not new.status or new.node in self._uncounted:
            self._unmeasured.add(new.node)

    def set_node(self, name: NodeName, node: Node | None, *, elsewhere: Amounts | None = None) -> None:
        """Take a node into the table, with new facts, or out of it.

        Args:
            name: Its name.
            node: The node; None where it is not one of ours.
            elsewhere: What such a node offers; None where it has no object.
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
        self._unmeasured.add(name)
        reported = allocatable = self._space.vector(elsewhere or NO_AMOUNTS)
        if node is not None:
            reported = self._space.vector(node.allocatable)
            allocatable = reported + self._space.vector(node.oversubscribed)
        self._matrix.values[self._matrix.slices[_REPORTED], entry.column] = reported
        self._matrix.values[self._matrix.slices[_ALLOCATABLE], entry.column] = allocatable
        self._tidy(name, entry)

    def has_object(self, name: NodeName) -> bool:
        """Return whether there is a node of a name, in the table or not."""
        return name in self._elsewhere or self.node(name) is not None

    def node(self, name: NodeName) -> Node | None:
        """Return a node of the table."""
        entry = self._entries.get(name)
        return None if entry is None else entry.node

    def tasks_on(self, name: NodeName) -> Mapping[TaskId, Task]:
        """Return the live tasks on a node, whether it is in the table or not."""
        entry = self._entries.get(name)
        return {} if entry is None else entry.tasks

    def nodes(self) -> Iterable[Node]:
        """Return all nodes of the table."""
        return (entry.node for entry in self._entries.values() if entry.node is not None)

    def idle(self, name: NodeName) -> IntArray:
        """Return what is neither used nor promised on a node of the table, base units, shape (resources,)."""
        column = self._entries[name].column
        offered: IntArray = self._matrix.values[self._matrix.slices[_ALLOCATABLE], column]
        idle: IntArray = offered - self._matrix.values[self._matrix.slices[0], column]
        return idle

    def uncounted(self, effects: TemplateDeltas) -> Iterable[Uncounted]:
        """Return the tasks that ask for more than their nodes offer; costs what changed."""
        names = sorted(name for name in self._unmeasured if name in self._entries)
        for name in self._unmeasured:
            self._uncounted.pop(name, None)
        self._unmeasured.clear()
        columns = np.array([self._entries[name].column for name in names], dtype=np.int64)
        used = self._matrix.values[: len(self._space), columns]
        offered = self._matrix.values[self._matrix.slices[_ALLOCATABLE]][:, columns]
        for position in np.flatnonzero((used > offered).any(axis=0)).tolist():
            tasks = self._entries[names[position]].tasks.values()
            if found := beyond(tasks, offered[:, position], effects):
                self._uncounted[names[position]] = found
        return [each for name in sorted(self._uncounted) for each in self._uncounted[name].values()]

    def elsewhere(self) -> Mapping[NodeName, Amounts]:
        """Return what nodes offer that have an object and are not in the table."""
        return self._elsewhere

    def respace(self, space: ResourceSpace) -> None:
        """Go over to a larger resource space."""
        self._matrix.respace(space)
        self._space = space
        self._offers = None
        self._uncounted.clear()
        self._unmeasured.update(self._entries)
        for name, entry in self._entries.items():
            if entry.node is None:
                self._write_elsewhere(name, entry)

    def names(self) -> tuple[NodeName, ...]:
        """Return the names of the nodes of the table, ascending."""
        self._sort()
        return self._names

    def table(self, in_shard: Callable[[tuple[NodeName, ...]], BoolArray]) -> NodeTable:
        """Return the nodes as they are now; costs what changed, and a copy of the changing amounts."""
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
        """Forget a node that nobody speaks of any more."""
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


def _effect(task: Task, effects: TemplateDeltas) -> IntArray:
    return effects.on_node(task.template, releasing=task.status is TaskStatus.RELEASING)
