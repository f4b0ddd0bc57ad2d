"""Shard status: tell other schedulers which nodes this one uses, so that they keep off until it has let go."""

from collections.abc import Mapping
from typing import Any

import structlog

from pyroclast.cache.sync.shards import shard_nodes
from pyroclast.kube.client import Client, Lane, MediaType
from pyroclast.kube.errors import ApiError
from pyroclast.kube.resources import NODE_SHARDS
from pyroclast.model import wire

__all__ = ["shard_status", "write_shard_status"]

_log = structlog.get_logger(__name__)


def shard_status(shards: Mapping[str, wire.NodeShard], name: str) -> dict[str, Any] | None:
    """Return the status that a shard should have; None where it has it, or does not exist."""
    own = shards.get(name)
    if own is None:
        return None
    in_use, desired = shard_nodes(shards, name), frozenset(own.spec.nodes_desired)
    wanted = (in_use, in_use - desired, desired - in_use)
    known = (own.status.nodes_in_use, own.status.nodes_to_remove, own.status.nodes_to_add)
    if all(frozenset(have) == want for have, want in zip(known, wanted, strict=True)):
        return None
    names = ("nodesInUse", "nodesToRemove", "nodesToAdd")
    return {field: sorted(nodes) for field, nodes in zip(names, wanted, strict=True)}


async def write_shard_status(client: Client, name: str, status: Mapping[str, Any]) -> None:
    """Write the status of a shard; a refusal is logged, and the next cycle tries again."""
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
