"""Node locks: an annotation of a node that marks a pod with devices on its way there, one at a time.

The lock is set before the pod is bound, by a write that fails if the node has changed since it was read. The device
plugin removes it after it has served the pod. A lock older than five minutes has expired; one from the future is held.
Some locks name their pod. They are free for this pod, and for all others if there is no such pod.
The lock is reverted if the pod is not bound after all, unless it has been set again since.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiConflictError, ApiError, NoAnswerError
from pyroclast.kube.api.resources import NODES, PODS
from pyroclast.kube.api.retrying import retry
from pyroclast.model import wire
from pyroclast.model.devices.locks import NAMES_POD, is_held, locked_by
from pyroclast.model.errors import ConflictError
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Bind, Preparation

__all__ = ["NodeLocker"]

_PATIENCE_SECONDS: Final = 10.0
"""Time for which temporary refusals and conflicts on a node are retried."""
_TIMEOUT: Final = 10.0


class NodeLocker:
    """Sets and reverts locks."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        """Create a locker."""
        self._client = client
        self._clock = clock or SystemClock()
        self._ours: dict[tuple[str, str], tuple[TaskId, str]] = {}
        """Pod and value of the last lock written, by node and annotation: only that pod may revert its lock."""

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Lock a node.

        Raises:
            ConflictError: It is locked, or its lock is not a time.
            ApiError: The server refused.
        """
        name, annotation = preparation.name, preparation.details["annotation"]
        written: str | None = None

        async def attempt() -> None:
            nonlocal written
            node = await self._node(name)
            text = node.metadata.annotations.get(annotation)
            if text is not None and text == written:
                return  # set by the previous attempt, whose answer was lost
            await self._check(name, annotation, text, (bind.namespace, bind.name))
            # recorded first: a write without an answer may have happened
            written = wire.time_text(self._clock.wall())
            if NAMES_POD in preparation.details:
                written = f"{written},{bind.namespace},{bind.name}"
            self._ours[name, annotation] = bind.task, written
            try:
                await self._write(node, annotation, written)
            except ApiConflictError as error:
                written = None
                del self._ours[name, annotation]
                raise NoAnswerError(f"node {name} changes: {error.message}") from error

        await self._patiently(attempt)

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Remove the lock if it is still the one that was set for this pod; other pods rely on theirs."""
        name, annotation = preparation.name, preparation.details["annotation"]
        owner, value = self._ours.get((name, annotation), (None, ""))
        if owner != bind.task:
            return
        del self._ours[name, annotation]

        async def attempt() -> None:
            node = await self._node(name)
            if node.metadata.annotations.get(annotation) == value:
                await self._write(node, annotation, None)

        await self._patiently(attempt)

    async def _check(self, name: str, annotation: str, text: str | None, own: tuple[str, str]) -> None:
        if text is None:
            return
        try:
            held = is_held(text, self._clock.wall())
        except ValueError:
            raise ConflictError(f"node {name}: annotation {annotation}: {text!r} is not a time") from None
        pod = locked_by(text)
        if held and pod != own and (pod is None or await self._exists(*pod)):
            raise ConflictError(f"node {name} has been locked within 5 minutes")

    async def _exists(self, namespace: str, name: str) -> bool:
        try:
            await self._client.request("GET", PODS.path(namespace, name), timeout=_TIMEOUT)
        except ApiError as error:
            if error.is_not_found:
                return False
            raise
        return True

    async def _node(self, name: str) -> wire.Node:
        return NODES.decoder.decode(await self._client.request("GET", NODES.path("", name), timeout=_TIMEOUT))

    async def _write(self, node: wire.Node, annotation: str, value: str | None) -> None:
        # the resource version makes two schedulers that lock one node conflict, instead of the later one winning
        metadata = {"resourceVersion": node.metadata.resource_version, "annotations": {annotation: value}}
        await self._client.request(
            "PATCH",
            NODES.path("", node.metadata.name),
            body=msgspec.json.encode({"metadata": metadata}),
            media_type=MediaType.MERGE_PATCH,
            timeout=_TIMEOUT,
        )

    async def _patiently(self, attempt: Callable[[], Awaitable[None]]) -> None:
        backoff = Backoff(first_seconds=0.1, cap_seconds=2.0)
        await retry(attempt, clock=self._clock, backoff=backoff, patience_seconds=_PATIENCE_SECONDS)
