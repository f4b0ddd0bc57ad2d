"""Load-aware: refuse nodes with high usage, by measurements and estimates, and prefer those with low usage.

Points: predicate, node order; a ledger.  Arguments: `LoadAwareArgs`.  Formula and example: docs/plugins/load-aware.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyroclast.framework.configuration import Profile
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, ReasonArray
from pyroclast.model.colocation import is_of_daemon_set
from pyroclast.model.ids import NodeName
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task
from pyroclast.plugins.load_aware.arguments import LoadAwareArgs
from pyroclast.plugins.load_aware.arithmetic import free, score
from pyroclast.plugins.load_aware.filter import Filter
from pyroclast.plugins.load_aware.limits import OF_PROD, measure_of
from pyroclast.plugins.load_aware.nodes import Nodes

__all__ = ["LoadAware", "is_asked_for"]


def is_asked_for(profile: Profile) -> bool:
    """Return whether a configuration requires usage measurements."""
    return any(option.plugin == LoadAware.name for option in profile.plugins)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadAware(Plugin):
    """Filter and score nodes by usage."""

    name = "load-aware"
    watches_clock = False
    """The plugin wakes the scheduler when measurements expire."""
    args: LoadAwareArgs = field(default_factory=LoadAwareArgs)

    def endpoints(self) -> Mapping[str, contract.Endpoint]:
        """Return the endpoint of the measured load of a node."""
        return {"node/{name}": load_of_node}

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        loads = [session.snapshot.loads.get(name) for name in session.nodes.table.names]
        if all(load is None for load in loads):
            return
        nodes = Nodes(session, loads, self.args)
        self._register_limits(session, nodes)
        if self.args.weight:
            self._register_scores(session, nodes)
        session.extensions.register_ledger(self.name, nodes.ledger)
        session.extensions.on_close(self.name, nodes.record_faults)

    def _register_limits(self, session: Session, nodes: Nodes) -> None:
        prod, others = (Filter(nodes, limits) for limits in (nodes.limits.prod, nodes.limits.others))

        def of(task: Task) -> Filter:
            return prod if nodes.estimates.is_prod(task) else others

        def verdicts(task: Task, columns: NodeColumns) -> ReasonArray | None:
            return None if is_of_daemon_set(task.pod) else of(task).verdicts(task, columns)

        def reasons(task: Task) -> Sequence[Reason]:
            return of(task).reasons(task)

        session.extensions.register(contract.PREDICATE, self.name, verdicts, locality=Locality.NODE, reasons=reasons)

    def _register_scores(self, session: Session, nodes: Nodes) -> None:
        args, aggregated = self.args, self.args.aggregated
        count = len(nodes.is_measured)
        measure = measure_of(aggregated.score_kind, aggregated.score_seconds)
        others = nodes.used((measure,) * count)
        prod = nodes.used((OF_PROD,) * count) if args.scores_prod else others
        weights = np.array([[args.importance.get(name, 0)] for name in args.resources], dtype=np.int64)
        counts = nodes.is_measured & ~nodes.is_old

        def scores(task: Task, columns: NodeColumns) -> FloatArray | None:
            at = columns.index
            used = (prod if nodes.estimates.is_prod(task) else others)[:, at] + nodes.estimate(task)
            left = free(used, nodes.limits.allocatable[:, at])
            return np.where(counts[at], score(left, weights, args.dominant_weight) * args.weight, 0).astype(np.float64)

        session.extensions.register(contract.NODE_ORDER, self.name, scores, locality=Locality.NODE, weight=args.weight)


def load_of_node(request: contract.EndpointRequest) -> dict[str, Any] | None:
    """Return the measured load of a node; None if it has no NodeMetric."""
    load = request.snapshot.loads.get(NodeName(request.parameters["name"]))
    if load is None:
        return None
    return {
        "node": request.parameters["name"],
        "measured": load.measured,
        "intervalSeconds": load.interval_seconds,
        "usage": load.usage,
        "system": load.system,
    }
