"""Watches: each change is encoded once and sent to every stream whose filter matches.

A stream has its own filter. An object that starts or stops matching shows as ADDED or DELETED, as the real
server does it. A stream whose client reads too slowly is ended; the client resumes or lists again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyroclast.emulator.faults import Faults
from pyroclast.emulator.statuses import ApiError
from pyroclast.emulator.storage.store import ADDED, DELETED, Collection, Event, Match, Record, decode, encode

__all__ = ["BOOKMARK_SECONDS", "Present", "Stream", "frame"]

BOOKMARK_SECONDS = 60.0
PENDING_LIMIT = 200_000
"""Lines a slow client may lag behind before its stream is ended."""

Present = Callable[[Record], bytes]


def frame(kind: str, body: bytes) -> bytes:
    """One line of a watch."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)


@dataclass(slots=True, kw_only=True, eq=False)
class Stream:
    """One client's watch: a filter in front of a queue of ready lines.

    States: open (lines come), ending (the last lines are to be sent), closed. Only forward.
    """

    collection: Collection
    present: Present
    namespace: str = ""
    matches: Match | None = None
    faults: Faults
    words: dict[str, str] = field(default_factory=dict)
    """Words by which faults match this watch."""
    shared: dict[tuple[int, str], bytes] | None = None
    """Lines that streams of the plain presentation share."""
    pending: list[bytes] = field(default_factory=list)
    ending: bool = False
    cut: bytes | None = None
    """Half a line to send before the connection is cut."""
    _waiter: asyncio.Future[None] | None = None

    def offer(self, event: Event) -> None:
        """Take an event if it concerns this client."""
        record = event.record
        if self.ending or (self.namespace and record.namespace != self.namespace):
            return
        kind = event.type
        if self.matches is not None:
            now = kind != DELETED and self.matches(record.facets)
            before = event.before is not None and self.matches(event.before.facets)
            if not now and not before:
                return
            if now:
                kind = kind if before else ADDED
            elif kind != DELETED and event.before is not None:
                kind, record = DELETED, at_revision(event.before, event.revision)
        if self.faults.armed and self._spoil(kind, record):
            return
        self.push(self._line(kind, record))

    def push(self, line: bytes) -> None:
        """Queue a line and wake the sender."""
        self.pending.append(line)
        if len(self.pending) > PENDING_LIMIT:
            self.pending.clear()
            self.ending = True
        self._wake()

    def end(self) -> None:
        """Send what is queued, then close."""
        self.ending = True
        self._wake()

    def fail(self, error: ApiError) -> None:
        """End with an ERROR event."""
        self.push(frame("ERROR", encode(error.status())))
        self.end()

    async def wait(self) -> None:
        """Return when there is something to send."""
        if self.pending or self.ending:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def take(self) -> bytes:
        """All queued lines."""
        lines = self.pending
        if len(lines) == 1:
            self.pending = []
            return lines[0]
        self.pending = []
        return b"".join(lines)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _line(self, kind: str, record: Record) -> bytes:
        if self.shared is None:
            return frame(kind, self.present(record))
        key = (record.revision, kind)
        line = self.shared.get(key)
        if line is None:
            self.shared.clear()  # the newest event alone is worth keeping: all streams see it in turn
            line = self.shared[key] = frame(kind, self.present(record))
        return line

    def _spoil(self, kind: str, record: Record) -> bool:
        """Drop or halve an event where a fault says so."""
        words = {**self.words, "name": record.name, "namespace": record.namespace}
        fault = self.faults.take(("drop", "half"), words)
        if fault is None:
            return False
        if fault.effect == "half":
            line = self._line(kind, record)
            self.cut = line[: len(line) // 2]
            self.end()
        return True


def at_revision(record: Record, revision: int) -> Record:
    """An old state as the deletion event of a client that no longer sees the object shows it."""
    tree = decode(record.raw)
    tree["metadata"]["resourceVersion"] = str(revision)
    return Record(
        record.key,
        record.namespace,
        record.name,
        record.uid,
        revision,
        encode(tree),
        record.facets,
        record.owners,
    )


def bookmark(kind: str, group_version: str, revision: int, *, initial_events_end: bool = False) -> bytes:
    """A BOOKMARK line."""
    metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
    if initial_events_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    body = {"kind": kind, "apiVersion": group_version, "metadata": metadata}
    return frame("BOOKMARK", encode(body))
