"""The API client of a controller of a plugin. It writes only while its controller runs and this process leads."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

from pyroclast.controllers.runtime.writer import Writer
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import Resource, resource_of
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.watched import WatchedKind, check_name

__all__ = ["PluginApi"]


Anything = TypeVar("Anything")


class PluginApi:
    """Implements `contract.ObjectClient`, for callers in any thread."""

    def __init__(self, client: Client, *, may_write: Callable[[], bool]) -> None:
        """Create a client whose writes are refused unless `may_write` returns true.

        Requests are sent by the event loop that runs now.
        """
        self._writer = Writer(client, may_write=may_write)
        self._loop = asyncio.get_running_loop()

    async def read(self, kind: WatchedKind, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return an object as the server has it; None if there is none."""
        try:
            return await self._send(self._writer.read(_resource(kind, namespace), namespace, name))
        except ApiError as error:
            if not error.is_not_found:
                raise
            return None

    async def create(self, kind: WatchedKind, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Create an object. Return it, or the one that has its name."""
        return (await self._send(self._writer.create(_resource(kind, _metadata(body).namespace), body))).object

    async def merge(
        self, kind: WatchedKind, existing: Mapping[str, Any], change: Mapping[str, Any], *, subresource: str = ""
    ) -> Mapping[str, Any]:
        """Apply a merge patch to an existing object, or to its subresource, and return the result."""
        metadata = _metadata(existing)
        if subresource:
            check_name("subresource", subresource)
        resource = _resource(kind, metadata.namespace)
        return await self._send(self._writer.merge(resource, metadata, change, subresource=subresource))

    async def delete(self, kind: WatchedKind, existing: Mapping[str, Any]) -> bool:
        """Delete an existing object. Return whether it existed."""
        metadata = _metadata(existing)
        return await self._send(self._writer.delete(_resource(kind, metadata.namespace), metadata))

    async def _send(self, request: Coroutine[Any, Any, Anything]) -> Anything:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(request, self._loop))


def _metadata(item: Mapping[str, Any]) -> ObjectMeta:
    """Return the metadata of an object; raises ValueError if they do not fit."""
    return msgspec.convert(item["metadata"], ObjectMeta)


def _resource(kind: WatchedKind, namespace: str) -> Resource[Any]:
    if namespace:
        check_name("namespace", namespace)  # it becomes a part of the path
    return resource_of(kind)
