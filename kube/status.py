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

from pyroclast.kube.backoff import Backoff
from pyroclast.kube.client import Client, Lane, MediaType
from pyroclast.kube.clock import Clock, SystemClock
from pyroclast.kube.discovery import Discovery
from pyroclast.kube.errors import ApiError, means_another
from pyroclast.kube.metrics import STATUS_WRITES
from pyroclast.kube.resources import ELASTIC_QUOTAS, POD_GROUPS, PODS, QUEUES, Resource
from pyroclast.kube.write_priority import WritePriority
from pyroclast.kube.write_queue import WriteQueue
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.wire import (
    Condition,
    ElasticQuota,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupCondition,
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
_TIMEOUT: Final = 35.0
"""Seconds for one write: longer than a webhook may take, so that the server tells which one does not answer."""
_WORTH_A_LINE: Final = 4
"""Failures in a row of one object before they are logged; then each doubling is."""
_SERVER_WIDE: Final = frozenset({0, 429, 503})
"""Refusals that may concern the whole server: no answer, too many requests, not available."""
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
        """Identity of the object."""
        return self.resource.plural, self.metadata.uid

    @property
    def namespace(self) -> str:
        """Namespace of the object."""
        return self.metadata.namespace


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


class _ServerPause:
    """A pause of all writes while the whole server is in trouble."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._backoff = clock, Backoff()
        self._until = self._worked_at = float("-inf")

    async def over(self) -> None:
        """Wait until the pause is over."""
        while (wait := self._until - self._clock.monotonic()) > 0:
            await self._clock.sleep(wait)

    def worked(self) -> None:
        """Note that the server took a write."""
        self._worked_at = self._clock.monotonic()
        self._backoff.reset()

    def failed(self, error: ApiError, begun: float) -> None:
        """Begin a pause, unless the trouble is not the server's: it took another write since this one began."""
        now = self._clock.monotonic()
        if error.status in _SERVER_WIDE and self._worked_at < begun and self._until <= now:
            self._until = now + self._backoff.next_wait(error.retry_after)


class StatusWriter:
    """Takes wishes at any time, without waiting; `run` writes them."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        *,
        writes_per_cycle: int = 1000,
        concurrency: int = 12,
        share: int = 8,
        traffic: WritePriority | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare to write.

        Args:
            client: Speaks to the server.
            discovery: Knows which kinds have a status subresource.
            writes_per_cycle: Most writes between two calls of `begin_cycle`.
            concurrency: Most writes at a time.
            share: Most of these for objects of one namespace.
            traffic: Binds that pass first.
            clock: For waiting and for times in conditions.
        """
        self._client = client
        self._discovery = discovery
        self._writes_per_cycle = writes_per_cycle
        self._budget = writes_per_cycle
        self._concurrency = concurrency
        self._traffic = traffic or WritePriority()
        self._clock = clock or SystemClock()
        self._queue: WriteQueue[_Write] = WriteQueue(share=share, failing=max(1, concurrency // 2))
        self._written: dict[tuple[str, str], _Written] = {}
        """Oldest first."""
        self._changed = asyncio.Condition()
        self._wake = asyncio.Event()
        self._server = _ServerPause(self._clock)

    @property
    def backlog(self) -> int:
        """Wishes not yet written."""
        return len(self._queue)

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

    def forget_pod(self, uid: str, namespace: str) -> None:
        """Drop what is wished for a pod and not written yet: it is on its way to a node."""
        self._queue.drop((PODS.plural, uid), namespace)

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
                group.create_task(self._work(group))

    async def drain(self) -> None:
        """Wait until everything wished for is written or given up."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.backlog == 0)

    def _offer(self, write: _Write) -> bool:
        queue, key, namespace = self._queue, write.key, write.namespace
        if not write.status and not write.annotations:
            # The cluster says already what we wish: an older, different wish must not be written any more.
            queue.drop(key, namespace)
            return False
        written = self._written.get(key)
        if written is not None and written.says(write) and not queue.is_under_way(key, namespace):
            # The echo is not here yet; an older wish that waits must not be written over it.
            queue.drop(key, namespace)
            return False
        waiting = queue.waiting(key, namespace)
        queue.put(write if waiting is None else replace(write, since=waiting.since))
        self._wake.set()
        return True

    async def _work(self, group: asyncio.TaskGroup) -> None:
        while True:
            await self._server.over()
            write = self._queue.take() if self._budget > 0 else None
            if write is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            self._budget -= 1
            await self._traffic.quiet(write.since + _LONGEST_COURTESY - self._clock.monotonic())
            wait = await self._write(write)
            if wait is not None:
                group.create_task(self._try_again(write, wait))
            self._wake.set()  # a worker may wait for the share of this namespace
            async with self._changed:
                self._changed.notify_all()

    async def _try_again(self, write: _Write, wait: float) -> None:
        """Make a write that failed ready after a while; other objects do not wait for it."""
        await self._clock.sleep(wait)
        self._queue.release(write)
        self._wake.set()

    async def _write(self, write: _Write) -> float | None:
        """Write once; return the seconds after which it is to be tried again, None where it is done."""
        plural, begun = write.resource.plural, self._clock.monotonic()
        try:
            await self._send(write)
        except ApiError as error:
            if error.is_temporary:
                return self._note_failure(write, error, begun)
            STATUS_WRITES.labels(plural, "dropped").inc()
            # Gone, another or changed: the next cycle sees that and wishes anew.
            if error.status != _CONFLICT and not means_another(error):
                _log.warning("status_refused", resource=plural, object=write.metadata.key, error=str(error))
            self._queue.done(write)
            return None
        except Exception:  # noqa: BLE001  see below
            # One write must not end the workers: what the others write at this moment would wait for ever.
            STATUS_WRITES.labels(plural, "dropped").inc()
            _log.exception("status_write_broke", resource=plural, object=write.metadata.key)
            self._queue.done(write)
            return None
        self._server.worked()
        STATUS_WRITES.labels(plural, "written").inc()
        self._remember(write)
        self._queue.done(write)
        return None

    def _note_failure(self, write: _Write, error: ApiError, begun: float) -> float | None:
        """Note a failure that may pass, of this object or of the whole server.

        Returns:
            The seconds to wait; None where nothing is left to write.
        """
        self._server.failed(error, begun)
        delayed = self._queue.delay(write, at_least=error.retry_after)
        STATUS_WRITES.labels(write.resource.plural, "dropped" if delayed is None else "retried").inc()
        if delayed is None:
            return None
        wait, failures = delayed
        if failures >= _WORTH_A_LINE and failures.bit_count() == 1:  # the 4th, 8th, 16th ...
            _log.warning(
                "status_not_written",
                resource=write.resource.plural,
                object=write.metadata.key,
                error=str(error),
                failures=failures,
            )
        return wait

    def _remember(self, write: _Write) -> None:
        """Note what was written, and forget what was long ago: most of it of objects that are gone."""
        now = self._clock.monotonic()
        self._written.pop(write.key, None)
        written = self._written[write.key] = _Written(write.metadata.resource_version, write.wish, now)
        waiting = self._queue.waiting(write.key, write.namespace)
        if waiting is not None and written.says(waiting):
            self._queue.drop(write.key, write.namespace)  # wished for again while it was under way
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
            timeout=_TIMEOUT,
        )


def _undated(condition: Condition | PodGroupCondition) -> tuple[str, str, str, str]:
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
