"""Node order: the weighted scores of kube-scheduler.

Points: node order.  Arguments: `NodeOrderArgs`.  Formulas and examples: docs/plugins/nodeorder.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.pods import session_pods
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.errors import ArgumentError
from pyroclast.model.tasks import Task
from pyroclast.plugins.nodeorder.amounts import balanced, least_allocated, most_allocated
from pyroclast.plugins.nodeorder.facts import (
    affinity_weights,
    avoided_taints,
    image_scores,
    normalised,
    reversed_normalised,
)
from pyroclast.plugins.nodeorder.pods import PreferredAffinity, PreferredSpread, spread_to_range
from pyroclast.plugins.nodeorder.single import balanced_one, least_one, most_one

__all__ = ["NodeOrder", "NodeOrderArgs"]

CURRENT_FORMULA: Final = "1.36"
EARLIER_FORMULA: Final = "1.35"
BALANCED_RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
_AMOUNTS: Final = {
    "least_requested": "least requested",
    "most_requested": "most requested",
    "balanced_resource": "balanced resources",
}
"""Names of the scores by amounts in tables of scores, by the field with their weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOrderArgs:
    """Arguments of nodeorder, spelled as in the configuration file; a weight of 0 disables a score."""

    least_requested: int = argument("leastrequested.weight", 1)
    """Weight of free resources."""
    most_requested: int = argument("mostrequested.weight", 0)
    """Weight of used resources."""
    balanced_resource: int = argument("balancedresource.weight", 1)
    """Weight of balanced use of cpu, memory and GPUs."""
    balanced_formula: str = argument("balancedresource.formula", CURRENT_FORMULA, parse=str)
    """`1.36` scores the change that the pod causes, `1.35` only the result."""
    node_affinity: int = argument("nodeaffinity.weight", 2)
    """Weight of preferred node affinity."""
    pod_affinity: int = argument("podaffinity.weight", 2)
    """Weight of preferred pod affinity."""
    taint_toleration: int = argument("tainttoleration.weight", 3)
    """Weight of the absence of PreferNoSchedule taints."""
    image_locality: int = argument("imagelocality.weight", 1)
    """Weight of images that are present on the node."""
    pod_topology_spread: int = argument("podtopologyspread.weight", 2)
    """Weight of preferred topology spread."""

    def __post_init__(self) -> None:
        """Refuse an unknown formula."""
        if self.balanced_formula not in {CURRENT_FORMULA, EARLIER_FORMULA}:
            raise ArgumentError("balancedresource.formula", self.balanced_formula, "1.36 or 1.35")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOrder(Plugin):
    """Score nodes as kube-scheduler does."""

    name = "nodeorder"
    watches_clock = False
    args: NodeOrderArgs = NodeOrderArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        args = self.args
        if args.least_requested or args.most_requested or args.balanced_resource:
            amounts = AmountScores(session, args)
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                amounts.scores,
                locality=Locality.AMOUNTS,
                addends=amounts.addends,
                part="amounts",
            )
        self._register_facts(session)
        self._register_pods(session)

    def _register_facts(self, session: Session) -> None:
        args = self.args
        facts = session.nodes.facts

        def by_affinity(task: Task, columns: NodeColumns) -> FloatArray | None:
            weights = affinity_weights(facts, task.template.spec)
            return None if weights is None else weights[columns.index].astype(np.float64)

        def by_taints(task: Task, columns: NodeColumns) -> FloatArray:
            return avoided_taints(facts, task.template.spec)[columns.index].astype(np.float64)

        def by_images(task: Task, columns: NodeColumns) -> FloatArray | None:
            scores = image_scores(facts, task.template.spec)
            return None if scores is None else args.image_locality * scores[columns.index].astype(np.float64)

        if args.node_affinity:
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                by_affinity,
                locality=Locality.FACTS,
                normalise=lambda raw: args.node_affinity * normalised(raw),
                weight=args.node_affinity,
                part="node affinity",
            )
        if args.taint_toleration:
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                by_taints,
                locality=Locality.FACTS,
                normalise=lambda raw: args.taint_toleration * reversed_normalised(raw),
                weight=args.taint_toleration,
                part="taints",
            )
        if args.image_locality:
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                by_images,
                locality=Locality.FACTS,
                weight=args.image_locality,
                part="images",
            )

    def _register_pods(self, session: Session) -> None:
        args = self.args
        if args.pod_affinity:
            affinity = PreferredAffinity(session, session_pods(session))
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                affinity.raw,
                locality=Locality.GLOBAL,
                cares=affinity.cares,
                normalise=lambda raw: args.pod_affinity * spread_to_range(raw),
                weight=args.pod_affinity,
                part="pod affinity",
            )
        if args.pod_topology_spread:
            spread = PreferredSpread(session, session_pods(session))

            def by_spread(task: Task, columns: NodeColumns) -> FloatArray | None:
                scores = spread.scores(task, columns)
                return None if scores is None else args.pod_topology_spread * scores

            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                by_spread,
                locality=Locality.GLOBAL,
                cares=spread.cares,
                weight=args.pod_topology_spread,
                part="spread",
            )


