"""Event recorder: events about objects, sent with the lowest priority.

Recording never waits and never fails. Equal events of one object are one event with a count. Many similar ones are
combined. The rate of events of one object is limited. If too many wait, the oldest is dropped. All dropped events are
counted.
"""

import asyncio
import random
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec
import structlog

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, Lane, MediaType
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.metrics import EVENTS_DROPPED, EVENTS_WAITING
from pyroclast.kube.api.resources import Resource
from pyroclast.kube.api.retrying import retry
from pyroclast.kube.writes.write_priority import WritePriority
from pyroclast.model.wire import ObjectMeta, time_text

__all__ = ["EventRecorder", "Regarding", "regarding"]

_REMEMBERED: Final = 4096
"""Number of events and objects that are remembered, as in client-go's correlator."""
_SIMILAR_LIMIT: Final = 10
"""Messages of one object and reason within the window before they are combined."""
_SIMILAR_SECONDS: Final = 600.0
_BURST: Final = 25.0
"""Events that an object may have at once; after that one more each refill."""
_REFILL_SECONDS: Final = 300.0
_MESSAGE_LENGTH: Final = 1024
"""Maximum length that the API server accepts."""
_MAX_DELAY: Final = 5.0
"""Seconds after which an event no longer waits for binds: if binds never end, events must not fall behind."""
_PATIENCE: Final = 10.0
_COMBINED: Final = "(combined from similar events): "

_log = structlog.get_logger(__name__)
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


def regarding(resource: Resource[Any], metadata: ObjectMeta) -> Regarding:
    """Return the reference to an object."""
    return Regarding(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
    )


_Key = tuple[Regarding, str, str, str]
"""Object, type, reason, message."""


@dataclass(slots=True, kw_only=True)
class _Waiting:
    since: float
    """Start of the wait, by the monotonic clock."""
    first: float
    last: float
    count: int


@dataclass(slots=True, kw_only=True)
class _Sent:
    name: str
    count: int


@dataclass(slots=True, kw_only=True)
class _Similar:
    since: float
    messages: set[str] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class _Bucket:
    tokens: float
    at: float


class _Recent(OrderedDict[K, V], Generic[K, V]):
    """Keeps the most recently used entries."""

    def recall(self, key: K) -> V | None:
        """Return an entry and mark it as used."""
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value

    def keep(self, key: K, value: V) -> V:
        """Add an entry; the least recently used one is removed."""
        self[key] = value
        if len(self) > _REMEMBERED:
            self.popitem(last=False)
        return value


