"""Usage: refuse nodes with high measured load, and prefer idle nodes.

Points: predicate, node order; a ledger.  Arguments: `UsageArgs`.  Formula and example: docs/plugins/usage.md.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pyroclast.framework.configuration import interval_of
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, IntArray, ReasonArray
from pyroclast.model.nodes import Node, NodeFacts
from pyroclast.model.quantity import QuantityError, millis, units
from pyroclast.model.refusals import Reason
from pyroclast.model.resources import CPU, MEMORY, MILLI
from pyroclast.model.tasks import Task
from pyroclast.model.usage import FRESH_SECONDS
from pyroclast.plugins.usage.arguments import UsageArgs
from pyroclast.plugins.usage.arithmetic import Weights
from pyroclast.plugins.usage.shadow import Measured, Shadow

__all__ = ["Usage"]

REASONS: Final = (
    Reason("the CPU load of the node exceeds the upper limit.", resolvable=False),
    Reason("the memory load of the node exceeds the upper limit.", resolvable=False),
)
CPU_LOADED, MEMORY_LOADED = range(1, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(Plugin):
    """Filter and score nodes by measured usage."""

    name = "usage"
    watches_clock = True
    """Measurements expire, and new pods become measurable."""
    args: UsageArgs = field(default_factory=UsageArgs)

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        measured = measurements(session)
        if measured.is_fresh.any():
            self._register_limits(session, measured)
            self._register_scores(session, measured)

    def _register_limits(self, session: Session, measured: Measured) -> None:
        limits = self.args.thresholds
        over_cpu = measured.is_fresh & (measured.cpu_percent > limits.cpu)
        over_memory = measured.is_fresh & (measured.memory_percent > limits.mem)
        found = np.where(over_cpu, CPU_LOADED, np.where(over_memory, MEMORY_LOADED, 0)).astype(np.uint8)

        def verdicts(_: Task, columns: NodeColumns) -> ReasonArray | None:
            return found[columns.index]

        if found.any():
            # Measurements do not change during a session, so they are facts of it.
            session.extensions.register(
                contract.PREDICATE, self.name, verdicts, locality=Locality.FACTS, reasons=REASONS
            )

    def _register_scores(self, session: Session, measured: Measured) -> None:
        weights = Weights(cpu=self.args.cpu_weight, memory=self.args.memory_weight, usage=self.args.weight)
        if not weights.total or not weights.usage:
            return
        shadow = Shadow(measured, weights, self.args.estimator)
        shadow.warm_up(session.nodes.table.tasks, since=session.now - interval_of(session.extensions.profile.metrics))

        def scores(_: Task, columns: NodeColumns) -> FloatArray | None:
            return shadow.scores[columns.index]

        session.extensions.register(
            contract.NODE_ORDER, self.name, scores, locality=Locality.NODE, weight=self.args.weight
        )
        session.extensions.register_ledger(self.name, shadow)


def measurements(session: Session) -> Measured:
    """Return the measurements of the session's nodes."""
    usage, table = session.snapshot.usage, session.nodes.table
    known = [usage.get(name) for name in table.names]
    oldest = session.now - FRESH_SECONDS
    facts = session.nodes.facts
    cpu_millis, memory_bytes = facts.derive(("usage", "capacity"), lambda: _capacities(facts))
    return Measured(
        is_fresh=np.array([each is not None and each.measured >= oldest for each in known], dtype=np.bool_),
        cpu_percent=np.array([0.0 if each is None else each.cpu_percent for each in known], dtype=np.float64),
        memory_percent=np.array([0.0 if each is None else each.memory_percent for each in known], dtype=np.float64),
        cpu_millis=cpu_millis,
        memory_bytes=memory_bytes,
    )


def _capacities(facts: NodeFacts) -> tuple[IntArray, IntArray]:
    pairs = [_capacity(node) for node in facts.nodes]
    arrays = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
    return arrays[:, 0], arrays[:, 1]


def _capacity(node: Node) -> tuple[int, int]:
    """Return the capacity of a node including oversubscription, in thousandths of a CPU and bytes; 0 if invalid."""
    written = {} if node.object is None else node.object.status.capacity
    try:
        has = {CPU: millis(written.get(CPU, 0)), MEMORY: units(written.get(MEMORY, 0)) * MILLI}
    except QuantityError:
        has = {CPU: 0, MEMORY: 0}
    cpu, memory = (has[name] + node.oversubscribed.get(name, 0) for name in (CPU, MEMORY))
    return cpu, memory // MILLI
