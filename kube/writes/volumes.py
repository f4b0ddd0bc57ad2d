"""Volumes: bind the claims of a pod before the pod is bound.

A claim that waits for its first consumer either gets an existing volume (`spec.claimRef` of the volume), or is
annotated with the node on which its class must provision one. The cluster's volume controller and provisioners do the
rest; the preparer waits until the claim is bound. (Kubernetes' WaitForFirstConsumer protocol.)
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from pyroclast.kube.api.retrying import retry
from pyroclast.model import wire
from pyroclast.model.errors import ConflictError
from pyroclast.model.plan import Bind, Preparation

__all__ = ["BIND_VOLUME", "VolumePreparer"]

BIND_VOLUME = "bind-volume"
"""Kind of preparation; its details are described where it is made (`plugins.predicates.volume_binding`)."""

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
DEFAULT_TIMEOUT_SECONDS = 600.0
_PATIENCE_SECONDS: Final = 60.0
"""Time for which temporary refusals are retried, as with binds."""


class VolumePreparer:
    """Binds claims to volumes, or requests volumes from provisioners."""

    def __init__(self, client: Client, *, concurrency: int = 16, clock: Clock | None = None) -> None:
        """Create a preparer with `concurrency` requests at a time: a plan may have thousands of claims."""
        self._client = client
        self._slots = asyncio.Semaphore(concurrency)
        self._clock = clock or SystemClock()

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Start the binding of one claim and wait until it is done.

        Raises:
            ConflictError: The claim or the volume is not what it was when the node was chosen, no volume could be made
                there, or time ran out.
            ApiError: The server refused.
        """
        await self._patiently(lambda: self._begin(bind, preparation))
        await self._wait(bind, preparation)

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Revert the part of a binding that the claim has not used; a bound claim stays bound, for a later attempt."""
        await self._patiently(lambda: self._end(bind, preparation))

    async def _patiently(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Retry temporary failures. Each attempt reads the objects again, so one whose answer was lost is harmless."""
        await retry(attempt, clock=self._clock, backoff=Backoff(cap_seconds=10.0), patience_seconds=_PATIENCE_SECONDS)

    async def _begin(self, bind: Bind, preparation: Preparation) -> None:
        claim = await self._claim(preparation)
        if _is_bound(claim):
            return
        if "volume" in preparation.details:
            await self._offer(claim, preparation.details["volume"])
        else:
            await self._select(claim, bind.node)

    async def _end(self, bind: Bind, preparation: Preparation) -> None:
        claim = await self._claim(preparation)
        if _is_bound(claim):
            return
        if "volume" in preparation.details:
            await self._withdraw(claim, preparation.details["volume"])
        elif claim.metadata.annotations.get(SELECTED_NODE) == bind.node:
            await self._annotate(claim, None)

    async def _claim(self, preparation: Preparation) -> wire.PersistentVolumeClaim:
        path = PERSISTENT_VOLUME_CLAIMS.path(preparation.namespace, preparation.name)
        claim = PERSISTENT_VOLUME_CLAIMS.decoder.decode(await self._send("GET", path))
        expected = preparation.details.get("claim-uid", claim.metadata.uid)
        if claim.metadata.uid != expected:
            raise ConflictError(f"claim {preparation.namespace}/{preparation.name} was deleted and made anew")
        return claim

    async def _offer(self, claim: wire.PersistentVolumeClaim, name: str) -> None:
        volume = await self._volume(name)
        holder = volume.spec.claim_ref
        if holder is not None and (holder.namespace, holder.name) != (claim.metadata.namespace, claim.metadata.name):
            raise ConflictError(f"volume {name} was taken by claim {holder.namespace}/{holder.name}")
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.metadata.namespace,
            "name": claim.metadata.name,
            "uid": claim.metadata.uid,
        }
        # the resource version makes two schedulers that use one volume conflict, instead of the later one winning
        metadata = {
            "resourceVersion": volume.metadata.resource_version,
            "annotations": {BOUND_BY_CONTROLLER: "yes"},
        }
        await self._patch(PERSISTENT_VOLUMES.path("", name), {"metadata": metadata, "spec": {"claimRef": reference}})

    async def _withdraw(self, claim: wire.PersistentVolumeClaim, name: str) -> None:
        volume = await self._volume(name)
        holder = volume.spec.claim_ref
        if holder is None or holder.uid != claim.metadata.uid:
            return
        metadata = {
            "resourceVersion": volume.metadata.resource_version,
            "annotations": {BOUND_BY_CONTROLLER: None},
        }
        await self._patch(PERSISTENT_VOLUMES.path("", name), {"metadata": metadata, "spec": {"claimRef": None}})

    async def _select(self, claim: wire.PersistentVolumeClaim, node: str) -> None:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected not in {None, node}:
            raise ConflictError(f"a volume for claim {claim.metadata.name} is being made on node {selected}")
        if selected is None:
            await self._annotate(claim, node)

    async def _annotate(self, claim: wire.PersistentVolumeClaim, node: str | None) -> None:
        path = PERSISTENT_VOLUME_CLAIMS.path(claim.metadata.namespace, claim.metadata.name)
        metadata = {"resourceVersion": claim.metadata.resource_version, "annotations": {SELECTED_NODE: node}}
        await self._patch(path, {"metadata": metadata})

    async def _volume(self, name: str) -> wire.PersistentVolume:
        return PERSISTENT_VOLUMES.decoder.decode(await self._send("GET", PERSISTENT_VOLUMES.path("", name)))

    async def _patch(self, path: str, patch: dict[str, object]) -> None:
        await self._send("PATCH", path, body=msgspec.json.encode(patch), media_type=MediaType.MERGE_PATCH)

    async def _send(self, method: str, path: str, **options: Any) -> bytes:
        """Send a request when a slot is free; its timeout starts then."""
        async with self._slots:
            return await self._client.request(method, path, **options)

    async def _wait(self, bind: Bind, preparation: Preparation) -> None:
        name = f"{preparation.namespace}/{preparation.name}"
        timeout = float(preparation.details.get("timeout-seconds", DEFAULT_TIMEOUT_SECONDS))
        give_up_at = self._clock.monotonic() + timeout
        backoff = Backoff(first_seconds=0.1, cap_seconds=2.0)
        while True:
            try:
                claim = await self._claim(preparation)
            except ApiError as error:
                if not error.is_temporary:
                    raise
            else:
                if _is_bound(claim):
                    return
                if "volume" not in preparation.details and claim.metadata.annotations.get(SELECTED_NODE) != bind.node:
                    # Provisioners report a failure this way: another node may be chosen now, and not only after the
                    # timeout.
                    raise ConflictError(f"no volume could be made for claim {name} on node {bind.node}")
            wait = backoff.next_wait(0.0)
            if self._clock.monotonic() + wait > give_up_at:
                raise ConflictError(f"claim {name} was not bound within {timeout:g} s")
            await self._clock.sleep(wait)


def _is_bound(claim: wire.PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and claim.status.phase == "Bound"
