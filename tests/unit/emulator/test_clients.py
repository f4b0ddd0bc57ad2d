"""The clients that must be satisfied: the Python client, and an operator built on kopf."""

import asyncio
from pathlib import Path
from typing import Any

import kopf
from kubernetes.aio import client as kube
from kubernetes.aio import config, watch

from pyroclast.emulator.run import Emulator
from tests.unit.emulator.test_customresources import DEFINITIONS, LAMPS, definition, lamp
from tests.unit.emulator.wire import PODS, Client, pod


async def test_the_python_client_lists_creates_and_watches(emulator: Emulator, tmp_path: Path) -> None:
    """Typed calls read what the server writes."""
    await config.load_kube_config(str(emulator.kubeconfig(tmp_path / "kubeconfig")))  # type: ignore[no-untyped-call]  # the client has few types
    async with kube.ApiClient() as api:
        core: Any = kube.CoreV1Api(api)  # its types know no dicts
        await core.create_namespaced_pod("default", pod("a"))
        listed = await core.list_namespaced_pod("default")
        watching: Any = watch.Watch()  # type: ignore[no-untyped-call]  # as above
        seen = [
            (event["type"], event["object"].metadata.name)
            async for event in watching.stream(core.list_namespaced_pod, "default", timeout_seconds=1)
        ]

    assert [item.metadata.name for item in listed.items] == ["a"]
    assert seen == [("ADDED", "a")]


async def test_an_operator_on_kopf_lights_lamps(emulator: Emulator, client: Client) -> None:
    """Handlers run for a custom resource, write its status and hold its deletion by a finalizer."""
    await client.post(DEFINITIONS, definition())
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def log_in(**_: Any) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(server=emulator.url)

    @kopf.on.create("example.com", "v1", "lamps", registry=registry)
    async def light(patch: kopf.Patch, **_: Any) -> None:
        patch.status["lit"] = True

    @kopf.on.delete("example.com", "v1", "lamps", registry=registry)
    async def darken(name: str, **_: Any) -> None:
        await client.post(PODS, pod(f"{name}-is-out"))

    stop = asyncio.Event()
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    operator = asyncio.create_task(
        kopf.operator(registry=registry, settings=settings, namespaces=["default"], stop_flag=stop, standalone=True)
    )
    try:
        await client.post(LAMPS, lamp())
        assert await eventually(client, f"{LAMPS}/desk", lambda body: body.get("status", {}).get("lit"))
        await client.send("DELETE", f"{LAMPS}/desk")
        assert await eventually(client, f"{PODS}/desk-is-out", lambda body: body["kind"] == "Pod")
        assert await eventually(client, f"{LAMPS}/desk", lambda body: body.get("code") == 404)
    finally:
        stop.set()
        await asyncio.wait_for(operator, 30)


async def eventually(client: Client, path: str, holds: Any) -> bool:
    """Whether something holds of an object within ten seconds."""
    for _ in range(200):
        if holds((await client.get(path)).body):
            return True
        await asyncio.sleep(0.05)
    return False
