"""Loads: usage of nodes as a ledger, from measurements and estimates of pods that no measurement includes.

R resources, N nodes; base units, thousandths for CPU.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.load import NodeLoad, Use
from pyroclast.model.tasks import Task
from pyroclast.plugins.load_aware.estimates import Estimates, Row
from pyroclast.plugins.load_aware.limits import Measure

__all__ = ["Loads"]

_NOTHING: Final[Use] = {}


class Loads(Ledger):
    """Usage of nodes for each requested kind of measurement, updated by placements.

    A task counts from its placement until it is deleted. An eviction changes nothing, because its usage is measured.
    """

    def __init__(self, loads: Sequence[NodeLoad | None], estimates: Estimates) -> None:
        self._loads = loads
        """Measurements by column; None if there is none."""
        self._estimates = estimates
        self._key = repr(estimates.args)
        self._nothing: Row = (0,) * len(estimates.resources)
        self._tables: dict[tuple[Measure, ...], IntArray] = {}

    def table(self, measures: tuple[Measure, ...], tasks_by_node: Sequence[Mapping[TaskId, Task]]) -> IntArray:
        """Return the usage of each node, shape (R, N); placements update it.

        Args:
            measures: Kind of usage of each node.
            tasks_by_node: Tasks on the nodes at the start; equal in each call.
        """
        known = self._tables.get(measures)
        if known is None:
            rows = [
                self._used(load, measure, tasks)
                for load, measure, tasks in zip(self._loads, measures, tasks_by_node, strict=True)
            ]
            shape = len(rows), len(self._estimates.resources)
            known = self._tables[measures] = np.array(rows, dtype=np.int64).reshape(shape).T.copy()
        return known

    def apply(self, change: Change) -> None:
        """Count placements."""
        self._count(change, 1)

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._count(change, -1)

    def _count(self, change: Change, sign: int) -> None:
        if change.verb is Verb.EVICT:
            return
        for task, column in zip(change.tasks, change.columns, strict=True):
            load = self._loads[column]
            if load is not None:
                for measures, table in self._tables.items():
                    table[:, column] += sign * np.array(self._added(load, measures[column], task), dtype=np.int64)

    def _used(self, load: NodeLoad | None, measure: Measure, tasks: Mapping[TaskId, Task]) -> Row:
        if load is None:
            return self._nothing
        return load.derive((self._key, measure), tasks, lambda: self._sum(load, measure, tasks.values()))

    def _sum(self, load: NodeLoad, measure: Measure, tasks: Iterable[Task]) -> Row:
        """Return the sum of the measured usage and the additional usage of tasks."""
        estimates = self._estimates
        if measure.is_prod:
            use = load.system if estimates.args.prod_includes_system else _NOTHING
        else:
            use = _statistic(load, measure) or _NOTHING
        total = [use.get(name, 0) for name in estimates.resources]
        for task in tasks:
            if any(added := self._added(load, measure, task)):
                total = [one + other for one, other in zip(total, added, strict=True)]
        return tuple(total)

    def _added(self, load: NodeLoad, measure: Measure, task: Task) -> Row:
        """Return the additional usage of a task beyond the measurement of its node.

        It is the whole estimate if the task has no matching measurement. Otherwise it is the excess of the estimate
        over the measured usage, while the estimate counts. For tasks of koord-prod it includes the measured usage.
        """
        estimates, pod = self._estimates, load.pods.get(task.key)
        if measure.is_prod and not estimates.is_prod(task):
            return self._nothing
        is_known = pod.is_prod if pod is not None and measure.is_prod else _statistic(load, measure) is not None
        if pod is None or not is_known:
            return estimates.of(task)
        used = tuple(pod.use.get(name, 0) for name in estimates.resources)
        counts = estimates.counts(task, load.measured, load.interval_seconds)
        taken = tuple(map(max, estimates.of(task), used)) if counts else used
        return taken if measure.is_prod else tuple(map(int.__sub__, taken, used))


def _statistic(load: NodeLoad, measure: Measure) -> Use | None:
    return load.statistic(measure.statistic, measure.nanoseconds) if measure.statistic else load.usage
