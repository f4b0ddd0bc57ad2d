"""Evictor: evict pods from their nodes.

The Eviction API is used first, so that disruption budgets hold. A server without it, or the option `delete`, gets a
plain delete. Both carry the pod's UID, so that a successor of the same name is never deleted. The pod's conditions have
the reason of the eviction. A budget that forbids an eviction is a result, not an error.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import structlog

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.api.errors import ApiError, means_another
from pyroclast.kube.api.resources import PODS
from pyroclast.kube.api.retrying import retry
from pyroclast.model.plan import Eviction
from pyroclast.model.wire import time_text

__all__ = ["BUDGET", "EvictionOutcome", "Evictor"]

_log = structlog.get_logger(__name__)

_BAD_REQUEST: Final = 400
_CONFLICT: Final = 409
_TOO_MANY_REQUESTS: Final = 429
_DRY_RUN: Final[Mapping[str, str]] = {"dryRun": "All"}
_NO_DRY_RUN: Final = "does not support dry run"
BUDGET: Final = "DisruptionBudget"
"""Reason of an outcome, and cause in the server's answer, if a disruption budget forbids an eviction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionOutcome:
    """Outcome of one eviction."""

    eviction: Eviction
    is_leaving: bool
    """Whether the pod is being deleted, or is gone already."""
    reason: str = ""
    """Reason of a failure: `DisruptionBudget`, `NotLeader`, or the server's reason; `Gone` if there was nothing to
    evict.
    """
    message: str = ""


