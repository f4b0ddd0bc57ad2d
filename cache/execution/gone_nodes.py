"""Gone nodes: deletes the Numatopology of a node after the node is deleted.

An agent on the node writes its Numatopology, and no agent deletes it. Without this deletion, a new node with the same
name would be described by the old Numatopology until the agent of the new node writes its own.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import structlog

from pyroclast.kube.api.client import Client, Lane
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import NUMATOPOLOGIES
from pyroclast.model import wire

__all__ = ["GoneNodes"]

_CONFLICT: Final = 409

_log = structlog.get_logger(__name__)


class GoneNodes:
    """Handles the deletion of nodes."""

    def __init__(
        self,
        client: Client,
        topology_of: Callable[[str], wire.Numatopology | None],
        *,
        may_write: Callable[[], bool],
        begin: Callable[[str, Callable[[], Coroutine[Any, Any, None]]], None],
    ) -> None:
        """Prepare to handle deletions.

        Args:
            client: The client of the API server.
            topology_of: Returns the Numatopology of a node, by the name of the node.
            may_write: Returns whether this process leads.
            begin: Starts background work under a name.
        """
        self._client = client
        self._topology_of = topology_of
        self._may_write = may_write
        self._begin = begin

    def added(self, new: wire.Node) -> None:
        """Ignore a new node."""

    def updated(self, old: wire.Node, new: wire.Node) -> None:
        """Ignore a changed node."""

    def deleted(self, old: wire.Node) -> None:
        """Start to delete the Numatopology of a deleted node, if it has one."""
        topology = self._topology_of(old.metadata.name)
        if topology is not None and self._may_write():
            self._begin("delete-numatopology", partial(delete_topology, self._client, topology.metadata))


async def delete_topology(client: Client, metadata: wire.ObjectMeta) -> None:
    """Delete a Numatopology unless it has changed since; log a failure."""
    preconditions = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
    try:
        path = NUMATOPOLOGIES.path("", metadata.name)
        await client.request_json("DELETE", path, body=body, lane=Lane.BACKGROUND)
    except ApiError as error:
        # Not found: already deleted. Conflict: a new node with this name has written its own.
        if not (error.is_not_found or error.status == _CONFLICT):
            _log.warning("numatopology_not_deleted", node=metadata.name, error=str(error))
    else:
        _log.info("numatopology_deleted", node=metadata.name)
