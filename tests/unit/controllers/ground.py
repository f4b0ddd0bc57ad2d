"""A server in memory that knows the custom resources, and an operator on it."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.writer import Writer
from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.scheduler.data import custom_resource_definitions

definitions = cache(custom_resource_definitions)
"""Read once: their YAML is long."""

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass
class Ground:
    """What a test of a controller stands on."""

    emulator: Emulator
    client: Client
    tasks: list["asyncio.Task[Any]"] = field(default_factory=list)

    @property
    def writer(self) -> Writer:
        """Writes for the test."""
        return Writer(self.client)

    def operator(self, clock: Clock | None = None) -> Operator:
        """An operator without controllers."""
        return Operator(self.client, component="test-controllers", clock=clock)

    async def live_and_die(self, made: Callable[[Operator], object], *, writes: int) -> int:
        """Run controllers until they rest, or are killed right after so many writes; return the writes they made.

        Args:
            made: Plugs controllers into an operator.
            writes: After these the process is gone: nothing of it reaches the server any more.
        """
        mortal = MortalClient(self.client, lives=writes)
        operator = Operator(mortal, component="test-controllers")  # type: ignore[arg-type]  # as much as is used of one
        made(operator)
        running = asyncio.create_task(operator.run())
        await asyncio.wait_for(operator.synced(), 30)
        ends = [asyncio.create_task(operator.idle()), asyncio.create_task(mortal.died.wait())]
        await asyncio.wait_for(asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED), 30)
        for task in (running, *ends):
            task.cancel()
        await asyncio.gather(running, *ends, return_exceptions=True)
        return mortal.writes

    @asynccontextmanager
    async def working(self, operator: Operator) -> AsyncIterator[None]:
        """An operator at work; killed in whatever it does at the end."""
        task = asyncio.create_task(operator.run())
        await asyncio.wait_for(operator.synced(), 30)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def soon(self, is_true: Callable[[], Any], seconds: float = 30.0) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(seconds):
            while True:
                answer = is_true()
                if await answer if asyncio.iscoroutine(answer) else answer:
                    return
                await asyncio.sleep(0.01)

    async def get(self, path: str) -> Any:
        """Read what stands at a path."""
        return await self.client.request_json("GET", path)

    async def names(self, path: str) -> list[str]:
        """Names in a collection."""
        listed = await self.get(path)
        return [item["metadata"]["name"] for item in listed["items"]]

    async def post(self, path: str, body: object) -> Any:
        """Create something."""
        return await self.client.request_json("POST", path, body=body)

    async def patch(self, path: str, body: object) -> Any:
        """Merge something."""
        return await self.client.request_json("PATCH", path, body=body, media_type=MediaType.MERGE_PATCH)

    async def delete(self, path: str) -> None:
        """Delete something at once."""
        await self.client.request("DELETE", path, params={"gracePeriodSeconds": "0"})


class SetClock(SystemClock):
    """A clock whose time of day can be set."""

    ahead = 0.0

    def wall(self) -> float:
        """Tell the time of day as it was set."""
        return super().wall() + self.ahead


class MortalClient:
    """A client that is dead after so many writes: the last one is carried out, and nothing comes after it."""

    def __init__(self, client: Client, *, lives: int) -> None:
        self._client, self._lives = client, lives
        self.writes = 0
        self.died = asyncio.Event()
        self.stream = client.stream

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        """Send, as long as we live."""
        if self.died.is_set():
            await asyncio.Event().wait()
        answer = await self._client.request(method, path, **options)
        if method != "GET" and not path.endswith("/events"):
            self.writes += 1
            if self.writes >= self._lives:
                self.died.set()
                await asyncio.Event().wait()
        return answer

    async def request_json(self, method: str, path: str, *, body: object = None, **options: Any) -> Any:
        """As the client's."""
        answer = await self.request(method, path, body=None if body is None else msgspec.json.encode(body), **options)
        return msgspec.json.decode(answer) if answer else None


@asynccontextmanager
async def ground(folder: Path, *, knows_schemas: bool = True) -> AsyncIterator[Ground]:
    """A running server with all definitions; without schemas it takes whatever it is given."""
    async with Emulator(port=0) as emulator:
        cluster = await connect(ClusterOptions(kubeconfig=str(emulator.kubeconfig(folder / "kubeconfig"))))
        async with Client(cluster, component="tests", timeout=30.0) as client:
            made = Ground(emulator, client)
            for definition in definitions():
                await made.post(DEFINITIONS, definition if knows_schemas else _without_schemas(definition))
            yield made
            for task in made.tasks:
                task.cancel()
            await asyncio.gather(*made.tasks, return_exceptions=True)


def _without_schemas(definition: Any) -> Any:
    loose = copy.deepcopy(definition)
    for version in loose["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return loose
