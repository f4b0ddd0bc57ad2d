"""Shards: which nodes are this scheduler's when several share a cluster by NodeShard objects."""

from collections.abc import Mapping

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray
from pyroclast.model.ids import NodeName

__all__ = ["SHARDED_MODES", "shard_mask", "shard_nodes"]

SHARDED_MODES = ("hard", "soft")


def shard_nodes(shards: Mapping[str, wire.NodeShard], name: str) -> frozenset[str]:
    """Return the nodes that a shard may use: those it wants, without those that others use already.

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
    """Tell of each node whether it is in the shard, shape (nodes,); all are where nothing is sharded."""
    if mode not in SHARDED_MODES:
        mask = np.ones(len(names), dtype=bool)
    else:
        mine = shard_nodes(shards, shard)
        mask = np.fromiter((name in mine for name in names), dtype=bool, count=len(names))
    mask.flags.writeable = False
    return mask
