"""Reflector: keep a copy of all objects of a kind, and notify handlers of changes.

It lists in pages, then watches from the list's version, and resumes from the last version seen after a cut. It lists
again if that version is too old, if two watches in a row fail at one version, or if the server is at a lower version
than before; handlers then receive only the difference. An object that does not fit its kind is left out, counted and
logged. A kind that the server lacks counts as synced and empty until it appears.

    ┌──────── 404, optional ────────┐
    ▼                               │
  absent ──wait, ask again──▶  listing ──▶ watching ──end or error: wait──▶ watching …
                                  ▲            │
                                  └── 410 ─────┘
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Generic, Protocol, TypeVar

import aiohttp
import msgspec
import structlog

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.metrics import BROKEN_OBJECTS, HANDLER_ERRORS, REFLECTOR_RESTARTS
from pyroclast.kube.api.resources import Resource
from pyroclast.kube.collector import collector_off
from pyroclast.model.errors import CacheError, ObjectError
from pyroclast.model.wire import Broken, ObjectMeta, StatusEvent

__all__ = ["Handler", "HasMetadata", "ObjectLimit", "Reflector"]

_SILENCE_SECONDS: Final = 150.0
"""Bookmarks come about every minute: a watch that is silent for longer than two is dead."""
_SHORTEST_PAUSE: Final = 0.05
"""Minimum pause before a server that ends each watch at once is asked again."""
_LONG_WATCH: Final = 5.0
"""A watch that lasted this long was a good one, with or without events."""
_CLEARLY_LONGER: Final = 1.5
"""How many times as long as the failed watches before it a silent watch must last to count as a good one."""
_SLICE: Final = 500
"""Number of notifications before other tasks of the loop get their turn."""
_WATCH_FAILURES: Final = 2
"""Failed or silent watches from one version before the kind is listed again: lists may work if watches do not."""
_ABSENT_KIND_WAIT: Final = 10.0
"""First wait before an absent kind is looked up again; it grows to six times that."""

_log = structlog.get_logger(__name__)


class HasMetadata(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """Metadata of the object."""
        ...


T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", contravariant=True)


class Handler(Protocol[T_contra]):
    """Receives changes on the loop's thread, in the order in which they happened."""

    def added(self, new: T_contra) -> None:
        """Handle a new object."""
        ...

    def updated(self, old: T_contra, new: T_contra) -> None:
        """Handle a changed object."""
        ...

    def deleted(self, old: T_contra) -> None:
        """Handle a deleted object; `old` is its last known state."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectLimit:
    """Maximum of what a reflector holds. Objects beyond it are left out until others are deleted."""

    objects: int
    bytes: int
    size: Callable[[Any], int]
    """Returns the bytes of an object."""


class _ExpiredError(Exception):
    """The version to resume from is too old: list again."""


class Reflector(Generic[T]):
    """Follows one kind.

    Invariant: `objects` is the sum of the handlers' notifications.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        handlers: Sequence[Handler[T]] = (),
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
        limit: ObjectLimit | None = None,
        on_broken: Callable[[ObjectError], None] | None = None,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Create a reflector; `run` follows the kind.

        Args:
            client: Client of the API server.
            resource: Kind to follow.
            handlers: Receivers of changes.
            namespace: Only this one; empty for all.
            label_selector: Only objects with these labels.
            field_selector: Only objects with these fields.
            page_size: Objects a page.
            limit: Maximum of objects that are held; None for no maximum.
            on_broken: Called for each object that does not fit its kind.
            clock: Clock for waiting.
            chance: Source of jitter.
        """
        self.resource = resource
        self.objects: dict[str, T] = {}
        """Objects by `namespace/name`."""
        self.broken: dict[str, ObjectError] = {}
        """Objects that were left out, by `namespace/name`."""
        self.synced = asyncio.Event()
        """Set after the handlers received the first list, or if the kind is absent."""
        self.is_present = False
        """Whether the server has the kind."""
        self.resource_version = ""
        """Version of `objects`."""
        self.is_full = False
        """Whether objects are left out because of the limit."""
        self.trouble: ApiError | CacheError | None = None
        """Current error, until progress is made."""
        self._failing_since: float | None = None
        """Time of the first failure since the last progress, by the monotonic clock."""
        self._watching_since: float | None = None
        """Time since when a watch is open, by the monotonic clock; None while none is."""
        self._longest_failure = 0.0
        """Seconds that the longest watch was open that failed since the last progress."""
        self._watch_failures = 0
        """Failed watches in a row from `resource_version`."""
        self._is_rewound = False
        """Whether the server is at a lower version than before, as after a restore of etcd from a backup."""
        self._pages_expired = False
        """Whether the last continue token expired before its page was read."""
        self._client = client
        self._handlers = tuple(handlers)
        self._namespace = namespace
        self._served = resource
        """The kind in the version that the server has."""
        self._selectors = {
            key: value for key, value in (("labelSelector", label_selector), ("fieldSelector", field_selector)) if value
        }
        self._page_size = page_size
        self._limit = limit
        self._bytes = 0
        """Bytes of `objects`, if there is a limit."""
        self._on_broken = on_broken
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._backoff = Backoff(chance=self._chance)
        self._expiry = Backoff(first_seconds=_SHORTEST_PAUSE, cap_seconds=_LONG_WATCH, chance=self._chance)
        self._listed_at = 0.0
        """Time of the last list, by the monotonic clock."""
        self._absence = Backoff(
            first_seconds=_ABSENT_KIND_WAIT, cap_seconds=6 * _ABSENT_KIND_WAIT, jitter=0.2, chance=self._chance
        )
        self._log = _log.bind(resource=resource.label)

    @property
    def failing_seconds(self) -> float:
        """Seconds since lists and watches began to fail without progress; 0 while the reflector follows its kind.

        A quiet kind has no event by which a watch could show that it works, and bookmarks are a minute apart. So an
        open watch counts as well once it has lasted clearly longer than those that failed before it.
        """
        if self._failing_since is None or self._outlasts_failures:
            return 0.0
        return self._clock.monotonic() - self._failing_since

    @property
    def is_watching(self) -> bool:
        """Whether a watch is open."""
        return self._watching_since is not None

    @property
    def _outlasts_failures(self) -> bool:
        if self._watching_since is None:
            return False
        seconds = self._clock.monotonic() - self._watching_since
        return seconds > max(_LONG_WATCH, _CLEARLY_LONGER * self._longest_failure)

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                await self._list_served()
                await self._follow()
            except _ExpiredError:
                self._restart("expired")
                if self._clock.monotonic() - self._listed_at > _LONG_WATCH:
                    self._expiry.reset()
                # Expiries after each list must not cause an endless series of lists.
                await self._clock.sleep(self._expiry.next_wait())
            except ApiError as error:
                if error.is_not_found and self.resource.is_optional:
                    await self._be_absent()
                else:
                    await self._pause_after(error)
            except CacheError as error:
                await self._pause_after(error)

    @property
    def _path(self) -> str:
        return self._served.collection(self._namespace)

    async def _list_served(self) -> None:
        """List everything in the best version that the server has.

        Raises:
            ApiError: The server has no version of the kind, or refused.
        """
        *newer, oldest = self.resource.in_versions()
        for self._served in newer:
            try:
                await self._list()
            except ApiError as error:
                if not error.is_not_found:
                    raise
            else:
                return
        self._served = oldest
        await self._list()

    def _in_version(self, item: T) -> T:
        """Return an object with its version, which lists of built-in kinds leave out."""
        if not self.resource.older_versions:
            return item
        return msgspec.structs.replace(item, api_version=self._served.api_version)  # type: ignore[type-var]  # a struct

    async def _list(self) -> None:
        """List everything and notify the handlers of the difference."""
        objects: dict[str, T] = {}
        broken: dict[str, ObjectError] = {}
        size, is_full = 0, False
        params = dict(self._selectors)
        if not self._pages_expired:
            params["limit"] = str(self._page_size)
        while True:
            try:
                body = await self._client.request("GET", self._path, params=params)
            except ApiError as error:
                if error.is_gone:
                    # The pages fetched so far are of an older time. If continue tokens of a server or proxy always
                    # expire, the¶next list requests everything at once.
                    self._pages_expired = "continue" in params
                    raise _ExpiredError from error
                raise
            with collector_off():
                page = self.resource.decoder.page(body)
            for item in page.items:
                size += self._size(item)
                if is_full := is_full or self._exceeds(len(objects) + 1, size):
                    break
                objects[item.metadata.key] = self._in_version(item)
            broken.update((entry.metadata.key, entry.error) for entry in page.broken)
            if is_full or not page.continue_token:
                break
            params["continue"] = page.continue_token
        self.is_present = True
        self._pages_expired = False
        self._absence.reset()
        if not self._watch_failures:
            self._progress()
        self._is_rewound |= _is_lower(page.resource_version, self.resource_version)
        if self._is_rewound:
            self._restart("rewound")
            self._log.warning("server_rewound", seen_before=self.resource_version, now=page.resource_version)
        self.is_full &= is_full
        await self._replace(objects, broken)
        if is_full:
            self._leave_out()
        self._is_rewound = False
        self.resource_version = page.resource_version
        self._listed_at = self._clock.monotonic()
        self.synced.set()

    async def _replace(self, objects: dict[str, T], broken: dict[str, ObjectError]) -> None:
        """Change from the known to the listed objects, one notification at a time."""
        for key in self.broken.keys() - broken.keys():
            self._mend(key)
        for key, error in broken.items():
            self._fence(key, error)
        notified = 0
        gone = [key for key in self.objects if key not in objects]
        for is_change in chain((self._forget(key) for key in gone), (self._learn(*each) for each in objects.items())):
            notified += is_change
            if notified >= _SLICE:
                notified = 0
                await asyncio.sleep(0)  # a long list must not starve the lease

    async def _follow(self) -> None:
        """Watch repeatedly, until the version expires or the kind vanishes.

        Raises:
            _ExpiredError: List again.
            ApiError: The kind does not exist any more.
        """
        while True:
            begun_at = self._clock.monotonic()
            try:
                await self._watch_once()
                self._restart("ended")
                if self._clock.monotonic() - begun_at > _LONG_WATCH:
                    self._progress()
                # Without progress the wait grows, so that a server that ends each watch at once is not overloaded.
                await self._clock.sleep(self._backoff.next_wait(_SHORTEST_PAUSE))
            except (ApiError, CacheError) as error:
                if isinstance(error, ApiError) and error.is_gone:
                    raise _ExpiredError from error
                if isinstance(error, ApiError) and error.is_not_found:
                    raise
                self._watch_failures += 1
                await self._pause_after(error)
                if self._watch_failures % _WATCH_FAILURES == 0:
                    # Lists may work if watches do not: a proxy that cuts watches, an event that cannot be read, a
                    # version of the¶future after a restore of etcd.
                    raise _ExpiredError from error

    async def _watch_once(self) -> None:
        params = {
            **self._selectors,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.resource_version,
            # Jittered, so that the watches of all clients do not end at the same moment.
            "timeoutSeconds": str(self._chance.randint(300, 600)),
        }
        async with self._client.stream(self._path, params=params, silence_seconds=_SILENCE_SECONDS) as reader:
            self._watching_since = begun_at = self._clock.monotonic()
            try:
                await self._read(reader)
            except Exception:
                self._longest_failure = max(self._longest_failure, self._clock.monotonic() - begun_at)
                raise
            finally:
                self._watching_since = None

    async def _read(self, reader: aiohttp.StreamReader) -> None:
        taken = 0
        while True:
            try:
                line = await reader.readline()
            except ValueError as error:
                raise CacheError(f"watch of {self.resource.label}: {error}") from error
            if not line:
                return
            if not line.strip():
                continue
            self._take(line)
            taken += 1
            if taken >= _SLICE:
                taken = 0
                await asyncio.sleep(0)  # a full buffer is read without waiting: yield to other tasks

    def _take(self, line: bytes) -> None:
        """Apply one event."""
        event = self.resource.decoder.event(line)
        if isinstance(event, StatusEvent):
            if event.object.code == 410:
                raise _ExpiredError
            raise ApiError(event.object.code, event.object.reason, event.object.message)
        if isinstance(event, Broken):
            self._take_broken(event)
            return
        metadata = event.object.metadata
        key = metadata.key
        if not metadata.name and event.type != "BOOKMARK":
            raise CacheError(f"watch of {self.resource.label}: an event of an object without a name")
        self._check_order(metadata.resource_version)
        if event.type == "DELETED":
            self._mend(key)
            if self._forget(key) and self.is_full:
                raise _ExpiredError  # an object that was left out may fit now
        elif event.type != "BOOKMARK":
            self._mend(key)
            self._learn(key, self._in_version(event.object))
        self._stand_at(metadata.resource_version)

    def _take_broken(self, event: Broken) -> None:
        key = event.metadata.key
        self._check_order(event.metadata.resource_version)
        if event.type == "DELETED":
            self._mend(key)
            self._forget(key)
        else:
            self._fence(key, event.error)
        self._stand_at(event.metadata.resource_version)

    def _check_order(self, resource_version: str) -> None:
        """Refuse an event that is older than the last one seen.

        Raises:
            _ExpiredError: Its version is lower than one seen before.
        """
        if _is_lower(resource_version, self.resource_version):
            self._is_rewound = True
            raise _ExpiredError

    def _stand_at(self, resource_version: str) -> None:
        if resource_version:
            self.resource_version = resource_version
            self._progress()

    def _progress(self) -> None:
        self.trouble = None
        self._failing_since = None
        self._longest_failure = 0.0
        self._watch_failures = 0
        self._backoff.reset()

    def _learn(self, key: str, new: T) -> bool:
        """Store the current state of an object. Return whether it changed."""
        old = self.objects.get(key)
        if old is not None and old.metadata.uid != new.metadata.uid:
            # Deleted and created again under the same name between two observations.
            self._forget(key)
            return self._learn(key, new)
        is_same = old is not None and old.metadata.resource_version == new.metadata.resource_version
        if is_same and not (self._is_rewound and old != new):
            return False  # versions name one state, unless the server's history is another one
        size = self._bytes + self._size(new) - (0 if old is None else self._size(old))
        if self._exceeds(len(self.objects) + (old is None), size):
            self._leave_out()
            return self._forget(key)
        self._bytes = size
        self.objects[key] = new
        self._notify(lambda handler: handler.added(new) if old is None else handler.updated(old, new))
        return True

    def _size(self, item: T) -> int:
        return 0 if self._limit is None else self._limit.size(item)

    def _exceeds(self, objects: int, size: int) -> bool:
        return self._limit is not None and (objects > self._limit.objects or size > self._limit.bytes)

    def _leave_out(self) -> None:
        if not self.is_full:
            self._log.error("objects_left_out", objects=len(self.objects), bytes=self._bytes)
        self.is_full = True

    def _forget(self, key: str) -> bool:
        """Remove an object. Return whether it was known."""
        old = self.objects.pop(key, None)
        if old is None:
            return False
        self._bytes -= self._size(old)
        self._notify(lambda handler: handler.deleted(old))
        return True

    def _fence(self, key: str, error: ObjectError) -> None:
        """Leave out a broken object. Its last valid state is dropped too, as it would be after a restart."""
        self._forget(key)
        if str(self.broken.get(key)) != str(error):
            self._log.warning("object_broken", object=key, path=error.path, error=error.message)
            if self._on_broken is not None:
                self._on_broken(error)
        self.broken[key] = error
        BROKEN_OBJECTS.labels(self.resource.label).set(len(self.broken))

    def _mend(self, key: str) -> None:
        if self.broken and self.broken.pop(key, None) is not None:
            BROKEN_OBJECTS.labels(self.resource.label).set(len(self.broken))

    def _notify(self, notify: Callable[[Handler[T]], None]) -> None:
        for handler in self._handlers:
            try:
                notify(handler)
            except Exception:  # noqa: BLE001  see below
                # A bug of one handler must not stop the stream for the others; the audit finds what it missed.
                HANDLER_ERRORS.labels(self.resource.label).inc()
                self._log.exception("handler_failed")

    async def _be_absent(self) -> None:
        """Treat a missing kind as an empty list, until it appears."""
        if self.is_present or not self.synced.is_set():
            self._log.info("kind_absent")
        self.is_present = False
        await self._replace({}, {})
        self.resource_version = ""
        self.synced.set()
        await self._clock.sleep(self._absence.next_wait())

    async def _pause_after(self, error: ApiError | CacheError) -> None:
        wait = self._backoff.next_wait(error.retry_after if isinstance(error, ApiError) else 0.0)
        self.trouble = error
        if self._failing_since is None:
            self._failing_since = self._clock.monotonic()
        self._restart("error")
        # The first failure is not special: connections break. Each further one is logged.
        log = self._log.debug if self._backoff.failures == 1 else self._log.warning
        log("following_failed", error=str(error), wait_seconds=round(wait, 3), failures=self._backoff.failures)
        await self._clock.sleep(wait)

    def _restart(self, cause: str) -> None:
        REFLECTOR_RESTARTS.labels(self.resource.label, cause).inc()


def _is_lower(version: str, than: str) -> bool:
    """Return whether one resource version is older than another; both are decimal numbers (Kubernetes 1.35)."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)
