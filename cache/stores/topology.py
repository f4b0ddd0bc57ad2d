"""Topology: the tree of HyperNodes, made anew when a HyperNode or the facts of a node changed.

It is a function of the objects, so a node that gains or loses a label, or goes, leaves no stale member behind; what is
asked of patterns and labels is remembered with the facts of the nodes.
"""

from collections.abc import Callable, Mapping

from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.topology.tree import Topology, TopologyFault, topology_of

__all__ = ["TopologyKeeper"]


class TopologyKeeper:
    """The tree as of the last snapshot."""

    def __init__(self, report: Callable[[ObjectError], None]) -> None:
        self._report = report
        self._made: tuple[Mapping[str, wire.HyperNode], NodeFacts, Topology] | None = None
        self._told: frozenset[TopologyFault] = frozenset()

    def of(self, hyper_nodes: Mapping[str, wire.HyperNode], facts: NodeFacts) -> Topology:
        """Return the tree of these HyperNodes over these nodes; each fault is reported when it appears."""
        made = self._made
        if made is not None and made[0] is hyper_nodes and made[1] is facts:
            return made[2]
        topology = topology_of(hyper_nodes, facts)
        for fault in topology.faults:
            if fault not in self._told:
                self._report(ObjectError("HyperNode", fault.name, fault.path, fault.message))
        self._told = frozenset(topology.faults)
        self._made = (hyper_nodes, facts, topology)
        return topology
