"""Names of what is in the cluster, for completion."""

import argparse
import asyncio
from typing import Any, Final

from pyroclast.kube.resources import ELASTIC_QUOTAS, JOBS, QUEUES, Resource
from pyroclast.scheduler.cli.commands.vcctl.speaking import connected

__all__ = ["names"]

_SECONDS = 2.0
"""Longest wait: who presses a key does not wait longer."""

_RESOURCES: Final[dict[str, Resource[Any]]] = {"queue": QUEUES, "job": JOBS, "quota": ELASTIC_QUOTAS}


def names(given: argparse.Namespace, kind: str) -> list[str]:
    """Return the names of all objects of a kind.

    Raises:
        PyroclastError: The cluster cannot be asked, or refuses.
        TimeoutError: It does not answer in time.
    """
    return asyncio.run(asyncio.wait_for(_names(given, _RESOURCES[kind]), _SECONDS))


async def _names(given: argparse.Namespace, resource: Resource[Any]) -> list[str]:
    async with connected(given) as speaker:
        if resource is ELASTIC_QUOTAS:
            speaker.namespace = ""  # their names are unique in the cluster
        return [each["metadata"]["name"] for each in await speaker.all_of(resource)]
