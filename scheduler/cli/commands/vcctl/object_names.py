"""Names of objects in the cluster, for completion."""

import argparse
import asyncio
from typing import Any, Final

from pyroclast.kube.api.resources import ELASTIC_QUOTAS, JOBS, QUEUES, RESERVATIONS, Resource
from pyroclast.scheduler.cli.commands.vcctl.api_requests import connected

__all__ = ["names"]

_SECONDS = 2.0
"""Maximum wait. A completion should not block the shell for longer."""

_RESOURCES: Final[dict[str, Resource[Any]]] = {
    "queue": QUEUES,
    "job": JOBS,
    "quota": ELASTIC_QUOTAS,
    "reservation": RESERVATIONS,
}


def names(given: argparse.Namespace, kind: str) -> list[str]:
    """Return the names of all objects of a kind.

    Raises:
        PyroclastError: The server cannot be reached, or refuses the request.
        TimeoutError: The server does not answer in time.
    """
    return asyncio.run(asyncio.wait_for(_names(given, _RESOURCES[kind]), _SECONDS))


async def _names(given: argparse.Namespace, resource: Resource[Any]) -> list[str]:
    async with connected(given) as client:
        if resource is ELASTIC_QUOTAS:
            client.namespace = ""  # their names are unique in the cluster
        return [each["metadata"]["name"] for each in await client.all_of(resource)]
