"""Pod patches: labels, and the annotations beside them, that a pod gets before it is bound.

A Binding carries annotations, and not all API servers copy labels from it. So a pod that plugins label is patched once,
with labels and annotations together, as the last preparation of its bind. A bind that fails puts back what the pod had
when it was decided, where the pod still has the value of the patch. Another pod of the same name is left alone.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
import structlog

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import PODS
from pyroclast.kube.api.retrying import retry
from pyroclast.model import wire
from pyroclast.model.errors import ConflictError
from pyroclast.model.patches import values_before
from pyroclast.model.plan import Bind, Preparation

__all__ = ["PodAnnotator", "PodPatcher"]

_log = structlog.get_logger(__name__)

_PATIENCE_SECONDS: Final = 10.0
"""Time for which temporary refusals are retried."""
_TIMEOUT: Final = 10.0


class _PodWriter:
    """Reads and patches pods."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        """Create a patcher."""
        self._client = client
        self._clock = clock or SystemClock()

    async def _pod(self, preparation: Preparation) -> wire.Pod:
        path = PODS.path(preparation.namespace, preparation.name)
        return PODS.decoder.decode(await self._client.request("GET", path, timeout=_TIMEOUT))

    async def _write(self, pod: wire.Pod, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        metadata: dict[str, Any] = {"uid": pod.metadata.uid, **changes}  # of another pod the server refuses it
        await self._client.request(
            "PATCH",
            PODS.path(pod.metadata.namespace, pod.metadata.name),
            body=msgspec.json.encode({"metadata": metadata}),
            media_type=MediaType.MERGE_PATCH,
            timeout=_TIMEOUT,
        )

    async def _patiently(self, attempt: Callable[[], Awaitable[None]]) -> None:
        backoff = Backoff(first_seconds=0.1, cap_seconds=2.0)
        await retry(attempt, clock=self._clock, backoff=backoff, patience_seconds=_PATIENCE_SECONDS)


class PodPatcher(_PodWriter):
    """Patches pods before they are bound, and reverts the patches."""

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Write labels and annotations of a bind.

        Raises:
            ConflictError: Another pod of the same name took its place.
            ApiError: The server refused.
        """

        async def attempt() -> None:
            pod = await self._pod(preparation)
            if pod.metadata.uid != bind.task:
                raise ConflictError("another pod of the same name took its place")
            await self._write(pod, {field: dict(texts) for field, texts in _patched(bind).items()})

        await self._patiently(attempt)

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Put back what the pod had, where nothing else has written it since."""
        before = values_before(preparation)

        async def attempt() -> None:
            try:
                pod = await self._pod(preparation)
            except ApiError as error:
                if error.is_not_found:
                    return
                raise
            there = {"labels": pod.metadata.labels, "annotations": pod.metadata.annotations}
            changes = {
                field: {key: before[field].get(key) for key, text in texts.items() if there[field].get(key) == text}
                for field, texts in _patched(bind).items()
            }
            if pod.metadata.uid == bind.task and any(changes.values()):
                await self._write(pod, changes)

        await self._patiently(attempt)


class PodAnnotator(_PodWriter):
    """Annotates other pods than the one that is bound: those that a Reservation takes over, for example."""

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:  # noqa: ARG002  # of another pod
        """Write the annotation.

        Raises:
            ConflictError: Another pod of the same name took its place.
            ApiError: The server refused.
        """
        details = preparation.details

        async def attempt() -> None:
            pod = await self._pod(preparation)
            if pod.metadata.uid != details["uid"]:
                raise ConflictError("another pod of the same name took its place")
            await self._write(pod, {"annotations": {details["key"]: details["text"]}})

        try:
            await self._patiently(attempt)
        except (ApiError, ConflictError) as error:
            if "optional" not in details:
                raise
            _log.warning("pod_not_annotated", pod=f"{preparation.namespace}/{preparation.name}", message=str(error))

    async def revert(self, bind: Bind, preparation: Preparation) -> None:  # noqa: ARG002  # see above
        """Put back what the pod had, unless something else has written it since."""
        details = preparation.details

        async def attempt() -> None:
            try:
                pod = await self._pod(preparation)
            except ApiError as error:
                if error.is_not_found:
                    return
                raise
            is_written = pod.metadata.annotations.get(details["key"]) == details["text"]
            if pod.metadata.uid == details["uid"] and is_written:
                await self._write(pod, {"annotations": {details["key"]: details.get("before")}})

        await self._patiently(attempt)


def _patched(bind: Bind) -> dict[str, Mapping[str, str]]:
    labels = bind.labels if isinstance(bind.labels, Mapping) else {}
    return {"labels": labels, "annotations": bind.annotations}
