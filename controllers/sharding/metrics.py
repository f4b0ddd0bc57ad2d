"""Metrics of sharding."""

from prometheus_client import Gauge

__all__ = ["SHARD_NODES"]

SHARD_NODES = Gauge("pyroclast_shard_nodes", "Nodes that the sharding controller assigns to a NodeShard.", ["shard"])
