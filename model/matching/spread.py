"""Nodes that count for a topology spread constraint."""

from model import wire
from model.arrays import BoolArray
from model.matching.nodes import pod_node_mask
from model.matching.pods import SpreadConstraint
from model.matching.taints import tolerated
from model.nodes import NodeFacts

__all__ = ["eligible_nodes"]


def eligible_nodes(
    facts: NodeFacts, spec: wire.PodSpec, constraint: SpreadConstraint, labelled: BoolArray
) -> BoolArray:
    """Tell which nodes count for a constraint: those `labelled` that its inclusion policies accept, shape (N,)."""
    eligible = labelled
    accepted = pod_node_mask(facts, spec) if constraint.honours_affinity else None
    if accepted is not None:
        eligible = eligible & accepted
    return eligible & tolerated(facts, spec.tolerations) if constraint.honours_taints else eligible
