"""A cluster to measure on: an API server with our definitions, and objects that are made fast."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import clusters
from benchmarks.clusters import Object
from benchmarks.cycles import DEFAULT
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.resources import NODES, POD_GROUPS, PODS, QUEUES
from pyroclast.scheduler.data import custom_resource_definitions

__all__ = ["UNLIMITED", "WAIT_SECONDS", "Ground"]

UNLIMITED = (
    "--enable-priority-and-fairness=false",
    "--max-requests-inflight=3000",
    "--max-mutating-requests-inflight=3000",
)
"""Flags of an API server without limits of requests."""
WAIT_SECONDS = 600.0
CONNECTIONS = 32
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KINDS = {"Node": NODES, "Queue": QUEUES, "PodGroup": POD_GROUPS, "Pod": PODS}
"""Resources by kind, in the order in which objects are made."""


class Ground:
    """An API server, its kubeconfig, and a folder with the default configuration of a scheduler."""

    def __init__(self, client: Client, kubeconfig: Path, folder: Path) -> None:
        """Take what runs."""
        self.client, self.kubeconfig, self.folder = client, kubeconfig, folder
        self.settings = folder / "scheduler.yaml"
        self.settings.write_text(DEFAULT)

    async def prepare(self) -> None:
        """Make the definitions and the namespace, and wait until the kinds are served."""
        await self._send("POST", ((DEFINITIONS, each) for each in custom_resource_definitions()))
        await self.add_namespace(clusters.NAMESPACE)
        for kind in (QUEUES, POD_GROUPS):
            await self._served(kind.collection())

    async def add_namespace(self, name: str) -> None:
        """Make a namespace."""
        await self._send("POST", [("/api/v1/namespaces", {"metadata": {"name": name}})])

    async def create(self, objects: Iterable[Object]) -> None:
        """Make nodes, queues, groups and pods, in this order of kinds whatever theirs is."""
        by_kind: dict[str, list[tuple[str, Object]]] = {kind: [] for kind in KINDS}
        for each in objects:
            named = {key: value for key, value in each["metadata"].items() if key != "uid"}
            path = KINDS[each["kind"]].collection(named.get("namespace", ""))
            by_kind[each["kind"]].append((path, {**each, "metadata": named}))
        for bodies in by_kind.values():
            await self._send("POST", bodies)

    async def delete(self, paths: Iterable[str]) -> None:
        """Delete objects, given by their paths, at once."""
        await self._send("DELETE", ((path, {"gracePeriodSeconds": 0}) for path in paths))

    async def patch(self, changes: Iterable[tuple[str, Object]]) -> None:
        """Merge changes into objects, given by their paths."""
        await self._send("PATCH", changes, media_type=MediaType.MERGE_PATCH)

    async def _served(self, path: str) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                try:
                    await self.client.request("GET", path, params={"limit": "1"})
                except Exception:  # noqa: BLE001  # any error, until the definition is established
                    await asyncio.sleep(0.1)
                else:
                    return

    async def _send(self, method: str, bodies: Iterable[tuple[str, Object]], **options: Any) -> None:
        waiting = iter(bodies)

        async def work() -> None:
            for path, body in waiting:
                await self.client.request(method, path, body=msgspec.json.encode(body), timeout=WAIT_SECONDS, **options)

        await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
