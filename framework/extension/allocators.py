"""Allocators: plugins that give tasks something of a node, through one interface for questions and placements.

An allocator is registered as what the session knows already: a predicate that tries an allocation, a ledger that makes
and undoes it, annotations of the bind, and NUMA hints. The session owns which task has what, so that an allocator keeps
only what is free.

What evicted tasks give back is given only to tasks that wait for released room. So a node with an evicted holder serves
no other task at once until the pod is gone or the eviction is undone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, Protocol

import numpy as np

from pyroclast.framework.extension.contract import Allocation, Allocator, Change, Ledger, NumaHint, Verb
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task

__all__ = ["MOST_NUMA_NODES", "MOST_REASONS", "AllocatorLedger"]

MOST_NUMA_NODES: Final = 8
"""Maximum number of NUMA nodes of which all sets are tried; of more, each one alone and all together."""
MOST_REASONS: Final = 200
"""Maximum number of different reasons of an allocator in one session; others are counted under its name."""


class _Plan(Protocol):
    """Returns the NUMA nodes of a task on a node, as `Extensions.numa_plan`."""

    def __call__(self, task: Task, column: int, /, *, in_future: bool) -> int | None: ...


class AllocatorLedger(Ledger):
    """Which tasks have what from one allocator."""

    def __init__(self, plugin: str, allocator: Allocator, numa_plan: _Plan) -> None:
        self._plugin, self._allocator, self._numa_plan = plugin, allocator, numa_plan
        self._given: dict[TaskId, Allocation] = {}
        """What tasks got in this session."""
        self._taken_back: dict[TaskId, Allocation | None] = {}
        """What evicted tasks had."""
        self._evicted_on: Counter[int] = Counter()
        """Number of evicted holders by column."""
        self._reasons: list[Reason] = []

    def concerns(self, task: Task) -> bool:
        """Return whether a task gets something from the allocator."""
        return self._allocator.concerns(task)

    def chooses_for(self, task: Task) -> bool:
        """Return the same: what a task gets depends on the placements before it."""
        return self.concerns(task)

    # Questions --------------------------------------------------------------------------------------------------------

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray:
        """Try an allocation on each node, shape (columns,)."""
        found = np.zeros(len(columns), dtype=np.uint8)
        for position, column in enumerate(columns.index.tolist()):
            answer = self._try(task, column, in_future=False)
            if isinstance(answer, Reason):
                answer = self._try(task, column, in_future=True)
            if isinstance(answer, Reason):
                found[position] = self._number_of(answer)
        return found

    def reasons(self, _task: Task) -> Sequence[Reason]:
        """Return what verdicts mean."""
        return self._reasons

    def _number_of(self, reason: Reason) -> int:
        if reason not in self._reasons:
            if len(self._reasons) >= MOST_REASONS:
                reason = Reason(f"refused by {self._plugin}")
            if reason not in self._reasons:
                self._reasons.append(reason)
        return self._reasons.index(reason) + 1

    def _try(self, task: Task, column: int, *, in_future: bool, dry_run: bool = True) -> Allocation | Reason:
        numa_nodes = self._numa_plan(task, column, in_future=in_future) if self._allocator.aligns else None
        if numa_nodes == 0:
            return Reason("node(s) without NUMA nodes that serve the pod")
        return self._ask(task, column, numa_nodes, dry_run=dry_run)

    def _ask(self, task: Task, column: int, numa_nodes: int | None, *, dry_run: bool) -> Allocation | Reason:
        answer = self._allocator.allocate(task, column, numa_nodes, dry_run=dry_run)
        return Reason(answer) if isinstance(answer, str) else answer

    def numa_hints(
        self,
        task: Task,
        column: int,
        nodes: Sequence[int],
        _in_future: bool,  # as in `NumaHints`
    ) -> Mapping[str, Sequence[NumaHint]] | None:
        """Return the sets of NUMA nodes from which the allocator could serve a task, the smallest first."""
        if not self.concerns(task):
            return None
        found: list[NumaHint] = []
        for mask in _masks(nodes):
            if not isinstance(self._ask(task, column, mask, dry_run=True), Reason):
                is_least = not found or found[0].nodes.bit_count() == mask.bit_count()
                found.append(NumaHint(mask, preferred=is_least))
        return {self._plugin: found}

    def annotations(self, task: Task, _column: int) -> Mapping[str, str]:
        """Return what the binding of a task carries."""
        given = self._given.get(task.id)
        return {} if given is None else given.annotations

    # Placements -------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> Refusal | None:
        """Allocate to placed tasks, all of them or none; take back what evicted tasks had."""
        if not self.concerns(change.tasks[0]):
            return None
        done: list[tuple[Task, int]] = []
        refusal: Refusal | None = None
        try:
            for task, column in zip(change.tasks, change.columns, strict=True):
                if change.verb is Verb.EVICT:
                    self._take_back(task, column)
                else:
                    refusal = self._allocate(task, column, in_future=change.verb is Verb.PIPELINE)
                if refusal is not None:
                    break
                done.append((task, column))
        except BaseException:
            self._undo(change.verb, done)  # a refused change must not count
            raise
        if refusal is not None:
            self._undo(change.verb, done)
        return refusal

    def _allocate(self, task: Task, column: int, *, in_future: bool) -> Refusal | None:
        if not in_future and self._evicted_on[column]:
            message = "what evicted pods of the node have is not free yet"
            return Refusal(plugin=self._plugin, reason="NotAllocated", message=message)
        answer = self._try(task, column, in_future=in_future, dry_run=False)
        if isinstance(answer, Reason):
            return Refusal(
                plugin=self._plugin, reason="NotAllocated", message=answer.text, resolvable=answer.resolvable
            )
        self._given[task.id] = answer
        return None

    def revert(self, change: Change) -> None:
        """Undo `apply` of the same change."""
        if not self.concerns(change.tasks[0]):
            return
        self._undo(change.verb, list(zip(change.tasks, change.columns, strict=True)))

    def _take_back(self, task: Task, column: int) -> None:
        self._taken_back[task.id] = self._allocator.free(task, column)
        self._evicted_on[column] += 1

    def _undo(self, verb: Verb, places: Sequence[tuple[Task, int]]) -> None:
        for task, column in reversed(places):
            if verb is not Verb.EVICT:
                del self._given[task.id]
                self._allocator.free(task, column)
                continue
            self._evicted_on[column] -= 1
            had = self._taken_back.pop(task.id)
            if had is not None:
                self._allocator.give(task, column, had)


def _masks(nodes: Sequence[int]) -> Iterator[int]:
    """Yield sets of NUMA nodes as bit masks, the smallest first."""
    sizes = range(1, len(nodes) + 1) if len(nodes) <= MOST_NUMA_NODES else (1, len(nodes))
    for size in sizes:
        for some in combinations(nodes, size):
            yield sum(1 << node for node in some)
