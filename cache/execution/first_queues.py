"""First queues: the root of all queues and the one for groups that name none, made when they are missing."""

from typing import Any, Final

import structlog

from pyroclast.kube.client import Client
from pyroclast.kube.clock import Clock
from pyroclast.kube.errors import ApiError
from pyroclast.kube.resources import QUEUES
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import ROOT_QUEUE

__all__ = ["make_first_queues"]

_TRIES: Final = 60
_SECONDS_BETWEEN: Final = 1.0
_ALREADY_EXISTS: Final = 409

_log = structlog.get_logger(__name__)


async def make_first_queues(client: Client, clock: Clock, default_queue: QueueName) -> bool:
    """Create the root and the default queue where they are missing; tell whether both are there.

    A server that does not know queues (yet) is asked again a minute long.
    """
    wanted = {ROOT_QUEUE: False, default_queue: True}
    for _ in range(_TRIES):
        try:
            for name, reclaimable in list(wanted.items()):
                await _make(client, name, reclaimable=reclaimable)
                del wanted[name]
        except ApiError as error:
            _log.warning("first_queue_failed", queues=list(wanted), error=str(error))
            await clock.sleep(_SECONDS_BETWEEN)
        else:
            return True
    return False


async def _make(client: Client, name: QueueName, *, reclaimable: bool) -> None:
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
