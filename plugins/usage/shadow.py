"""Shadow load: estimated usage that no measurement includes yet, as a ledger, and the resulting scores."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.limits import pod_limits
from pyroclast.model.resources import CPU, MEMORY, MILLI
from pyroclast.model.tasks import Task, TaskStatus, TaskTemplate
from pyroclast.model.wire.times import time_text, unix_seconds
from pyroclast.plugins.usage.arguments import MIB, Estimator
from pyroclast.plugins.usage.arithmetic import (
    PARTS,
    Weights,
    estimate,
    load,
    load_of_one,
    part_used,
    part_used_of_one,
    score,
    score_of_one,
)

__all__ = ["Measured", "Shadow", "Unseen"]

_ABOUT_TO_RUN: Final = frozenset({TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND})
_PLAIN_TIME: Final = len("2026-01-01T00:00:00Z")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """Measurements of nodes; N nodes."""

    is_fresh: BoolArray
    """Whether the measurement has not expired, shape (N,)."""
    cpu_percent: FloatArray
    memory_percent: FloatArray
    cpu_millis: IntArray
    """Capacity, shape (N,)."""
    memory_bytes: IntArray
    """Capacity, shape (N,)."""


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Estimated load of one task on one node, in parts."""

    column: int
    cpu: int
    memory: int


class Shadow(Ledger):
    """Load by node that is not measured yet.

    Each task has a stack of estimates. The top counts; None means that the task was evicted. A change pushes an
    estimate, and undoing pops it, so undoing is exact in any order between tasks.
    """

    def __init__(self, measured: Measured, weights: Weights, estimator: Estimator) -> None:
        self._weights = weights
        self._estimator = estimator
        self._risky_from = float(estimator.risk_threshold)  # loads are floats, so that 0.6 reaches 0.6
        self._fresh: list[bool] = measured.is_fresh.tolist()
        self._percents = list(zip(measured.cpu_percent.tolist(), measured.memory_percent.tolist(), strict=True))
        self._capacities = list(zip(measured.cpu_millis.tolist(), measured.memory_bytes.tolist(), strict=True))
        self._cpu = [0] * len(self._fresh)
        self._memory = [0] * len(self._fresh)
        nothing = np.zeros(len(self._fresh), dtype=np.int64)
        used = (
            part_used(measured.cpu_percent, nothing, measured.cpu_millis),
            part_used(measured.memory_percent, nothing, measured.memory_bytes),
        )
        self._loads: list[float] = load(*used, weights).tolist()
        self._stacks: dict[TaskId, list[_Estimate | None]] = {}
        self._of_template: dict[tuple[int, bool], tuple[int, int]] = {}
        self.scores: FloatArray = np.where(measured.is_fresh, score(*used, weights), 0.0)
        """Score of every node, updated by changes; 0 without a measurement, shape (N,)."""

    def warm_up(self, tasks_by_node: Sequence[Mapping[TaskId, Task]], *, since: float) -> None:
        """Count tasks that started after `since`, in seconds since 1970, or will start."""
        unseen = Unseen(since)
        for column, tasks in enumerate(tasks_by_node):
            if self._fresh[column] and tasks:
                for task in sorted(unseen.among(tasks.values()), key=lambda task: task.key):
                    self._push(task.id, self._estimated(task.template, column))

    def apply(self, change: Change) -> None:
        """Count placements. An evicted task that is not measured yet is subtracted."""
        if change.verb is Verb.EVICT:
            for task in change.tasks:
                if task.id in self._stacks:
                    self._push(task.id, None)
            return
        for task, column in zip(change.tasks, change.columns, strict=True):
            if self._fresh[column]:
                self._push(task.id, self._estimated(change.template, column))

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        evicted = change.verb is Verb.EVICT
        for task, column in zip(change.tasks, change.columns, strict=True):
            if task.id in self._stacks if evicted else self._fresh[column]:
                self._pop(task.id)

    def amounts(self, column: int) -> tuple[int, int]:
        """Return the shadow load of a node, CPU and memory in parts."""
        return self._cpu[column], self._memory[column]

    def _push(self, task: TaskId, new: _Estimate | None) -> None:
        stack = self._stacks.setdefault(task, [])
        self._exchange(stack[-1] if stack else None, new)
        stack.append(new)

    def _pop(self, task: TaskId) -> None:
        stack = self._stacks[task]
        old = stack.pop()
        self._exchange(old, stack[-1] if stack else None)
        if not stack:
            del self._stacks[task]

    def _exchange(self, old: _Estimate | None, new: _Estimate | None) -> None:
        for each, sign in ((old, -1), (new, 1)):
            if each is not None:
                self._cpu[each.column] += sign * each.cpu
                self._memory[each.column] += sign * each.memory
                self._note(each.column)

    def _note(self, column: int) -> None:
        """Update load and score of a node."""
        cpu_percent, memory_percent = self._percents[column]
        cpu_millis, memory_bytes = self._capacities[column]
        cpu = part_used_of_one(cpu_percent, self._cpu[column], cpu_millis)
        memory = part_used_of_one(memory_percent, self._memory[column], memory_bytes)
        self._loads[column] = load_of_one(cpu, memory, self._weights)
        self.scores[column] = score_of_one(cpu, memory, self._weights)

    def _estimated(self, template: TaskTemplate, column: int) -> _Estimate:
        """Return the estimate of a task on a node, by the node's load without it."""
        is_risky = self._loads[column] >= self._risky_from
        known = self._of_template.get((template.number, is_risky))
        if known is None:
            known = self._of_template[template.number, is_risky] = _estimates(
                template, self._estimator, is_risky=is_risky
            )
        return _Estimate(column, *known)


def _estimates(template: TaskTemplate, estimator: Estimator, *, is_risky: bool) -> tuple[int, int]:
    """Return the estimated usage of a template's task, CPU and memory in parts."""
    factor = estimator.risk_factor if is_risky else Fraction(1)
    if template.best_effort:
        return int(estimator.be_cpu * factor * PARTS), int(estimator.be_mem * MIB * factor * PARTS)
    requests = template.request.get(CPU, 0), template.request.get(MEMORY, 0) // MILLI
    cpu, memory = (
        estimate(
            request,
            limit,
            request_ratio=estimator.request_ratio,
            burst_ratio=estimator.burst_ratio,
            risk_factor=factor,
        )
        for request, limit in zip(requests, pod_limits(template.spec), strict=True)
    )
    return cpu, memory


class Unseen:
    """Selects tasks on a node that started after a time, or will start, so that their usage is not measured yet."""

    def __init__(self, since: float) -> None:
        self._since = since
        # Times of the API server are whole seconds in one format, whose texts compare like the times.
        self._last_seen = time_text(math.floor(since))

    def among(self, tasks: Iterable[Task]) -> list[Task]:
        """Return these tasks."""
        last_seen = self._last_seen
        return [
            task
            for task in tasks
            # Nearly all tasks are old: this check needs no call.
            if not (
                task.status is TaskStatus.RUNNING
                and "" < (start := task.pod.status.start_time) <= last_seen
                and len(start) == _PLAIN_TIME
                and start[-1] == "Z"
            )
            and self._is_young(task)
        ]

    def _is_young(self, task: Task) -> bool:
        if task.status is not TaskStatus.RUNNING:
            return task.status in _ABOUT_TO_RUN
        start = task.pod.status.start_time
        try:
            return not start or unix_seconds(start) > self._since
        except ValueError:
            return True
