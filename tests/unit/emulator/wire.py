"""A plain client of an emulator under test: paths and JSON, nothing more."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

Object = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    code: int
    body: Any
    headers: dict[str, str]

    @property
    def refusal(self) -> tuple[int, str, str]:
        """Code, reason and message of a Status."""
        return self.code, self.body["reason"], self.body["message"]


class Client:
    """Sends requests to one emulator."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.session = session

    async def send(self, method: str, path: str, body: object = None, *, kind: str = "application/json") -> Answer:
        """One request, one answer."""
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": kind} if data is not None else {}
        async with self.session.request(method, self.url + path, data=data, headers=headers) as response:
            return Answer(code=response.status, body=json.loads(await response.read()), headers=dict(response.headers))

    async def get(self, path: str) -> Answer:
        """GET."""
        return await self.send("GET", path)

    async def post(self, path: str, body: object) -> Answer:
        """POST."""
        return await self.send("POST", path, body)

    async def bind(self, name: str, node: str = "n1", **metadata: object) -> Answer:
        """Bind a pod of the default namespace."""
        target = {"kind": "Node", "name": node}
        return await self.post(f"{PODS}/{name}/binding", {"metadata": {"name": name, **metadata}, "target": target})

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator["Events"]:
        """Open a watch; `path` carries its query."""
        async with self.session.get(f"{self.url}{path}&watch=1") as response:
            yield Events(response)


class Events:
    """The events of one watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def take(self, number: int = 1) -> list[tuple[str, Object]]:
        """The next events: type and object."""
        lines = [json.loads(await self.response.content.readline()) for _ in range(number)]
        return [(line["type"], line["object"]) for line in lines]

    async def names(self, number: int) -> list[tuple[str, str]]:
        """The next events: type and name."""
        return [(kind, body["metadata"]["name"]) for kind, body in await self.take(number)]


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: object) -> Object:
    """A pod of one container."""
    containers = [{"name": "main", "image": "registry.example/a:1"}]
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"containers": containers, **spec}}
