"""Nodes that count for a topology spread constraint."""

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray
from pyroclast.model.matching.nodes import pod_node_mask
from pyroclast.model.matching.pods import SpreadConstraint
from pyroclast.model.matching.taints import tolerated
from pyroclast.model.nodes import NodeFacts

__all__ = ["eligible_nodes"]


def eligible_nodes(
    facts: NodeFacts, spec: wire.PodSpec, constraint: SpreadConstraint, labelled: BoolArray
) -> BoolArray:
    """Return the nodes that count for a constraint: `labelled` nodes that its inclusion policies accept, shape (N,)."""
    eligible = labelled
    accepted = pod_node_mask(facts, spec) if constraint.honours_affinity else None
    if accepted is not None:
        eligible = eligible & accepted
    return eligible & tolerated(facts, spec.tolerations) if constraint.honours_taints else eligible
