"""Status writer: tell the cluster how jobs, queues and pods fare, but only news, and never in the way of binds.

Each wish is compared with the object as it was last seen; what would change nothing is not written. Of several wishes
for one object the newest counts, and is not sent before the one under way is answered. A cycle may cause so many
writes; the rest is carried over. Writes are patches, with the object's UID as a precondition.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from kube.backoff import Backoff
from kube.client import Client, Lane, MediaType
from kube.clock import Clock, SystemClock
from kube.discovery import Discovery
from kube.errors import ApiError, means_another
from kube.metrics import STATUS_WRITES
from kube.resources import ELASTIC_QUOTAS, POD_GROUPS, PODS, QUEUES, Resource
from kube.traffic import Traffic
from model.quantity import QuantityError, parse
from model.wire import (
    Condition,
    ElasticQuota,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupStatus,
    Queue,
    ResourceList,
    time_text,
)

__all__ = ["StatusWriter"]

_ECHO: Final = 30.0
"""Seconds that a written wish is remembered for, so that it is not written again before its echo comes; one forgotten
too early costs a write that changes nothing."""
_LONGEST_COURTESY: Final = 1.0
"""Seconds that a write waits for binds at most."""
_CONFLICT: Final = 409
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    resource: Resource[Any]
    metadata: ObjectMeta
    wish: object
    """What is wanted, without times, so that equal wishes compare equal."""
    status: Mapping[str, Any]
    annotations: Mapping[str, str]
    media_type: MediaType
    since: float
    """When it was wished for, by the clock that never jumps."""
    is_of_version: bool = False
    """Holds of the version that was seen alone: not written when the object has changed since."""

    @property
    def key(self) -> tuple[str, str]:
        return self.resource.plural, self.metadata.uid


class _Written(NamedTuple):
    """A wish that the server took."""

    version: str
    """Of the object as it was seen."""
    wish: object
    when: float
    """By the clock that never jumps."""

    def says(self, write: _Write) -> bool:
        """Tell whether it is the same wish, of the same version of the object."""
        return (self.version, self.wish) == (write.metadata.resource_version, write.wish)


class StatusWriter:
    """Takes wishes at any time, without waiting; `run` writes them."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        *,
        writes_per_cycle: int = 1000,
        concurrency: int = 8,
        traffic: Traffic | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare to write.

        Args:
            client: Speaks to the server.
            discovery: Knows which kinds have a status subresource.
            writes_per_cycle: Most writes between two calls of `begin_cycle`.
            concurrency: Most writes at a time.
            traffic: Binds that pass first.
            clock: For waiting and for times in conditions.
        """
        self._client = client
        self._discovery = discovery
        self._writes_per_cycle = writes_per_cycle
        self._budget = writes_per_cycle
        self._concurrency = concurrency
        self._traffic = traffic or Traffic()
        self._clock = clock or SystemClock()
        self._pending: dict[tuple[str, str], _Write] = {}
        self._under_way: set[tuple[str, str]] = set()
        self._written: dict[tuple[str, str], _Written] = {}
        """Oldest first."""
        self._changed = asyncio.Condition()
        self._wake = asyncio.Event()
        self._backoff = Backoff()

    @property
    def backlog(self) -> int:
        """Wishes not yet written."""
        return len(self._pending) + len(self._under_way)

    def begin_cycle(self) -> None:
        """Grant the next cycle's writes."""
        self._budget = self._writes_per_cycle
        self._wake.set()

    def pod(self, seen: Pod, *, condition: Condition | None = None, nominated_node: str | None = None) -> bool:
        """Wish a condition and a nominated node for a pod; an empty node clears it, None does not touch it.

        Returns:
            Whether it is news.
        """
        status: dict[str, Any] = {}
        if condition is not None and not _has_condition(seen, condition):
            status["conditions"] = [_dated(condition, seen, self._clock.wall())]
        if nominated_node is not None and nominated_node != seen.status.nominated_node_name:
            status["nominatedNodeName"] = nominated_node or None
        wish = (_undated(condition) if condition else None, nominated_node)
        return self._offer(
            _Write(
                since=self._clock.monotonic(),
                resource=PODS,
                metadata=seen.metadata,
                wish=wish,
                status=status,
                annotations={},
                # Conditions of a pod merge by type: others' conditions stay.
                media_type=MediaType.STRATEGIC_PATCH,
                # That a pod waits is true of the pod as it was seen: one that was bound meanwhile must not be told so.
                is_of_version=condition is not None and condition.status == "False",
            )
        )

    def forget_pod(self, uid: str) -> None:
        """Drop what is wished for a pod and not written yet: it is on its way to a node."""
        self._pending.pop((PODS.plural, uid), None)

    def pod_group(
        self, seen: PodGroup, status: PodGroupStatus, *, annotations: Mapping[str, str] | None = None
    ) -> bool:
        """Wish a status, and annotations, for a pod group. Tell whether it is news."""
        news = {key: value for key, value in (annotations or {}).items() if seen.metadata.annotations.get(key) != value}
        changed = _comparable(seen.status) != _comparable(status)
        now = time_text(self._clock.wall())
        body = {
            "phase": status.phase,
            "running": status.running,
            "succeeded": status.succeeded,
            "failed": status.failed,
            "conditions": [
                msgspec.to_builtins(condition) | {"lastTransitionTime": condition.last_transition_time or now}
                for condition in status.conditions
            ],
        }
        return self._offer(
            _Write(
                since=self._clock.monotonic(),
                resource=POD_GROUPS,
                metadata=seen.metadata,
                wish=(_comparable(status), tuple(sorted(news.items()))),
                status=body if changed else {},
                annotations=news,
                media_type=MediaType.MERGE_PATCH,
            )
        )

    def queue(self, seen: Queue, allocated: ResourceList) -> bool:
        """Wish what a queue holds. Tell whether it is news."""
        known = seen.status.allocated
        patch: dict[str, Any] = {name: None for name in known if name not in allocated}
        patch |= {
            name: amount for name, amount in allocated.items() if name not in known or not _equal(known[name], amount)
        }
        return self._offer(
            _Write(
                since=self._clock.monotonic(),
                resource=QUEUES,
                metadata=seen.metadata,
                wish=tuple(sorted(allocated.items())),
                status={"allocated": patch} if patch else {},
                annotations={},
                media_type=MediaType.MERGE_PATCH,
            )
        )

    def elastic_quota(self, seen: ElasticQuota, used: ResourceList, amounts: Mapping[str, ResourceList]) -> bool:
        """Wish what a quota uses, and amounts in annotations, by their keys. Tell whether it is news.

        What says nothing but zeros where nothing is written is no news.
        """
        news = {
            key: msgspec.json.encode(wanted, order="deterministic").decode()
            for key, wanted in amounts.items()
            if not _says(seen.metadata.annotations.get(key, ""), wanted)
        }
        known = seen.status.used
        changed: dict[str, Any] = {name: None for name in known if name not in used}
        changed |= {name: amount for name, amount in used.items() if not _equal(known.get(name, 0), amount)}
        return self._offer(
            _Write(
                since=self._clock.monotonic(),
                resource=ELASTIC_QUOTAS,
                metadata=seen.metadata,
                wish=(tuple(sorted(used.items())), tuple(sorted(news.items()))),
                status={"used": changed} if changed else {},
                annotations=news,
                media_type=MediaType.MERGE_PATCH,
            )
        )

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._work())

    async def drain(self) -> None:
        """Wait until everything wished for is written or given up."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.backlog == 0)

    def _offer(self, write: _Write) -> bool:
        if not write.status and not write.annotations:
            # The cluster says already what we wish: an older, different wish must not be written any more.
            self._pending.pop(write.key, None)
            return False
        written = self._written.get(write.key)
        if written is not None and written.says(write) and write.key not in self._under_way:
            # The echo is not here yet; an older wish that waits must not be written over it.
            self._pending.pop(write.key, None)
            return False
        waiting = self._pending.get(write.key)
        self._pending[write.key] = write if waiting is None else replace(write, since=waiting.since)
        self._wake.set()
        return True

    async def _work(self) -> None:
        while True:
            write = self._next()
            if write is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            try:
                await self._traffic.quiet(write.since + _LONGEST_COURTESY - self._clock.monotonic())
                await self._write(write)
            finally:
                self._under_way.discard(write.key)
                if write.key in self._pending:
                    self._wake.set()
                async with self._changed:
                    self._changed.notify_all()

    def _next(self) -> _Write | None:
        """Take the wish that waits longest, if the cycle's budget allows; of each object one at a time."""
        if self._budget <= 0:
            return None
        key = next((key for key in self._pending if key not in self._under_way), None)
        if key is None:
            return None
        self._budget -= 1
        self._under_way.add(key)
        return self._pending.pop(key)

    async def _write(self, write: _Write) -> None:
        plural = write.resource.plural
        try:
            await self._send(write)
        except ApiError as error:
            if error.is_temporary:
                STATUS_WRITES.labels(plural, "retried").inc()
                self._pending.setdefault(write.key, write)  # unless a newer wish came meanwhile
                await self._clock.sleep(self._backoff.next_wait(error.retry_after))
                return
            STATUS_WRITES.labels(plural, "dropped").inc()
            # Gone, another or changed: the next cycle sees that and wishes anew.
            if error.status != _CONFLICT and not means_another(error):
                _log.warning("status_refused", resource=plural, object=write.metadata.key, error=str(error))
            return
        self._backoff.reset()
        STATUS_WRITES.labels(plural, "written").inc()
        self._remember(write)

    def _remember(self, write: _Write) -> None:
        """Note what was written, and forget what was long ago: most of it of objects that are gone."""
        now = self._clock.monotonic()
        self._written.pop(write.key, None)
        written = self._written[write.key] = _Written(write.metadata.resource_version, write.wish, now)
        waiting = self._pending.get(write.key)
        if waiting is not None and written.says(waiting):
            del self._pending[write.key]  # wished for again while it was under way
        while next(iter(self._written.values())).when < now - _ECHO:
            del self._written[next(iter(self._written))]

    async def _send(self, write: _Write) -> None:
        resource, metadata = write.resource, write.metadata
        has_subresource = resource is PODS or await self._discovery.has(resource, "status")
        on_object: dict[str, Any] = {"annotations": dict(write.annotations)} if write.annotations else {}
        if write.status and has_subresource:
            identity = {"uid": metadata.uid}
            if write.is_of_version and metadata.resource_version:
                identity["resourceVersion"] = metadata.resource_version
            await self._patch(write, {"metadata": identity, "status": write.status}, "status")
        if on_object or (write.status and not has_subresource):
            body: dict[str, Any] = {"metadata": {"uid": metadata.uid, **on_object}}
            if write.status and not has_subresource:
                body["status"] = write.status
            await self._patch(write, body)

    async def _patch(self, write: _Write, body: object, subresource: str = "") -> None:
        await self._client.request(
            "PATCH",
            write.resource.path(write.metadata.namespace, write.metadata.name, subresource),
            body=msgspec.json.encode(body),
            media_type=write.media_type,
            lane=Lane.BACKGROUND,
        )


