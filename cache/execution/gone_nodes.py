"""Gone nodes: the Numatopology of a node that was deleted is deleted after it, for nobody else does.

What describes a node's inside is written by a program on that node, which can write no more; left behind it would be
taken for the truth about the next node of the name until that one writes its own.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import structlog

from pyroclast.kube.client import Client, Lane
from pyroclast.kube.errors import ApiError
from pyroclast.kube.resources import NUMATOPOLOGIES
from pyroclast.model import wire

__all__ = ["GoneNodes"]

_CONFLICT: Final = 409

_log = structlog.get_logger(__name__)


class GoneNodes:
    """Hears of nodes that are deleted."""

    def __init__(
        self,
        client: Client,
        topology_of: Callable[[str], wire.Numatopology | None],
        *,
        may_write: Callable[[], bool],
        begin: Callable[[str, Callable[[], Coroutine[Any, Any, None]]], None],
    ) -> None:
        """Prepare.

        Args:
            client: Deletes.
            topology_of: Returns the Numatopology of a node, by its name.
            may_write: Whether this process leads.
            begin: Begins work that goes on beside, under a name.
        """
        self._client = client
        self._topology_of = topology_of
        self._may_write = may_write
        self._begin = begin

    def added(self, new: wire.Node) -> None:
        """Take no notice."""

    def updated(self, old: wire.Node, new: wire.Node) -> None:
        """Take no notice."""

    def deleted(self, old: wire.Node) -> None:
        """Begin to delete what describes the inside of a node, where there is something."""
        topology = self._topology_of(old.metadata.name)
        if topology is not None and self._may_write():
            self._begin("delete-numatopology", partial(delete_topology, self._client, topology.metadata))


async def delete_topology(client: Client, metadata: wire.ObjectMeta) -> None:
    """Delete a Numatopology, unless somebody wrote it since; a refusal is logged."""
    preconditions = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
    try:
        path = NUMATOPOLOGIES.path("", metadata.name)
        await client.request_json("DELETE", path, body=body, lane=Lane.BACKGROUND)
    except ApiError as error:
        # gone already, or written anew: a node of the name has come back
        if not (error.is_not_found or error.status == _CONFLICT):
            _log.warning("numatopology_stays", node=metadata.name, error=str(error))
    else:
        _log.info("numatopology_deleted", node=metadata.name)
