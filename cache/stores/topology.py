"""Topology: the tree of HyperNodes, made again after a change of a HyperNode or of the facts of a node.

The tree depends only on the objects, so a node that loses a label or is deleted is not a stale member. The facts of the
nodes cache the matches of patterns and labels.
"""

from collections.abc import Callable, Mapping

from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.topology.layers import DEFAULT, Layer, read_layers
from pyroclast.model.topology.tree import Topology, TopologyFault, topology_of

__all__ = ["TopologyStore"]


class TopologyStore:
    """The tree as of the last snapshot."""

    def __init__(self, report: Callable[[ObjectError], None]) -> None:
        """Start without a tree; `report` receives each fault of a HyperNode."""
        self._report = report
        self._made: tuple[Mapping[str, wire.HyperNode], NodeFacts, Topology] | None = None
        self._reported: frozenset[TopologyFault] = frozenset()
        self._read: tuple[wire.ClusterNetworkTopology, tuple[Layer, ...]] | None = None

    def of(self, hyper_nodes: Mapping[str, wire.HyperNode], facts: NodeFacts) -> Topology:
        """Return the tree of these HyperNodes over these nodes. Each new fault is reported."""
        made = self._made
        if made is not None and made[0] is hyper_nodes and made[1] is facts:
            return made[2]
        topology = topology_of(hyper_nodes, facts)
        for fault in topology.faults:
            if fault not in self._reported:
                self._report(ObjectError("HyperNode", fault.name, fault.path, fault.message))
        self._reported = frozenset(topology.faults)
        self._made = (hyper_nodes, facts, topology)
        return topology

    def layers(self, topologies: Mapping[str, wire.ClusterNetworkTopology]) -> tuple[Layer, ...] | None:
        """Return the layers of the ClusterNetworkTopology that counts; None if there is none. Faults are reported."""
        topology = topologies.get(DEFAULT)
        if topology is None:
            self._read = None
        elif self._read is None or self._read[0] is not topology:

            def fault(path: str, message: str) -> None:
                self._report(ObjectError("ClusterNetworkTopology", DEFAULT, path, message))

            self._read = topology, read_layers(topology, fault)
        return None if self._read is None else self._read[1]