class Evictor:
    """Evicts pods; any number of evictions may be requested at once."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        *,
        scheduler_name: str = "volcano",
        eviction: Literal["api", "delete"] = "api",
        is_leader: Callable[[], bool] = lambda: True,
        concurrency: int = 32,
        patience_seconds: float = 30.0,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Create an evictor.

        Args:
            client: Client of the API server.
            discovery: Detects whether the server has the Eviction API.
            scheduler_name: Name for the pod's conditions.
            eviction: `api` respects disruption budgets if the server can; `delete` never does.
            is_leader: Whether this process may still act.
            concurrency: Maximum number of evictions at a time; waiting for a slot does not count for their time.
            patience_seconds: Time for which one eviction is retried.
            clock: Clock for waiting and for times in conditions.
            chance: Source of jitter.
        """
        self._client = client
        self._discovery = discovery
        self._scheduler_name = scheduler_name
        self._way = eviction
        self._is_leader = is_leader
        self._slots = asyncio.Semaphore(concurrency)
        self._patience_seconds = patience_seconds
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()

    @property
    def heeds_budgets(self) -> bool:
        """Whether disruption budgets can forbid evictions."""
        return self._way == "api"

    async def evict(self, eviction: Eviction) -> EvictionOutcome:
        """Evict a pod. It never raises an exception: a failure is an outcome."""
        return await self._attempt(eviction, self._evict)

    async def rehearse(self, eviction: Eviction) -> EvictionOutcome:
        """Send a dry run of an eviction. It never raises an exception: a failure is an outcome.

        Each pod is checked alone: a budget that permits one of two evictions permits each of them here.
        """
        return await self._attempt(eviction, self._rehearse)

    async def _attempt(
        self, eviction: Eviction, attempt: Callable[[Eviction], Awaitable[EvictionOutcome]]
    ) -> EvictionOutcome:
        async with self._slots:
            if not self._is_leader():
                return _stays(eviction, "NotLeader", "leadership was lost")
            try:
                return await attempt(eviction)
            except ApiError as error:
                return _judge(eviction, error)
            except Exception as error:  # noqa: BLE001  one eviction of a plan fails; the outcomes of the others count
                _log.exception("eviction_broke", pod=f"{eviction.namespace}/{eviction.name}")
                return _stays(eviction, "Failed", f"{type(error).__name__}: {error}")

    async def _rehearse(self, eviction: Eviction) -> EvictionOutcome:
        ask = self._post_eviction if await self._goes_by_api() else self._delete
        try:
            await self._send(lambda: ask(eviction, params=_DRY_RUN))
        except ApiError as error:
            # a webhook that does not support dry run: it decides only at the real eviction
            if not (error.status == _BAD_REQUEST and _NO_DRY_RUN in error.message):
                raise
        return EvictionOutcome(eviction=eviction, is_leaving=True)

    async def _goes_by_api(self) -> bool:
        return self._way == "api" and await self._discovery.has(PODS, "eviction")

    async def _evict(self, eviction: Eviction) -> EvictionOutcome:
        if await self._goes_by_api():
            # Evicted before it is marked: budgets count ready pods, so a pod that is marked unready first would
            # bypass¶them. The server's own condition is replaced by ours while the pod terminates.
            await self._send(lambda: self._post_eviction(eviction))
            with suppress(ApiError):  # it leaves, marked or not
                await self._send(lambda: self._set_disruption_target(eviction))
        else:
            await self._send(lambda: self._set_disruption_target(eviction))
            await self._delete_or_take_back(eviction)
        return EvictionOutcome(eviction=eviction, is_leaving=True)

    async def _send(self, request: Callable[[], Awaitable[bytes]]) -> None:
        async def attempt() -> bytes:
            if not self._is_leader():
                raise ApiError(403, "NotLeader", "leadership was lost")
            return await request()

        await retry(
            attempt,
            clock=self._clock,
            backoff=Backoff(first_seconds=0.1, cap_seconds=5.0, chance=self._chance),
            patience_seconds=self._patience_seconds,
            is_final=_is_budget,
        )

    def _post_eviction(self, eviction: Eviction, params: Mapping[str, str] | None = None) -> Awaitable[bytes]:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": eviction.name, "namespace": eviction.namespace},
            "deleteOptions": {"preconditions": {"uid": eviction.task}},
        }
        return self._client.request(
            "POST",
            PODS.path(eviction.namespace, eviction.name, "eviction"),
            params=params,
            body=msgspec.json.encode(body),
        )

    def _delete(self, eviction: Eviction, params: Mapping[str, str] | None = None) -> Awaitable[bytes]:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": eviction.task}}
        return self._client.request(
            "DELETE", PODS.path(eviction.namespace, eviction.name), params=params, body=msgspec.json.encode(body)
        )

    def _set_disruption_target(self, eviction: Eviction) -> Awaitable[bytes]:
        now = time_text(self._clock.wall())
        message = eviction.message or f"evicted by {eviction.reason}"
        return self._patch_conditions(
            eviction,
            {
                "type": "Ready",
                "status": "False",
                "reason": "Evict",
                "message": message,
                "lastTransitionTime": now,
            },
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "PreemptionByScheduler",
                "message": f"{self._scheduler_name}: {message}",
                "lastTransitionTime": now,
            },
        )

    async def _delete_or_take_back(self, eviction: Eviction) -> None:
        """Delete a marked pod. If it stays, its mark is removed; the kubelet corrects its Ready condition."""
        try:
            await self._send(lambda: self._delete(eviction))
        except ApiError:
            with suppress(ApiError):  # the refusal that led here is what counts
                await self._patch_conditions(eviction, {"$patch": "delete", "type": "DisruptionTarget"})
            raise

    def _patch_conditions(self, eviction: Eviction, *conditions: dict[str, str]) -> Awaitable[bytes]:
        return self._client.request(
            "PATCH",
            PODS.path(eviction.namespace, eviction.name, "status"),
            body=msgspec.json.encode({"metadata": {"uid": eviction.task}, "status": {"conditions": conditions}}),
            media_type=MediaType.STRATEGIC_PATCH,
        )


def _is_budget(error: ApiError) -> bool:
    return error.status == _TOO_MANY_REQUESTS and any(cause.reason == BUDGET for cause in error.causes)


def _judge(eviction: Eviction, error: ApiError) -> EvictionOutcome:
    if error.status == _CONFLICT or means_another(error):
        # It does not exist any more, or its name is another pod's: there is nothing to evict.
        return EvictionOutcome(eviction=eviction, is_leaving=True, reason="Gone", message=error.message)
    return _stays(eviction, BUDGET if _is_budget(error) else error.reason, error.message)


def _stays(eviction: Eviction, reason: str, message: str) -> EvictionOutcome:
    return EvictionOutcome(eviction=eviction, is_leaving=False, reason=reason, message=message)
