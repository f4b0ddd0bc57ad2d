"""First queues: creates the root queue and the default queue if they are missing."""

from typing import Any, Final

import structlog

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import QUEUES
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import ROOT_QUEUE

__all__ = ["make_first_queues"]

_TRIES: Final = 60
_RETRY_SECONDS: Final = 1.0
_ALREADY_EXISTS: Final = 409

_log = structlog.get_logger(__name__)


async def make_first_queues(client: Client, clock: Clock, default_queue: QueueName) -> bool:
    """Create the root queue and the default queue if they are missing, and return whether both exist.

    A failed request is repeated for a minute, because the Queue resource may not be installed yet.
    """
    missing = {ROOT_QUEUE: False, default_queue: True}
    for _ in range(_TRIES):
        try:
            for name, reclaimable in list(missing.items()):
                await _create(client, name, reclaimable=reclaimable)
                del missing[name]
        except ApiError as error:
            _log.warning("first_queue_failed", queues=list(missing), error=str(error))
            await clock.sleep(_RETRY_SECONDS)
        else:
            return True
    return False


async def _create(client: Client, name: QueueName, *, reclaimable: bool) -> None:
    try:
        await client.request("GET", QUEUES.path("", name))
    except ApiError as error:
        if not error.is_not_found:
            raise
    else:
        return
    try:
        await client.request_json("POST", QUEUES.collection(), body=_queue(name, reclaimable=reclaimable))
    except ApiError as error:
        if error.status != _ALREADY_EXISTS:
            raise


def _queue(name: QueueName, *, reclaimable: bool) -> dict[str, Any]:
    return {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": reclaimable},
    }
