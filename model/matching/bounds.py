"""Bounds: maximum numbers of placement rules of a pod, so that one pod takes a bounded part of a cycle.

Each rule is evaluated for all nodes, and users who may create pods may write thousands of rules.
"""

from collections.abc import Iterator
from typing import Final

from pyroclast.model import wire

__all__ = [
    "MOST_HOST_PORTS",
    "MOST_NODE_EXPRESSIONS",
    "MOST_POD_TERMS",
    "MOST_SPREAD_CONSTRAINTS",
    "MOST_TOLERATIONS",
    "beyond_bounds",
    "has_rules_about_pods",
    "pod_terms_of",
]

MOST_SPREAD_CONSTRAINTS: Final = 32
MOST_POD_TERMS: Final = 128
"""Terms of pod affinity and pod anti-affinity, required and preferred."""
MOST_NODE_EXPRESSIONS: Final = 1024
"""Expressions of node affinity, required and preferred, and labels of the node selector."""
MOST_TOLERATIONS: Final = 1024
MOST_HOST_PORTS: Final = 256


def beyond_bounds(spec: wire.PodSpec) -> str:
    """Return the first kind of rule of which a pod has too many, with both numbers; empty if there is none."""
    for what, count, most in _counted(spec):
        if count > most:
            return f"{count} {what}, more than {most}"
    return ""


def has_rules_about_pods(spec: wire.PodSpec) -> bool:
    """Return whether the placement of a pod depends on other pods, so that equal pods are checked one by one."""
    return bool(spec.topology_spread_constraints) or pod_terms_of(spec) > 0


def _counted(spec: wire.PodSpec) -> Iterator[tuple[str, int, int]]:
    yield "topology spread constraints", len(spec.topology_spread_constraints), MOST_SPREAD_CONSTRAINTS
    yield "tolerations", len(spec.tolerations), MOST_TOLERATIONS
    ports = sum(port.host_port > 0 for container in spec.containers for port in container.ports)
    yield "host ports", ports, MOST_HOST_PORTS
    yield "terms of pod affinity", pod_terms_of(spec), MOST_POD_TERMS
    affinity = spec.affinity
    expressions = 0 if affinity is None or affinity.node_affinity is None else _expressions(affinity.node_affinity)
    yield "expressions of node affinity", len(spec.node_selector) + expressions, MOST_NODE_EXPRESSIONS


def pod_terms_of(spec: wire.PodSpec) -> int:
    """Count the terms of pod affinity and pod anti-affinity, required and preferred."""
    if spec.affinity is None:
        return 0
    halves = (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity)
    return sum(len(half.required) + len(half.preferred) for half in halves if half is not None)


def _expressions(affinity: wire.NodeAffinity) -> int:
    required = () if affinity.required is None else affinity.required.node_selector_terms
    terms = (*required, *(each.preference for each in affinity.preferred))
    # an empty term costs a mask too
    return sum(max(len(term.match_expressions) + len(term.match_fields), 1) for term in terms)
