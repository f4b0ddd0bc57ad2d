"""Topologies of labels: one domain for each value of a label of nodes, for groups whose pods need one value.

Nodes without the label are in no domain.
"""

from typing import Final

import numpy as np

from pyroclast.model import wire
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.topology.tree import NONE, ROOT, Domain, Topology

__all__ = ["INSIDE_ONE", "topology_of_label"]

_TIER: Final = 1
INSIDE_ONE: Final = wire.NetworkTopologySpec(mode="hard", highest_tier_allowed=_TIER)
"""The constraint of a job that needs one domain of a label."""


def topology_of_label(key: str, facts: NodeFacts) -> Topology:
    """Return the domains of a label, named by its values, under a root that holds every node."""
    codes, values = facts.label_codes(key)
    names = sorted(values)
    root = len(names)
    columns = [np.flatnonzero(codes == values[name]) for name in names]
    domains = [
        Domain(name=name, tier=_TIER, parent=root, children=(), columns=own)
        for name, own in zip(names, columns, strict=True)
    ]
    whole = np.arange(len(facts.nodes), dtype=np.int64)
    children = tuple(range(root))
    domains.append(Domain(name=ROOT, tier=_TIER + 1, parent=NONE, children=children, columns=whole))
    return Topology(domains, nodes=whole.size, tier_by_name={}, faults=())
