"""An API server in memory with the custom kinds, and a cache that watches it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.options import StateOptions
from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.kube.writes.events import EventRecorder
from pyroclast.kube.writes.evictor import Evictor
from pyroclast.kube.writes.status import StatusWriter
from pyroclast.model.errors import ObjectError
from tests.unit.kube.world import FakeClock, World


@dataclass
class WatchedCluster:
    """A cluster, and the cache that watches it."""

    world: World
    cache: SchedulerCache
    writers: ClusterWriters
    clock: FakeClock
    faults: list[ObjectError] = field(default_factory=list)

    async def seen(self, kind: str, count: int) -> None:
        """Wait until the cluster state has this number of objects of a kind."""
        await self.world.soon(lambda: len(self.cache.state.stored(kind)) == count)

    async def queue(self, name: str) -> Any:
        """Read a queue."""
        return await self.world.client.request_json("GET", f"/apis/scheduling.volcano.sh/v1beta1/queues/{name}")

    async def events(self, reason: str) -> list[Any]:
        """Return the events with a reason, after all events are written."""
        await self.writers.events.drain()
        listed = await self.world.client.request_json("GET", "/api/v1/events")
        return [event for event in listed["items"] if event["reason"] == reason]

    async def node(self, name: str = "n1", cpu: str = "4") -> None:
        """Create a node."""
        await self.world.post(
            "/api/v1/nodes",
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name},
                "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}},
            },
        )

    async def member(self, name: str, cpu: str = "1") -> str:
        """Create a pod of the group `g`; return its UID."""
        requests = {"requests": {"cpu": cpu}}
        made = await self.world.post(
            "/api/v1/namespaces/default/pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "annotations": {"scheduling.k8s.io/group-name": "g"}},
                "spec": {
                    "schedulerName": "volcano",
                    "containers": [{"name": "c", "image": "i", "resources": requests}],
                },
            },
        )
        uid: str = made["metadata"]["uid"]
        return uid


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[WatchedCluster]:
    """A cache that is not started, and an API server with pod groups and queues."""
    async with Emulator(port=0) as emulator:
        cluster = await connect(ClusterOptions(kubeconfig=str(emulator.kubeconfig(tmp_path / "kubeconfig"))))
        async with Client(cluster, component="tests", timeout=30.0) as client:
            world = World(emulator, client)
            await world.define_pod_groups(has_status=True)
            await world.define("queues", "Queue", group="scheduling.volcano.sh", version="v1beta1", has_status=True)
            discovery = Discovery(client, keep_seconds=0.0)
            writers = ClusterWriters(
                binder=ApiBinder(client, patience_seconds=0.5),
                evictor=Evictor(client, discovery, patience_seconds=0.5),
                statuses=StatusWriter(client, discovery),
                events=EventRecorder(client, component="volcano"),
            )
            faults: list[ObjectError] = []
            cache = SchedulerCache(
                client, writers, StateOptions(assume_seconds=30.0), audit_seconds=0, on_fault=faults.append
            )
            made = WatchedCluster(world, cache, writers, world.clock, faults)
            yield made
            await cache.stop()
            await world.stop()