def _undated(condition: Condition) -> tuple[str, str, str, str]:
    return condition.type, condition.status, condition.reason, condition.message


def _has_condition(seen: Pod, condition: Condition) -> bool:
    return any(_undated(known) == _undated(condition) for known in seen.status.conditions)


def _dated(condition: Condition, seen: Pod, now: float) -> dict[str, Any]:
    """Give a condition its time: the old one while its status stays the same."""
    known = next((known for known in seen.status.conditions if known.type == condition.type), None)
    is_same = known is not None and known.status == condition.status
    since = known.last_transition_time if known is not None and is_same else ""
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since or time_text(now),
    }


def _comparable(status: PodGroupStatus) -> object:
    """A pod group's status without the times and identifiers that each session writes anew."""
    return (
        status.phase,
        status.running,
        status.succeeded,
        status.failed,
        tuple(_undated(condition) for condition in status.conditions),
    )


def _equal(one: str | float, other: str | float) -> bool:
    """Compare amounts, not their spelling."""
    try:
        return parse(one) == parse(other)
    except QuantityError:
        return one == other


def _says(text: str, wanted: ResourceList) -> bool:
    """Tell whether a resource list in an annotation says what is wanted; one that is absent says zeros."""
    try:
        known = msgspec.json.decode(text or "{}", type=dict[str, str | int | float])
    except (msgspec.DecodeError, RecursionError):
        return False
    return (not text or known.keys() == wanted.keys()) and all(
        _equal(known.get(name, 0), amount) for name, amount in wanted.items()
    )
