"""Lease: elect one leader, and detect the loss of leadership.

It interoperates with client-go's elector: the same Lease object, the same meaning of its fields.

    candidate ──lease free, expired or ours──▶ leading ──renewed in time──▶ leading
        ▲                                        │
        └── work cancelled and awaited ◀── not renewed before the deadline

Invariant: `is_leader` is true only within `renew_deadline_seconds` of the start of a renewal that succeeded, by the
monotonic clock alone. Others take over no earlier than `lease_seconds` after that renewal, so the difference is the
time to stop. Wall clocks are only written, never compared: they may jump, here and elsewhere.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import structlog

from pyroclast.kube.api.client import Client, Lane
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError, NoAnswerError
from pyroclast.kube.api.resources import LEASES
from pyroclast.model.errors import ConfigError
from pyroclast.model.wire import micro_time

__all__ = ["Elector", "LeaseOptions"]

_JITTER: Final = 1.2
"""Candidates retry at intervals of the retry period times 1 to 1 + this value, as client-go's do."""
_STOP_SECONDS: Final = 3.0
"""Longest wait for the lease to be released at the end."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseOptions:
    """Name, identity and times of a lease."""

    namespace: str
    name: str
    identity: str
    """Identity of this process; it differs for each process, or two would lead."""
    lease_seconds: int = 15
    """Time after the last renewal at which others take over."""
    renew_deadline_seconds: float = 10.0
    """Time without a successful renewal after which this process stops leading."""
    retry_seconds: float = 2.0
    """Time between two attempts."""

    def __post_init__(self) -> None:
        """Refuse times that would permit two leaders at once."""
        if not self.lease_seconds > self.renew_deadline_seconds > self.retry_seconds * _JITTER > 0:
            raise ConfigError(
                "leader election: the lease must be longer than the renew deadline, and that longer than 1.2 retry "
                f"periods; got {self.lease_seconds}, {self.renew_deadline_seconds}, {self.retry_seconds}"
            )


class Elector:
    """Competes for one lease."""

    def __init__(
        self,
        client: Client,
        options: LeaseOptions,
        *,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Create an elector.

        Args:
            client: Client of the API server.
            options: Name, identity and times of the lease.
            clock: Clock for waiting.
            chance: Source of jitter.
        """
        self.leader = ""
        """Identity of the current leader, as far as known."""
        self._client = client
        self._options = options
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._path = LEASES.path(options.namespace, options.name)
        self._lease: dict[str, Any] | None = None
        self._seen_at = 0.0
        """Time at which the lease was last seen to change, by our own clock."""
        self._is_failing = False
        self._leads_until = float("-inf")
        self._log = _log.bind(lease=f"{options.namespace}/{options.name}", identity=options.identity)

    @property
    def is_leader(self) -> bool:
        """Whether this process may act. It turns false by the passing of time alone."""
        return self._clock.monotonic() < self._leads_until

    async def run(
        self,
        on_started: Callable[[], Awaitable[None]],
        on_stopped: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Compete for the lease until cancelled, and run the work while leading.

        Args:
            on_started: The work of a leader; cancelled when leadership is lost. If it ends by itself, `run` ends too
            and
                passes on its exception.
            on_stopped: Called each time after the work has ended.
        """
        while True:
            await self._acquire()
            self._log.info("leadership_won")
            work = asyncio.ensure_future(on_started())
            has_ended = False
            try:
                await self._lead(work)
                has_ended = work.done()
            finally:
                await self._stop(work, on_stopped)
            if has_ended:
                await work  # passes on its exception
                return
            self._log.warning("leadership_lost")

    async def _acquire(self) -> None:
        while not await self._try_within(self._options.renew_deadline_seconds):
            wait = self._options.retry_seconds * (1 + _JITTER * self._chance.random())
            # Not past the end of a lease that is not renewed: no one leads in that time.
            left = self._seen_at + self._lasts() - self._clock.monotonic()
            await self._clock.sleep(min(wait, left) if left > 0 else wait)

    async def _lead(self, work: "asyncio.Future[None]") -> None:
        """Renew until the deadline passes without success, or the work ends."""
        while self.is_leader and not work.done():
            # Never beyond the deadline: a request under way must be cancelled while no other can lead.
            left = self._leads_until - self._clock.monotonic()
            await self._rest(work, min(self._options.retry_seconds, left))
            left = self._leads_until - self._clock.monotonic()
            if work.done() or left <= 0:
                return
            if not await self._try_within(left) and self._holder() not in {"", self._options.identity}:
                # Another holder has it: there is nothing to wait for.
                self._leads_until = float("-inf")

    async def _rest(self, work: "asyncio.Future[None]", seconds: float) -> None:
        """Sleep, at most until the work ends."""
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait((sleep, work), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()

    async def _stop(self, work: "asyncio.Future[None]", on_stopped: Callable[[], Awaitable[None]] | None) -> None:
        """Cancel the work, wait for its end, then release the lease."""
        work.cancel()
        await asyncio.wait((work,))
        if on_stopped is not None:
            await on_stopped()
        was_leader = self.is_leader
        self._leads_until = float("-inf")
        if was_leader:
            with suppress(ApiError, TimeoutError):  # it expires by itself
                async with asyncio.timeout(_STOP_SECONDS):
                    await self._release()

    async def _try_within(self, seconds: float) -> bool:
        """Take or renew the lease within a time. Return whether we hold it."""
        begun_at = self._clock.monotonic()
        try:
            async with asyncio.timeout(seconds):
                is_ours = await self._take_or_renew()
        except (ApiError, TimeoutError) as error:
            # the first failure of a row is a warning, for example about a missing namespace; the rest would fill the
            # log
            log = self._log.debug if self._is_failing else self._log.warning
            log("lease_not_renewed", error=str(error) or "timed out")
            self._is_failing = True
            return False
        self._is_failing = False
        if is_ours:
            # Counted from the start: that is the earliest the server may have written the renewal.
            self._leads_until = begun_at + self._options.renew_deadline_seconds
        return is_ours and self.is_leader

    async def _take_or_renew(self) -> bool:
        if self._lease is not None and self._holder() == self._options.identity:
            try:
                await self._write(self._lease)
            except ApiError as error:
                if isinstance(error, NoAnswerError) or error.is_temporary:
                    raise
            else:
                return True
        # Refused, or not ours when last seen: read it again.
        try:
            self._observe(await self._request("GET", self._path))
        except ApiError as error:
            if not error.is_not_found:
                raise
            await self._create()
            return True
        assert self._lease is not None
        if not self._is_free():
            return False
        await self._write(self._lease)
        return True

    def _is_free(self) -> bool:
        if self._holder() in {"", self._options.identity}:
            return True
        return self._clock.monotonic() >= self._seen_at + self._lasts()

    def _lasts(self) -> float:
        return float(self._spec().get("leaseDurationSeconds") or self._options.lease_seconds)

    def _observe(self, lease: dict[str, Any]) -> None:
        """Store the lease, and by our own clock the time at which it changed."""
        known = self._lease["metadata"].get("resourceVersion") if self._lease else None
        if known != lease["metadata"].get("resourceVersion"):
            self._seen_at = self._clock.monotonic()
        self._lease = lease
        if self._holder() != self.leader:
            self.leader = self._holder()
            self._log.info("leader_seen", leader=self.leader)

    async def _create(self) -> None:
        now = micro_time(self._clock.wall())
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": self._options.namespace, "name": self._options.name},
            "spec": {
                "holderIdentity": self._options.identity,
                "leaseDurationSeconds": self._options.lease_seconds,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": 0,
            },
        }
        self._observe(await self._request("POST", LEASES.collection(self._options.namespace), body))

    async def _write(self, lease: dict[str, Any]) -> None:
        """Write the lease as ours. It fails if the lease was changed since it was read."""
        now = micro_time(self._clock.wall())
        spec = {**(lease.get("spec") or {}), "renewTime": now, "leaseDurationSeconds": self._options.lease_seconds}
        if spec.get("holderIdentity") != self._options.identity:
            spec["holderIdentity"] = self._options.identity
            spec["acquireTime"] = now
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1
        self._observe(await self._request("PUT", self._path, {**lease, "spec": spec}))

    async def _release(self) -> None:
        if self._lease is None or self._holder() != self._options.identity:
            return
        now = micro_time(self._clock.wall())
        # One second, as client-go writes: zero is not a valid duration.
        spec = {
            **self._spec(),
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "renewTime": now,
            "acquireTime": now,
        }
        self._observe(await self._request("PUT", self._path, {**self._lease, "spec": spec}))

    async def _request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        # Half the deadline at most, so that one lost answer leaves time for another try.
        answer: dict[str, Any] = await self._client.request_json(
            method, path, body=body, lane=Lane.URGENT, timeout=self._options.renew_deadline_seconds / 2
        )
        return answer

    def _spec(self) -> dict[str, Any]:
        return (self._lease or {}).get("spec") or {}

    def _holder(self) -> str:
        return self._spec().get("holderIdentity") or ""