class AmountScores:
    """Least, most and balanced allocation in one pass over the amounts."""

    def __init__(self, session: Session, args: NodeOrderArgs) -> None:
        self._session, self._args = session, args
        self._looks_back = args.balanced_formula == CURRENT_FORMULA
        self._resources = session.resources
        self._asked: dict[int, tuple[list[int], list[int]]] = {}

    def scores(self, task: Task, columns: NodeColumns) -> FloatArray:
        """Return the sum of the weighted scores, shape (columns,)."""
        if len(columns) == 1:
            return np.array([float(self._score_of_one(task, columns))])
        args, template = self._args, task.template
        total: IntArray = np.zeros(len(columns), dtype=np.int64)
        if args.least_requested or args.most_requested:
            scored = columns.scored + np.array([[template.scored_cpu_millis], [template.scored_memory_bytes]])
            capacity = columns.reported[:2]
            if args.least_requested:
                total = total + args.least_requested * least_allocated(scored, capacity)
            if args.most_requested:
                total = total + args.most_requested * most_allocated(scored, capacity)
        if args.balanced_resource:
            rows, request = self._balanced(task)
            if rows:
                used, capacity = columns.viewed[rows], columns.reported[rows]
                request_column = np.array(request)[:, None]
                total = total + args.balanced_resource * balanced(
                    used, request_column, capacity, looks_back=self._looks_back
                )
        return total.astype(np.float64)

    def addends(self, task: Task, columns: NodeColumns) -> list[contract.Addend]:
        """Return the weighted scores one by one, for tables of scores."""
        none = dict.fromkeys(_AMOUNTS, 0)
        weights = {field: getattr(self._args, field) for field in _AMOUNTS}
        return [
            contract.Addend(_AMOUNTS[field], weight, self._with(none | {field: weight}).scores(task, columns))
            for field, weight in weights.items()
            if weight
        ]

    def _with(self, weights: Mapping[str, Any]) -> "AmountScores":
        return AmountScores(self._session, replace(self._args, **weights))

    def _score_of_one(self, task: Task, columns: NodeColumns) -> int:
        args, template = self._args, task.template
        capacity: list[int] = columns.reported[:, 0].tolist()
        total = 0
        if args.least_requested or args.most_requested:
            cpu, memory = columns.scored[:, 0].tolist()
            requested = (cpu + template.scored_cpu_millis, memory + template.scored_memory_bytes)
            if args.least_requested:
                total += args.least_requested * least_one(requested, capacity)
            if args.most_requested:
                total += args.most_requested * most_one(requested, capacity)
        if args.balanced_resource:
            rows, request = self._balanced(task)
            if rows:
                used: list[int] = columns.viewed[:, 0].tolist()
                total += args.balanced_resource * balanced_one(
                    [used[row] for row in rows],
                    request,
                    [capacity[row] for row in rows],
                    looks_back=self._looks_back,
                )
        return total

    def _balanced(self, task: Task) -> tuple[list[int], list[int]]:
        """Return the rows that count for a task and its requests in them; none if it requests none of them."""
        template = task.template
        known = self._asked.get(template.number)
        if known is None:
            asked = [name for name in BALANCED_RESOURCES if template.request.get(name, 0) > 0]
            names = [*BALANCED_RESOURCES[:2], *(name for name in asked if name not in BALANCED_RESOURCES[:2])]
            rows = [self._resources.rows[name] for name in names] if asked else []
            known = self._asked[template.number] = (rows, self._resources.vector(template.request)[rows].tolist())
        return known