class EventRecorder:
    """Accepts events at any time; `run` sends them."""

    def __init__(
        self,
        client: Client,
        *,
        component: str,
        instance: str = "",
        capacity: int = 50_000,
        concurrency: int = 4,
        write_priority: WritePriority | None = None,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Create a recorder.

        Args:
            client: Client of the API server.
            component: Reporting component: the scheduler's name.
            instance: Reporting process.
            capacity: Maximum number of events that wait.
            concurrency: Maximum number of requests at a time.
            write_priority: Binds, which are sent first.
            clock: Clock for times and windows.
            chance: Source of names and jitter.
        """
        self._client = client
        self._component = component
        self._instance = instance or component
        self._capacity = capacity
        self._concurrency = concurrency
        self._write_priority = write_priority or WritePriority()
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._waiting: OrderedDict[_Key, _Waiting] = OrderedDict()
        self._under_way: set[_Key] = set()
        self._sent: _Recent[_Key, _Sent] = _Recent()
        self._similar: _Recent[tuple[Regarding, str, str], _Similar] = _Recent()
        self._buckets: _Recent[str, _Bucket] = _Recent()
        self._wake = asyncio.Event()
        self._changed = asyncio.Condition()

    @property
    def backlog(self) -> int:
        """Events not yet sent."""
        return len(self._waiting) + len(self._under_way)

    def record(self, about: Regarding, type_: str, reason: str, message: str) -> None:
        """Record an event of type `Normal` or `Warning`."""
        now = self._clock.wall()
        key = (about, type_, reason, self._combined(about, type_, reason, message[:_MESSAGE_LENGTH]))
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.count += 1
            waiting.last = now
            return
        if not self._spare_token(about.uid):
            EVENTS_DROPPED.labels("spam").inc()
            return
        self._waiting[key] = _Waiting(since=self._clock.monotonic(), first=now, last=now, count=1)
        if len(self._waiting) > self._capacity:
            self._waiting.popitem(last=False)
            EVENTS_DROPPED.labels("full").inc()
        EVENTS_WAITING.set(self.backlog)
        self._wake.set()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._work())

    async def drain(self) -> None:
        """Wait until no event waits."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.backlog == 0)

    def _combined(self, about: Regarding, type_: str, reason: str, message: str) -> str:
        """Return the message, or the combined one if there were too many similar ones lately."""
        now = self._clock.monotonic()
        key = (about, type_, reason)
        similar = self._similar.recall(key)
        if similar is None or now - similar.since > _SIMILAR_SECONDS:
            similar = self._similar.keep(key, _Similar(since=now))
        if message in similar.messages:
            return message
        if len(similar.messages) >= _SIMILAR_LIMIT:
            # The first combined message represents all: its text must stay the same, or nothing is combined.
            return (_COMBINED + reason)[:_MESSAGE_LENGTH]
        similar.messages.add(message)
        return message

    def _spare_token(self, uid: str) -> bool:
        """Take one token of an object's bucket."""
        now = self._clock.monotonic()
        bucket = self._buckets.recall(uid)
        if bucket is None:
            bucket = self._buckets.keep(uid, _Bucket(tokens=_BURST, at=now))
        bucket.tokens = min(_BURST, bucket.tokens + (now - bucket.at) / _REFILL_SECONDS)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    async def _work(self) -> None:
        while True:
            key = next((key for key in self._waiting if key not in self._under_way), None)
            if key is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            waiting = self._waiting.pop(key)
            self._under_way.add(key)
            try:
                await self._write_priority.quiet(waiting.since + _MAX_DELAY - self._clock.monotonic())
                await self._deliver(key, waiting)
            finally:
                self._under_way.discard(key)
                EVENTS_WAITING.set(self.backlog)
                if key in self._waiting:
                    self._wake.set()
                async with self._changed:
                    self._changed.notify_all()

    async def _deliver(self, key: _Key, waiting: _Waiting) -> None:
        try:
            await retry(
                lambda: self._send(key, waiting),
                clock=self._clock,
                backoff=Backoff(chance=self._chance),
                patience_seconds=_PATIENCE,
            )
        except ApiError as error:
            EVENTS_DROPPED.labels("refused").inc()
            _log.debug("event_refused", object=key[0].name, reason=key[2], error=str(error))
        except Exception:  # noqa: BLE001  see below
            # One event must not end the workers: events that other workers send at this moment would be lost.
            EVENTS_DROPPED.labels("refused").inc()
            _log.exception("event_broke", object=key[0].name, reason=key[2])

    async def _send(self, key: _Key, waiting: _Waiting) -> None:
        about, *_ = key
        path = f"/api/v1/namespaces/{about.namespace or 'default'}/events"
        sent = self._sent.recall(key)
        if sent is not None:
            count = sent.count + waiting.count
            try:
                await self._request(
                    "PATCH", f"{path}/{sent.name}", _recount(count, waiting.last), MediaType.MERGE_PATCH
                )
            except ApiError as error:
                if not error.is_not_found:
                    raise
                self._sent.pop(key, None)  # expired on the server: it is a new event there
            else:
                sent.count = count
                return
        # As in client-go: unique enough, and sorted together with others of the object.
        name = f"{about.name}.{self._chance.getrandbits(64):016x}"
        await self._request("POST", path, self._event(name, key, waiting), MediaType.JSON)
        self._sent.keep(key, _Sent(name=name, count=waiting.count))

    async def _request(self, method: str, path: str, body: object, media_type: MediaType) -> None:
        await self._client.request(
            method, path, body=msgspec.json.encode(body), media_type=media_type, lane=Lane.BACKGROUND
        )

    def _event(self, name: str, key: _Key, waiting: _Waiting) -> dict[str, Any]:
        about, type_, reason, message = key
        return {
            "apiVersion": "v1",
            "kind": "Event",
            # Events about cluster-scoped objects are in the default namespace.
            "metadata": {"name": name, "namespace": about.namespace or "default"},
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
            "type": type_,
            "reason": reason,
            "message": message,
            "count": waiting.count,
            "firstTimestamp": time_text(waiting.first),
            "lastTimestamp": time_text(waiting.last),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }


def _recount(count: int, last: float) -> dict[str, Any]:
    return {"count": count, "lastTimestamp": time_text(last)}
