"""NodeResourceTopology: the NUMA nodes of a node with their amounts, as Koordinator's agent reports them.

The CPUs, and the CPUs that are kept from pods, are in its annotations (`model.nodenuma.topology`).
"""

from pyroclast.model.api.meta import ObjectMeta, Quantity, Wire

__all__ = ["NodeResourceTopology", "TopologyZone", "ZoneResource"]


class ZoneResource(Wire, frozen=True, kw_only=True):
    """Amounts of one resource in a zone."""

    name: str = ""
    capacity: Quantity = ""
    allocatable: Quantity = ""
    available: Quantity = ""


class TopologyZone(Wire, frozen=True, kw_only=True):
    """Part of a node: a NUMA node if its type is `Node`."""

    name: str = ""
    type: str = ""
    resources: tuple[ZoneResource, ...] = ()


class NodeResourceTopology(Wire, frozen=True, kw_only=True):
    """NUMA nodes of one node. The object has the name of the node."""

    metadata: ObjectMeta
    topology_policies: tuple[str, ...] = ()
    zones: tuple[TopologyZone, ...] = ()
