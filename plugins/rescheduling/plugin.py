"""Rescheduling: balance the utilization of nodes periodically.

Points: victim tasks.  Arguments: `ReschedulingArgs`.  Rules and example: docs/plugins/rescheduling.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Move, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.qos import BEST_EFFORT, GUARANTEED, quality_of
from pyroclast.model.resources import CPU, MEMORY
from pyroclast.model.tasks import Task
from pyroclast.model.usage import FRESH_SECONDS
from pyroclast.plugins.rescheduling.arguments import LOW_NODE_UTILIZATION, ReschedulingArgs, Strategy
from pyroclast.plugins.rescheduling.low_node_utilization import Load, NodePod, choose

__all__ = ["Rescheduling"]

NOTHING_USED: Final = (Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescheduling(Plugin):
    """Choose pods to move away from busy nodes."""

    name = "rescheduling"
    watches_clock = True
    args: ReschedulingArgs = field(default_factory=ReschedulingArgs)

    def on_session_open(self, session: Session) -> None:
        """Register the point if a run is due. The first run is due one interval after the first recorded cycle."""
        instance = session.extensions.option.instance
        last = session.report.runs.get(instance)
        if last is None or Fraction(session.now) <= Fraction(last) + self.args.interval:
            session.report.note_run(instance, session.now if last is None else last)
            return
        session.report.note_run(instance, session.now)
        known = [each for each in self.args.in_force if each.name == LOW_NODE_UTILIZATION]

        def choose_moves(tasks: Sequence[Task]) -> list[Move]:
            loads = loads_of(session, {task.id for task in tasks}, is_measured=self.args.reads_measurements)
            return [move for strategy in known for move in moves_of(strategy, loads)]

        session.extensions.register(contract.VICTIM_TASKS, self.name, choose_moves)


def moves_of(strategy: Strategy, loads: Sequence[Load]) -> list[Move]:
    """Return the pods that one strategy chooses, with its limit."""
    low, high = strategy.params.thresholds.in_order, strategy.params.target_thresholds.in_order
    budget = f"to fill idle nodes to cpu {high[0]}%, memory {high[1]}%"
    return [Move(task=task, strategy=strategy.name, budget=budget) for task in choose(loads, low, high)]


def loads_of(session: Session, named: set[TaskId], *, is_measured: bool) -> list[Load]:
    """Return nodes with their measured utilization and their pods.

    A node without a measurement counts as unused. A node with an expired measurement is left out: repeated evictions by
    it would empty the node, regardless of its current utilization.
    """
    table, rows = session.nodes.table, [session.resources.names.index(name) for name in (CPU, MEMORY)]
    loads = []
    for column, node in enumerate(table.facts.nodes):
        usage = session.snapshot.usage.get(node.name) if is_measured else None
        if usage is not None and usage.measured < session.now - FRESH_SECONDS:
            continue
        used = NOTHING_USED if usage is None else (Fraction(usage.cpu_percent), Fraction(usage.memory_percent))
        pods = [
            NodePod(
                task=task, request=_amounts(session.nodes.needs(task.template).request, rows), may_move=task.id in named
            )
            for task in sorted(session.nodes.tasks_on(column).values(), key=leaving_order)
        ]
        capacity = _amounts(table.reported[:, column], rows)
        loads.append(
            Load(name=node.name, used_percent=used, capacity=capacity, unschedulable=node.unschedulable, pods=pods)
        )
    return loads


def _amounts(vector: IntArray, rows: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(vector[row]) for row in rows)


def leaving_order(task: Task) -> tuple[bool, int, int, str, str]:
    """Sort key of a node's pods for eviction: without priority first, then by priority, QoS class and name."""
    priority = task.pod.spec.priority
    return (priority is not None, priority or 0, qos_rank(task), task.namespace, task.name)


def qos_rank(task: Task) -> int:
    """Return 0 for BestEffort, 1 for Burstable, 2 for Guaranteed; without a status it is derived from the spec."""
    written = task.pod.status.qos_class or quality_of(task.pod.spec)
    return {BEST_EFFORT: 0, GUARANTEED: 2}.get(written, 1)
