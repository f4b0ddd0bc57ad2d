"""Status writer: write the status of jobs, queues and pods, but only changes, and after binds.

Each desired status is compared with the object as it was last seen; if nothing would change, nothing is written. Of
several desired states of one object the newest counts, and it is not sent before the write under way is answered. A
cycle has a maximum number of writes; the rest is carried over. Writes are patches, with the object's UID as a
precondition.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, Lane, MediaType
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.api.errors import ApiError, means_another
from pyroclast.kube.api.metrics import QUOTA_STATUS_SECONDS, STATUS_WRITES
from pyroclast.kube.api.resources import (
    ELASTIC_QUOTAS,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    PODS,
    QUEUES,
    RESERVATIONS,
    Resource,
)
from pyroclast.kube.writes.write_priority import WritePriority
from pyroclast.kube.writes.write_queue import WriteQueue
from pyroclast.model.annotations import read_json
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.reservations.status import unschedulable
from pyroclast.model.wire import (
    Condition,
    ElasticQuota,
    NativeCondition,
    NativePodGroup,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupCondition,
    PodGroupStatus,
    Queue,
    Reservation,
    ResourceList,
    time_text,
)

__all__ = ["StatusWriter"]

_ECHO: Final = 30.0
"""Seconds for which a write is remembered, so that it is not repeated before the watch delivers it; one that is
forgotten too early costs a write that changes nothing.
"""
_MAX_DELAY: Final = 1.0
"""Maximum number of seconds that a write waits for binds."""
_TIMEOUT: Final = 35.0
"""Seconds for one write: longer than a webhook's timeout, so that the server reports the webhook that does not answer.
"""
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
    desired: object
    """Desired state without times, so that equal states compare equal."""
    status: Mapping[str, Any]
    annotations: Mapping[str, str]
    media_type: MediaType
    since: float
    """Time of the request, by the monotonic clock."""
    is_of_version: bool = False
    """Whether it applies only to the version that was seen: not written if the object has changed since."""

    @property
    def key(self) -> tuple[str, str]:
        """Identity of the object."""
        return self.resource.plural, self.metadata.uid

    @property
    def namespace(self) -> str:
        """Namespace of the object."""
        return self.metadata.namespace


class _Written(NamedTuple):
    """A write that the server accepted."""

    version: str
    """Version of the object that was seen."""
    desired: object
    when: float
    """Time by the monotonic clock."""

    def matches(self, write: _Write) -> bool:
        """Return whether it is the same desired state, of the same version of the object."""
        return (self.version, self.desired) == (write.metadata.resource_version, write.desired)


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
        """Record that the server accepted a write."""
        self._worked_at = self._clock.monotonic()
        self._backoff.reset()

    def failed(self, error: ApiError, begun: float) -> None:
        """Start a pause, unless the server accepted another write since this one began."""
        now = self._clock.monotonic()
        if error.status in _SERVER_WIDE and self._worked_at < begun and self._until <= now:
            self._until = now + self._backoff.next_wait(error.retry_after)


class StatusWriter:
    """Accepts desired states at any time, without waiting; `run` writes them."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        *,
        writes_per_cycle: int = 1000,
        concurrency: int = 12,
        share: int = 8,
        write_priority: WritePriority | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Create a status writer.

        Args:
            client: Client of the API server.
            discovery: Knows which kinds have a status subresource.
            writes_per_cycle: Maximum number of writes between two calls of `begin_cycle`.
            concurrency: Maximum number of writes at a time.
            share: Maximum number of these for objects of one namespace.
            write_priority: Binds, which are sent first.
            clock: Clock for waiting and for times in conditions.
        """
        self._client = client
        self._discovery = discovery
        self._writes_per_cycle = writes_per_cycle
        self._budget = writes_per_cycle
        self._concurrency = concurrency
        self._write_priority = write_priority or WritePriority()
        self._clock = clock or SystemClock()
        self._queue: WriteQueue[_Write] = WriteQueue(share=share, failing=max(1, concurrency // 2))
        self._written: dict[tuple[str, str], _Written] = {}
        """Oldest first."""
        self._changed = asyncio.Condition()
        self._wake = asyncio.Event()
        self._server = _ServerPause(self._clock)

    @property
    def backlog(self) -> int:
        """Number of desired states not yet written."""
        return len(self._queue)

    def begin_cycle(self) -> None:
        """Permit the next cycle's writes."""
        self._budget = self._writes_per_cycle
        self._wake.set()

    def pod(self, seen: Pod, *, condition: Condition | None = None, nominated_node: str | None = None) -> bool:
        """Request a condition and a nominated node for a pod; an empty node clears it, None leaves it unchanged.

        Returns:
            Whether it is a change.
        """
        status: dict[str, Any] = {}
        if condition is not None and not _has_condition(seen, condition):
            status["conditions"] = [_dated(condition, seen, self._clock.wall())]
        if nominated_node is not None and nominated_node != seen.status.nominated_node_name:
            status["nominatedNodeName"] = nominated_node or None
        desired = (_undated(condition) if condition else None, nominated_node)
        return self._offer(
            _Write(
                since=self._clock.monotonic(),
                resource=PODS,
                metadata=seen.metadata,
                desired=desired,
                status=status,
                annotations={},
                # Conditions of a pod merge by type: those of other writers stay.
                media_type=MediaType.STRATEGIC_PATCH,
                # The condition applies to the pod as it was seen: a pod that was bound meanwhile must not get it.
                is_of_version=condition is not None and condition.status == "False",
            )
        )

    def forget_pod(self, uid: str, namespace: str) -> None:
        """Drop the unwritten state of a pod: it is being bound."""
        self._queue.drop((PODS.plural, uid), namespace)

    def pod_group(
        self, seen: PodGroup, status: PodGroupStatus, *, annotations: Mapping[str, str] | None = None
    ) -> bool:
        """Request a status, and annotations, for a pod group. Return whether it is a change."""
        changes = {
            key: value for key, value in (annotations or {}).items() if seen.metadata.annotations.get(key) != value
        }
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
                desired=(_comparable(status), tuple(sorted(changes.items()))),
                status=body if changed else {},
                annotations=changes,
                media_type=MediaType.MERGE_PATCH,
            )
        )

    def native_pod_group(self, seen: NativePodGroup, condition: NativeCondition) -> bool:
        """Request a condition for a pod group of `scheduling.k8s.io`. Return whether it is a change.

        Conditions of other types stay, because conditions merge by type.
        """
        known = next((each for each in seen.status.conditions if each.type == condition.type), None)
        is_changed = known is None or _undated(known) != _undated(condition)
        since = known.last_transition_time if known is not None and known.status == condition.status else ""
        body = {
            "type": condition.type,
            "status": condition.status,
            "observedGeneration": condition.observed_generation,
            "lastTransitionTime": since or time_text(self._clock.wall()),
            "reason": condition.reason,
            "message": condition.message,
        }
        return self._offer(
            _Write(
                since=self._clock.monotonic(),
                resource=NATIVE_POD_GROUPS.in_version_of(seen.api_version),
                metadata=seen.metadata,
                desired=_undated(condition),
                status={"conditions": [body]} if is_changed else {},
                annotations={},
                media_type=MediaType.STRATEGIC_PATCH,
                # A group that another scheduler has scheduled meanwhile must not become unscheduled.
                is_of_version=condition.status == "False",
            )
        )

    def queue(self, seen: Queue, allocated: ResourceList) -> bool:
        """Request the allocated amount of a queue. Return whether it is a change."""
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
                desired=tuple(sorted(allocated.items())),
                status={"allocated": patch} if patch else {},
                annotations={},
                media_type=MediaType.MERGE_PATCH,
            )
        )

    def elastic_quota(
        self,
        seen: ElasticQuota,
        used: ResourceList,
        amounts: Mapping[str, ResourceList],
        texts: Mapping[str, str] | None = None,
    ) -> bool:
        """Request the used amount of a quota, and annotations with amounts or texts. Return whether it is a change.

        Zeros are no change if nothing is written yet.
        """
        changes = {
            key: msgspec.json.encode(desired_amounts, order="deterministic").decode()
            for key, desired_amounts in amounts.items()
            if not _has_amounts(seen.metadata.annotations.get(key, ""), desired_amounts)
        }
        changes |= {key: text for key, text in (texts or {}).items() if seen.metadata.annotations.get(key) != text}
        known = seen.status.used
        changed: dict[str, Any] = {name: None for name in known if name not in used}
        changed |= {name: amount for name, amount in used.items() if not _equal(known.get(name, 0), amount)}
        return self._offer(
            _Write(
                since=self._clock.monotonic(),
                resource=ELASTIC_QUOTAS,
                metadata=seen.metadata,
                desired=(tuple(sorted(used.items())), tuple(sorted(changes.items()))),
                status={"used": changed} if changed else {},
                annotations=changes,
                media_type=MediaType.MERGE_PATCH,
            )
        )

    def reservation(self, seen: Reservation, condition: Condition) -> bool:
        """Request the condition of a Reservation that has no node. Return whether it is a change."""
        status = unschedulable(seen, condition.message, self._clock.wall())
        is_changed = not any(
            (each.type, each.status, each.message) == ("Scheduled", "False", condition.message)
            for each in seen.status.conditions
        )
        body = {"phase": status.phase, "conditions": msgspec.to_builtins(status.conditions)}
        return self._offer(
            _Write(
                since=self._clock.monotonic(),
                resource=RESERVATIONS,
                metadata=seen.metadata,
                desired=_undated(condition),
                status=body if is_changed else {},
                annotations={},
                media_type=MediaType.MERGE_PATCH,
                is_of_version=True,
            )
        )

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._work(group))

    async def drain(self) -> None:
        """Wait until every write is done or given up."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.backlog == 0)

    def _offer(self, write: _Write) -> bool:
        queue, key, namespace = self._queue, write.key, write.namespace
        if not write.status and not write.annotations:
            # The object has the desired state already: an older, different write must not be sent any more.
            queue.drop(key, namespace)
            return False
        written = self._written.get(key)
        if written is not None and written.matches(write) and not queue.is_under_way(key, namespace):
            # The watch has not delivered the write yet; an older write that waits must not be sent after it.
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
            await self._write_priority.quiet(write.since + _MAX_DELAY - self._clock.monotonic())
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
        """Write once. Return the seconds after which to retry; None if it is done."""
        plural, begun = write.resource.plural, self._clock.monotonic()
        try:
            await self._send(write)
        except ApiError as error:
            if error.is_temporary:
                return self._note_failure(write, error, begun)
            STATUS_WRITES.labels(plural, "dropped").inc()
            # Gone, another or changed: the next cycle sees that and requests the new state.
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
        if write.resource is ELASTIC_QUOTAS:
            QUOTA_STATUS_SECONDS.observe(self._clock.monotonic() - begun)
        self._remember(write)
        self._queue.done(write)
        return None

    def _note_failure(self, write: _Write, error: ApiError, begun: float) -> float | None:
        """Record a temporary failure, of this object or of the whole server.

        Returns:
            The seconds to wait; None if nothing is left to write.
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
        """Record a write, and forget old ones: most of them are of objects that are gone."""
        now = self._clock.monotonic()
        self._written.pop(write.key, None)
        written = self._written[write.key] = _Written(write.metadata.resource_version, write.desired, now)
        waiting = self._queue.waiting(write.key, write.namespace)
        if waiting is not None and written.matches(waiting):
            self._queue.drop(write.key, write.namespace)  # requested again while it was under way
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


def _undated(condition: Condition | NativeCondition | PodGroupCondition) -> tuple[str, str, str, str]:
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


def _has_amounts(text: str, desired_amounts: ResourceList) -> bool:
    """Return whether a resource list in an annotation has the desired amounts; an absent one counts as zeros."""
    try:
        known = read_json(text or "{}", dict[str, str | int | float])
    except ValueError:
        return False
    return (not text or known.keys() == desired_amounts.keys()) and all(
        _equal(known.get(name, 0), amount) for name, amount in desired_amounts.items()
    )
