"""Scores of nodes for a task: by the amounts of the node, or of the NUMA nodes that the task would use."""

from collections.abc import Mapping, Sequence

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.nodenuma.amplified import amplified as amplified_amount
from pyroclast.model.resources import CPU, MILLI, Amounts
from pyroclast.model.tasks import Task
from pyroclast.plugins.nodenuma.allocator import CpuAllocator
from pyroclast.plugins.nodenuma.demand import CpuDemand
from pyroclast.plugins.nodenuma.scoring import Scoring

__all__ = ["Scores"]


class Scores:
    """Scores of one session."""

    def __init__(self, session: Session, allocator: CpuAllocator, scoring: Scoring, weight: int) -> None:
        self._session, self._allocator, self._scoring, self._weight = session, allocator, scoring, weight

    def of_amounts(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Score nodes by their amounts, for tasks about which no node decides more, shape (columns,)."""
        if self._allocator.demand(task) is None or self._allocator.concern(task) is not None:
            return None
        return self._of_nodes(task, columns, self._used(task, columns)) * self._weight

    def of_nodes(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Score nodes for all other tasks, shape (columns,)."""
        demand = self._allocator.concern(task)
        if demand is None:
            return None
        used, row = self._used(task, columns), self._session.resources.rows[CPU]
        amplified, aligned = self._allocator.amplified(columns.index), self._allocator.aligned(demand, columns.index)
        for place in np.flatnonzero(amplified & ~aligned).tolist():
            used[row, place] += self._allocator.amplification(task, int(columns.index[place]), in_future=True)
        scores = self._of_nodes(task, columns, used)
        if aligned.any():
            scores[aligned] = self._allocator.by_state(
                task, columns.index[aligned], lambda _place, column: self._of_numa_nodes(task, column, demand)
            )
        return scores * self._weight

    def _used(self, task: Task, columns: NodeColumns) -> IntArray:
        request = self._session.nodes.needs(task.template).request
        used: IntArray = columns.viewed + request[:, None]
        return used

    def _of_nodes(self, task: Task, columns: NodeColumns, used: IntArray) -> FloatArray:
        rows, request = self._session.resources.rows, task.template.request
        weights = [(rows[name], each) for name, each in self._scoring.counting(request) if name in rows]
        return self._scoring.of_nodes(weights, columns.allocatable, used)

    def _of_numa_nodes(self, task: Task, column: int, demand: CpuDemand) -> float:
        choice = self._allocator.choice(task, column, in_future=True)
        if isinstance(choice, str) or not choice.amounts:
            return 0.0
        node, usage = self._allocator.nodes[column], self._allocator.usage(column, in_future=True)
        nodes = [numa for numa, _ in choice.amounts]
        used = _summed({numa: dict(amounts) for numa, amounts in usage.amounts}, nodes)
        request = dict(demand.request)
        if choice.cpus and node.topology.layout is not None:
            ratio = node.numa_cpu_ratio
            there = sum(cpus for numa, cpus in node.topology.layout.numa if numa in nodes)  # they share no CPU
            used[CPU] = amplified_amount((there & usage.cpus).bit_count() * MILLI, ratio)
            request[CPU] = amplified_amount(demand.cpu_millis, ratio)
        return float(self._scoring.score(_summed(node.allocatable, nodes), used, request))


def _summed(by_node: Mapping[int, Amounts], nodes: Sequence[int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for node in nodes:
        for name, amount in by_node.get(node, {}).items():
            total[name] = total.get(name, 0) + amount
    return total
