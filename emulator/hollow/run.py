"""Running hollow nodes: register them, then keep them and their pods alive."""

import asyncio
from typing import Any, Final

import msgspec

from pyroclast.emulator.clock import Clock
from pyroclast.emulator.hollow.heartbeats import Heartbeats
from pyroclast.emulator.hollow.kubelets import KubeletOptions, Kubelets
from pyroclast.emulator.hollow.template import NodeTemplate
from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import SystemClock
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.errors import ApiConflictError
from pyroclast.kube.api.resources import NODES
from pyroclast.kube.api.retrying import retry

__all__ = ["register_nodes", "run_hollow_nodes"]

_CONCURRENCY: Final = 16
_PATIENCE: Final = 60.0


async def register_nodes(client: Client, template: NodeTemplate, count: int) -> None:
    """Create nodes 0 to `count` - 1; those that exist stay as they are."""
    now = Clock().now()
    slots = asyncio.Semaphore(_CONCURRENCY)

    async def register(number: int) -> None:
        async with slots:
            await retry(
                lambda: _register(client, template.manifest(number, now)),
                clock=SystemClock(),
                backoff=Backoff(),
                patience_seconds=_PATIENCE,
            )

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(register(number))


async def _register(client: Client, manifest: dict[str, Any]) -> None:
    try:
        made = await client.request_json("POST", NODES.collection(), body=manifest)
    except ApiConflictError:
        return  # it is there since an earlier run
    taints = manifest["spec"].get("taints")
    if made["spec"].get("taints") != taints:
        # A real server puts a not-ready taint on each new node, for a controller to take off: we are ready.
        await client.request(
            "PATCH",
            NODES.path("", manifest["metadata"]["name"]),
            body=msgspec.json.encode({"spec": {"taints": taints}}),
            media_type=MediaType.MERGE_PATCH,
        )


async def run_hollow_nodes(
    *,
    cluster: ClusterOptions,
    count: int,
    template: NodeTemplate | None = None,
    options: KubeletOptions | None = None,
    heartbeat_seconds: float = 20.0,
    ready: asyncio.Event | None = None,
) -> None:
    """Register hollow nodes and keep them alive until cancelled.

    Args:
        cluster: Where the API server is.
        count: How many nodes.
        template: What they look like.
        options: How fast their kubelets are.
        heartbeat_seconds: Between two heartbeats of a node.
        ready: Set when all nodes are there and at work.
    """
    chosen = options or KubeletOptions()
    async with Client(await connect(cluster), component="hollow-nodes", connections=chosen.concurrency) as client:
        await register_nodes(client, template or NodeTemplate(), count)
        kubelets = Kubelets(client, chosen)
        async with asyncio.TaskGroup() as group:
            group.create_task(kubelets.run())
            group.create_task(Heartbeats(client, kubelets.rooms, interval_seconds=heartbeat_seconds).run())
            await kubelets.ready.wait()
            if ready is not None:
                ready.set()
