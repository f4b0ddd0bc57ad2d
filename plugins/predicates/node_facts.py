"""Filters by facts of nodes: unschedulable, node affinity, taints. Masks are shared between cycles."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, ReasonArray
from pyroclast.model.matching.nodes import pod_node_mask
from pyroclast.model.matching.taints import NO_SCHEDULE, tolerated, tolerates
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task

__all__ = [
    "NODE_AFFINITY_REASONS",
    "TAINT_REASONS",
    "UNSCHEDULABLE_REASONS",
    "names_conflict",
    "node_affinity",
    "taints",
    "unschedulable",
]

UNSCHEDULABLE_REASONS: Final = (Reason("node(s) were unschedulable", resolvable=False),)
NODE_AFFINITY_REASONS: Final = (Reason("node(s) didn't match Pod's node affinity/selector", resolvable=False),)
TAINT_REASONS: Final = (Reason("node(s) had untolerated taint(s)", resolvable=False),)

_UNSCHEDULABLE_TAINT: Final = ("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


def unschedulable(task: Task, columns: NodeColumns) -> ReasonArray | None:
    """Refuse cordoned nodes, unless the task tolerates the corresponding taint; verdicts, shape (columns,)."""
    if tolerates(task.template.spec.tolerations, *_UNSCHEDULABLE_TAINT):
        return None
    open_nodes = columns.facts.derive("schedulable", lambda: _schedulable(columns.facts))
    return None if open_nodes is None else _refused(open_nodes, columns)


def _schedulable(facts: NodeFacts) -> BoolArray | None:
    cordoned = np.array([node.unschedulable for node in facts.nodes], dtype=np.bool_)
    return ~cordoned if cordoned.any() else None


def node_affinity(task: Task, columns: NodeColumns) -> ReasonArray | None:
    """Refuse nodes that do not match the node selector or required node affinity; verdicts, shape (columns,)."""
    accepted = pod_node_mask(columns.facts, task.template.spec)
    return None if accepted is None else _refused(accepted, columns)


def taints(task: Task, columns: NodeColumns) -> ReasonArray | None:
    """Refuse nodes with an untolerated taint of effect NoSchedule or NoExecute; verdicts, shape (columns,)."""
    return _refused(tolerated(columns.facts, task.template.spec.tolerations), columns)


def _refused(accepted: BoolArray, columns: NodeColumns) -> ReasonArray:
    """Return verdict 1 where a mask over all nodes is false."""
    refused = ~(accepted if columns.is_all else accepted[columns.index])
    return refused.view(np.uint8)


def names_conflict(spec: wire.PodSpec) -> bool:
    """Return whether every term of the required node affinity names nodes, but their fields exclude all of them."""
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is None or not required.node_selector_terms:
        return False
    names = [_names(term.match_fields) for term in required.node_selector_terms]
    return all(each is not None and not each for each in names)


def _names(fields: Iterable[wire.SelectorRequirement]) -> frozenset[str] | None:
    """Return the node names that match all fields of a term; None if the term names none."""
    sets = [frozenset(each.values) for each in fields if each.key == "metadata.name" and each.operator == "In"]
    return frozenset.intersection(*sets) if sets else None
