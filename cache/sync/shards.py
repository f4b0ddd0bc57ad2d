"""Shards: selects the nodes of this scheduler where NodeShard objects divide a cluster between schedulers."""

from collections.abc import Mapping

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray
from pyroclast.model.ids import NodeName

__all__ = ["SHARDED_MODES", "shard_mask", "shard_nodes"]

SHARDED_MODES = ("hard", "soft")


def shard_nodes(shards: Mapping[str, wire.NodeShard], name: str) -> frozenset[str]:
    """Return the nodes that a shard may use: its desired nodes without the nodes that other shards use.

    A shard that does not exist has no nodes.
    """
    own = shards.get(name)
    if own is None:
        return frozenset()
    taken = (shard.status.nodes_in_use for other, shard in shards.items() if other != name)
    return frozenset(own.spec.nodes_desired).difference(*taken)


def shard_mask(
    names: tuple[NodeName, ...], shards: Mapping[str, wire.NodeShard], *, mode: str, shard: str
) -> BoolArray:
    """Return for each node whether it is in the shard, shape (nodes,). Without shards all nodes are."""
    if mode not in SHARDED_MODES:
        mask = np.ones(len(names), dtype=bool)
    else:
        own = shard_nodes(shards, shard)
        mask = np.fromiter((name in own for name in names), dtype=bool, count=len(names))
    mask.flags.writeable = False
    return mask
