"""A server in memory, a client of it, and a clock without waiting."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from pyroclast.emulator.faults import Faults
from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client, MediaType


@dataclass
class FakeClock:
    """Sleeping moves the time at once."""

    now: float = 1000.0
    wall_offset: float = 1_767_225_600.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        """Tell the time that sleeping moved."""
        return self.now

    def wall(self) -> float:
        """Tell the time of day; a test may make it jump."""
        return self.now + self.wall_offset

    async def sleep(self, seconds: float) -> None:
        """Move the time and let others have their turn."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class BusyClient:
    """A client that counts the requests under way."""

    answer: bytes = b""
    now: int = 0
    most: int = 0
    answered: int = 0

    async def request(self, *_: object, **__: object) -> bytes:
        """Take a while."""
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        self.answered += 1
        return self.answer


@dataclass
class Recorder:
    """A handler that records its events."""

    log: list[tuple[str, str]] = field(default_factory=list)

    def added(self, new: Any) -> None:
        """Note it."""
        self.log.append(("added", new.metadata.name))

    def updated(self, old: Any, new: Any) -> None:
        """Record the update; an unchanged object is never one."""
        assert old != new
        self.log.append(("updated", new.metadata.name))

    def deleted(self, old: Any) -> None:
        """Note it."""
        self.log.append(("deleted", old.metadata.name))


@dataclass
class World:
    """All that a test of a client needs."""

    emulator: Emulator
    client: Client
    clock: FakeClock = field(default_factory=FakeClock)
    recorder: Recorder = field(default_factory=Recorder)
    tasks: list["asyncio.Task[Any]"] = field(default_factory=list)

    @property
    def faults(self) -> Faults:
        """What the server does wrong."""
        return self.emulator.faults

    @property
    def log(self) -> list[tuple[str, str]]:
        """Events of the recorder."""
        return self.recorder.log

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run something until the test ends."""
        self.tasks.append(asyncio.get_running_loop().create_task(coroutine))
        return self.tasks[-1]

    async def stop(self) -> None:
        """End what was started."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def soon(self, is_true: Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait until something holds; the server's answers take real, if little, time."""
        async with asyncio.timeout(seconds):
            while not is_true():  # noqa: ASYNC110  what is waited for has no event
                await asyncio.sleep(0.005)

    def end_watches(self) -> None:
        """Make the server end all watches."""
        self.emulator._api.end_watches()

    async def pod(self, name: str, **spec: Any) -> str:
        """Create a pod; return its UID."""
        made = await self.post(
            "/api/v1/namespaces/default/pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
            },
        )
        uid: str = made["metadata"]["uid"]
        return uid

    async def get_pod(self, name: str) -> Any:
        """Read a pod."""
        return await self.client.request_json("GET", f"/api/v1/namespaces/default/pods/{name}")

    async def delete_pod(self, name: str) -> None:
        """Delete a pod at once."""
        await self.client.request(
            "DELETE", f"/api/v1/namespaces/default/pods/{name}", params={"gracePeriodSeconds": "0"}
        )

    async def label_pod(self, name: str, turn: str) -> None:
        """Change a pod."""
        await self.patch(f"/api/v1/namespaces/default/pods/{name}", {"metadata": {"labels": {"turn": turn}}})

    async def post(self, path: str, body: object) -> Any:
        """Create something."""
        return await self.client.request_json("POST", path, body=body)

    async def patch(self, path: str, body: object) -> Any:
        """Merge something."""
        return await self.client.request_json("PATCH", path, body=body, media_type=MediaType.MERGE_PATCH)

    async def define(self, plural: str, kind: str, *, group: str, version: str, has_status: bool = False) -> None:
        """Define a custom kind that lets everything through."""
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        served = {"name": version, "served": True, "storage": True, "schema": schema}
        await self.post(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {
                    "name": f"{plural}.{group}",
                    "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
                },
                "spec": {
                    "group": group,
                    "scope": "Namespaced" if kind in {"PodGroup", "ElasticQuota"} else "Cluster",
                    "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"},
                    "versions": [served | ({"subresources": {"status": {}}} if has_status else {})],
                },
            },
        )

    async def define_pod_groups(self, *, has_status: bool = False) -> None:
        """Define pod groups, by default without a status subresource, as Volcano does."""
        await self.define(
            "podgroups", "PodGroup", group="scheduling.volcano.sh", version="v1beta1", has_status=has_status
        )

    async def pod_group(self, name: str, **spec: Any) -> Any:
        """Create a pod group."""
        return await self.post(
            "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups",
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": name},
                "spec": spec,
            },
        )
