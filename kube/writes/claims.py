"""Claims: allocate the resource claims of a pod, and reserve them for it, before the pod is bound.

An allocation and the first reservation are one write. A claim that is not allocated gets the finalizer before, which
keeps it until its devices are free. Each write applies to the version that was read. After a conflict, or if the answer
was lost, the claim is read again. Pods of one plan that share a claim take turns.

A plan that fails gives up its reservations. It gives up an allocation too if it made this one and no other pod uses it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiConflictError, ApiError, NoAnswerError
from pyroclast.kube.api.resources import RESOURCE_CLAIMS
from pyroclast.kube.api.retrying import retry
from pyroclast.model import wire
from pyroclast.model.device_claims import has_devices_of, released, reserved
from pyroclast.model.errors import ConflictError
from pyroclast.model.plan import Bind, Preparation

__all__ = ["ClaimPreparer"]

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
"""Keeps a claim until its devices are free; the claim controller removes it."""
_PATIENCE_SECONDS: Final = 20.0
"""Time for which temporary refusals and conflicts are retried."""
_TIMEOUT: Final = 10.0
_DEALLOCATED: Final[Mapping[str, Any]] = {"allocation": None, "reservedFor": None, "devices": None}
"""Status of a claim without devices. Drivers report about devices, which are then others."""


class ClaimPreparer:
    """Allocates and reserves resource claims; the details are described in `plugins.predicates.devices.allocator`."""

    def __init__(self, client: Client, *, concurrency: int = 16, clock: Clock | None = None) -> None:
        """Create a preparer with `concurrency` requests at a time."""
        self._client = client
        self._clock = clock or SystemClock()
        self._slots = asyncio.Semaphore(concurrency)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """A lock for each claim, as long as pods wait for it."""

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Reserve a claim for the pod of a bind, with the allocation of the plan if it has none.

        Raises:
            ConflictError: The claim is not what it was when its devices were chosen.
            ApiError: The server refused.
        """
        await self._in_turn(preparation, lambda: self._reserve(bind, preparation))

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Give up the reservation, and the allocation that the plan made if no other pod uses it."""
        await self._in_turn(preparation, lambda: self._release(bind, preparation))

    async def _in_turn(self, preparation: Preparation, attempt: Callable[[], Awaitable[None]]) -> None:
        async def attempt_with_slot() -> None:
            try:
                async with self._slots:
                    await attempt()
            except ApiConflictError as error:
                raise NoAnswerError(error.message) from error  # read again: another writer was faster

        backoff = Backoff(first_seconds=0.05, cap_seconds=2.0)
        turn = self._turns.setdefault(f"{preparation.namespace}/{preparation.name}", asyncio.Lock())
        async with turn:
            await retry(attempt_with_slot, clock=self._clock, backoff=backoff, patience_seconds=_PATIENCE_SECONDS)

    async def _reserve(self, bind: Bind, preparation: Preparation) -> None:
        claim = await self._read(preparation)
        name = f"resourceclaim {claim.metadata.key}"
        if claim.metadata.uid != preparation.details["claim-uid"]:
            raise ConflictError(f"{name} was deleted and made anew")
        if claim.metadata.deletion_timestamp:
            raise ConflictError(f"{name} is being deleted")
        decided = _allocation(preparation, "allocation")
        known, replaced = claim.status.allocation, _allocation(preparation, "replaces")
        if known is not None and replaced is not None and has_devices_of(known, replaced):
            claim = await self._patch(claim, {"status": _DEALLOCATED}, "status")
            known = None
        if known is None and decided is None:
            raise ConflictError(f"{name} is not allocated any more")
        if known is not None and not has_devices_of(known, decided):
            raise ConflictError(f"{name} was allocated by another scheduler")
        if known is not None and any(each.uid == bind.task for each in claim.status.reserved_for):
            return
        if known is None and FINALIZER not in claim.metadata.finalizers:
            finalizers = [*claim.metadata.finalizers, FINALIZER]
            claim = await self._patch(claim, {"metadata": {"finalizers": finalizers}})
        status = reserved(claim, {bind.task: bind.name}, None).status
        changes: dict[str, Any] = {"reservedFor": status.reserved_for}
        if known is None:
            changes["allocation"] = decided
        await self._patch(claim, {"status": changes}, "status")

    async def _release(self, bind: Bind, preparation: Preparation) -> None:
        try:
            claim = await self._read(preparation)
        except ApiError as error:
            if error.is_not_found:
                return
            raise
        is_ours = any(each.uid == bind.task for each in claim.status.reserved_for)
        if claim.metadata.uid != preparation.details["claim-uid"] or not is_ours:
            return
        status = released(claim, bind.task).status
        is_kept = bool(status.reserved_for) or "allocation" not in preparation.details
        changes = {"reservedFor": status.reserved_for or None} if is_kept else _DEALLOCATED
        await self._patch(claim, {"status": changes}, "status")

    async def _read(self, preparation: Preparation) -> wire.ResourceClaim:
        path = RESOURCE_CLAIMS.path(preparation.namespace, preparation.name)
        return RESOURCE_CLAIMS.decoder.decode(await self._client.request("GET", path, timeout=_TIMEOUT))

    async def _patch(
        self, claim: wire.ResourceClaim, changes: Mapping[str, Any], subresource: str = ""
    ) -> wire.ResourceClaim:
        metadata = {
            **changes.get("metadata", {}),
            "uid": claim.metadata.uid,
            "resourceVersion": claim.metadata.resource_version,
        }
        path = RESOURCE_CLAIMS.path(claim.metadata.namespace, claim.metadata.name, subresource)
        body = msgspec.json.encode({**changes, "metadata": metadata})
        answer = await self._client.request(
            "PATCH", path, body=body, media_type=MediaType.MERGE_PATCH, timeout=_TIMEOUT
        )
        return RESOURCE_CLAIMS.decoder.decode(answer)


def _allocation(preparation: Preparation, detail: str) -> wire.AllocationResult | None:
    text = preparation.details.get(detail)
    return None if text is None else msgspec.json.decode(text, type=wire.AllocationResult)
