"""Shard status: publishes the nodes that this scheduler uses.

Other schedulers do not use these nodes until the status no longer lists them.
"""

from collections.abc import Mapping
from typing import Any

import structlog

from pyroclast.cache.sync.shards import shard_nodes
from pyroclast.kube.api.client import Client, Lane, MediaType
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import NODE_SHARDS
from pyroclast.model import wire

__all__ = ["shard_status", "write_shard_status"]

_log = structlog.get_logger(__name__)


def shard_status(shards: Mapping[str, wire.NodeShard], name: str) -> dict[str, Any] | None:
    """Return the desired status of a shard; None if the shard has this status or does not exist."""
    own = shards.get(name)
    if own is None:
        return None
    in_use, desired = shard_nodes(shards, name), frozenset(own.spec.nodes_desired)
    new = (in_use, in_use - desired, desired - in_use)
    known = (own.status.nodes_in_use, own.status.nodes_to_remove, own.status.nodes_to_add)
    if all(frozenset(before) == after for before, after in zip(known, new, strict=True)):
        return None
    names = ("nodesInUse", "nodesToRemove", "nodesToAdd")
    return {field: sorted(nodes) for field, nodes in zip(names, new, strict=True)}


async def write_shard_status(client: Client, name: str, status: Mapping[str, Any]) -> None:
    """Write the status of a shard. Log a failure; the next cycle repeats the request."""
    try:
        await client.request_json(
            "PATCH",
            NODE_SHARDS.path("", name, "status"),
            body={"status": status},
            media_type=MediaType.MERGE_PATCH,
            lane=Lane.BACKGROUND,
        )
    except ApiError as error:
        _log.warning("shard_status_refused", shard=name, error=str(error))
