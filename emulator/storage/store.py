"""The store of the server: objects as encoded bytes, one revision counter, and a history to replay.

An object is kept as the JSON of its answer, never as a tree: a pod of 3.5 KB costs 3.5 KB, not 12, the
collector has nothing to walk, and reading it again is one `msgspec` pass. The fields for selectors are kept
beside it as `facets`. Lists of older revisions are the present with the history undone, so pages are consistent.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from sortedcontainers import SortedDict

from pyroclast.emulator.statuses import ApiError, expired, too_new
from pyroclast.emulator.storage.continue_tokens import read_continue, write_continue

__all__ = ["ADDED", "DELETED", "MODIFIED", "Collection", "Event", "Page", "Record", "Store", "decode", "encode"]

Object = dict[str, Any]

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
HISTORY = 16_384
"""Events kept by collection; a watch from an older one must list again.

Five seconds of the fastest changes, and more than the pages of 50,000 pods take to list. Beside 50,000 pods of 3 KB,
which take 280 MB, a full history takes 90 MB; one four times as long took 340. Open watches lose nothing, however few
are kept.
"""

CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter."
)

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode

FACETS: dict[str, dict[str, tuple[str, ...]]] = {
    "Pod": {
        "spec": ("nodeName", "schedulerName", "restartPolicy", "serviceAccountName", "hostNetwork"),
        "status": ("phase", "podIP", "podIPs", "nominatedNodeName"),
    },
    "Node": {"spec": ("unschedulable",)},
    "Namespace": {"status": ("phase",)},
    "Event": {
        "involvedObject": ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"),
        "regarding": ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"),
        "source": ("component",),
    },
    "Service": {"spec": ("clusterIP", "type")},
    "ReplicationController": {"status": ("replicas",)},
    "ResourceSlice": {"spec": ("nodeName", "driver")},
    "Job": {"status": ("succeeded",)},
}
TOP_FACETS: dict[str, tuple[str, ...]] = {
    "Event": ("reason", "type", "reportingComponent", "reportingController"),
    "Secret": ("type",),
}


class Record(msgspec.Struct, frozen=True, gc=False):
    """One object at one revision. Never changed, so it may be held by lists, history and watches at once."""

    key: str
    namespace: str
    name: str
    uid: str
    revision: int
    raw: bytes
    facets: Object
    """Fields for selectors, in the object's own structure."""
    owners: tuple[str, ...]
    """UIDs of the owner references."""

    def object(self) -> Object:
        """A fresh tree of the object, the caller's to change."""
        tree: Object = decode(self.raw)
        return tree


class Event(msgspec.Struct, frozen=True, gc=False):
    """One change: the record after it (for a deletion: the last state, at the deletion's revision)."""

    type: str
    record: Record
    before: Record | None

    @property
    def revision(self) -> int:
        """The revision the change made."""
        return self.record.revision


Match = Callable[[Object], bool]


class Watcher(Protocol):
    """Receives changes."""

    def offer(self, event: Event) -> None:
        """Take an event."""

    def end(self) -> None:
        """Stop: there will be no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a list."""

    records: list[Record]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


def facets_of(tree: Object, selectable: tuple[str, ...] = ()) -> Object:
    """Pick what selectors may look at."""
    kind = tree.get("kind", "")
    metadata = tree["metadata"]
    facets: Object = {
        "kind": kind,
        "apiVersion": tree.get("apiVersion", ""),
        "metadata": {"name": metadata["name"], "namespace": metadata.get("namespace", "")},
    }
    if labels := metadata.get("labels"):
        facets["metadata"]["labels"] = labels
    for section, fields in FACETS.get(kind, {}).items():
        values = tree.get(section)
        if isinstance(values, dict):
            facets[section] = {field: values[field] for field in fields if field in values}
    for field in TOP_FACETS.get(kind, ()):
        if field in tree:
            facets[field] = tree[field]
    for path in selectable:
        copy_path(tree, facets, path.strip(".").split("."))
    return facets


def copy_path(source: Object, target: Object, path: list[str]) -> None:
    """Copy one field, with the objects round it."""
    *parents, last = path
    for parent in parents:
        inner = source.get(parent)
        if not isinstance(inner, dict):
            return
        source, target = inner, target.setdefault(parent, {})
    if last in source:
        target[last] = source[last]


class Collection:
    """All objects of one resource, sorted by key, with the events that led here."""

    def __init__(self, store: "Store", group: str, plural: str, history: int = HISTORY) -> None:
        self.group = group
        self.plural = plural
        self._store = store
        self._records: SortedDict[str, Record] = SortedDict()
        self._history: deque[Event] = deque()
        self._history_limit = history
        self.selectable: tuple[str, ...] = ()
        """Further paths that field selectors may look at."""
        self.oldest_revision = store.compacted_revision
        """Events after this revision are kept."""
        self.watchers: set[Watcher] = set()

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._records)

    def get(self, namespace: str, name: str) -> Record | None:
        """The newest record of an object."""
        record: Record | None = self._records.get(f"{namespace}/{name}")
        return record

    def records(self, namespace: str = "") -> Iterator[Record]:
        """All records, or those of one namespace, in key order. Not to be held over a change."""
        if not namespace:
            yield from self._records.values()
            return
        for key in self._records.irange(f"{namespace}/", f"{namespace}0", inclusive=(True, False)):
            yield self._records[key]

    def put(self, tree: Object) -> Record:
        """Store an object at a new revision and notify the watchers. The tree's resourceVersion is set."""
        metadata = tree["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        revision = self._store.next_revision()
        metadata["resourceVersion"] = str(revision)
        record = Record(
            f"{namespace}/{name}",
            namespace,
            name,
            metadata["uid"],
            revision,
            encode(tree),
            facets_of(tree, self.selectable),
            tuple(owner["uid"] for owner in metadata.get("ownerReferences") or ()),
        )
        before = self._records.get(record.key)
        self._records[record.key] = record
        self._publish(Event(ADDED if before is None else MODIFIED, record, before))
        return record

    def remove(self, record: Record, final: Object | None = None) -> Record:
        """Forget an object; `final` is its last state where that differs from what is stored."""
        tree = record.object() if final is None else final
        revision = self._store.next_revision()
        tree["metadata"]["resourceVersion"] = str(revision)
        last = Record(
            record.key,
            record.namespace,
            record.name,
            record.uid,
            revision,
            encode(tree),
            facets_of(tree, self.selectable),
            record.owners,
        )
        before = self._records.pop(record.key)
        self._publish(Event(DELETED, last, before))
        return last

    def compact(self) -> None:
        """Forget all history: older watches and continue tokens answer 410 from now on."""
        self._history.clear()
        self.oldest_revision = self._store.revision

    def events_since(self, revision: int) -> list[Event]:
        """Events after a revision, oldest first.

        Raises:
            ApiError: 410 when some of them are no longer kept.
        """
        if revision < self.oldest_revision:
            raise expired(f"too old resource version: {revision} ({self.oldest_revision + 1})")
        events: list[Event] = []
        for event in reversed(self._history):
            if event.revision <= revision:
                break
            events.append(event)
        events.reverse()
        return events

    def page(
        self, *, namespace: str = "", matches: Match | None = None, limit: int = 0, token: str = "", at: int = 0
    ) -> Page:
        """List a page, as of the newest revision, of `at`, or of the one that the token names."""
        start, revision = "", at
        if token:
            revision, start = read_continue(token, namespace)
            start = f"/{start}" if self._is_cluster_wide else start
            if revision > self._store.revision:
                raise too_new(revision, self._store.revision)
        if revision <= 0 or revision >= self._store.revision:
            revision = self._store.revision
            source = self._present(namespace, start)
        else:
            source = self._past(namespace, start, revision)
        records: list[Record] = []
        for record in source:
            if matches is not None and not matches(record.facets):
                continue
            if limit and len(records) == limit:
                after = records[-1].key
                remaining = None if matches else self._count_after(namespace, after)
                next_token = write_continue(revision, after, namespace)
                return Page(records=records, revision=revision, continue_token=next_token, remaining=remaining)
            records.append(record)
        return Page(records=records, revision=revision)

    @property
    def _is_cluster_wide(self) -> bool:
        """Whether keys have no namespace, as the stored objects show."""
        key = next(iter(self._records), self._history[0].record.key if self._history else "")
        return key.startswith("/")

    def _publish(self, event: Event) -> None:
        history = self._history
        history.append(event)
        if len(history) > self._history_limit:
            self.oldest_revision = history.popleft().revision
        for watcher in tuple(self.watchers):
            watcher.offer(event)
        for listener in self._store.listeners:
            listener(self, event)

    def _bounds(self, namespace: str, start: str) -> tuple[str, str | None]:
        low = f"{namespace}/" if namespace else ""
        return max(low, start), f"{namespace}0" if namespace else None

    def _present(self, namespace: str, start: str) -> Iterator[Record]:
        low, high = self._bounds(namespace, start)
        records = self._records
        for key in records.irange(low or None, high, inclusive=(True, False)):
            yield records[key]

    def _past(self, namespace: str, start: str, revision: int) -> Iterator[Record]:
        """Records as they were: the present, with what changed since put back."""
        try:
            events = self.events_since(revision)
        except ApiError as error:
            raise expired(CONTINUE_EXPIRED) from error
        undone: dict[str, Record | None] = {}
        for event in events:
            undone.setdefault(event.record.key, event.before)
        low, high = self._bounds(namespace, start)
        keys = {key for key in undone if key >= low and (high is None or key < high)}
        keys.update(self._records.irange(low or None, high, inclusive=(True, False)))
        for key in sorted(keys):
            record = undone[key] if key in undone else self._records[key]
            if record is not None:
                yield record

    def _count_after(self, namespace: str, key: str) -> int:
        _, high = self._bounds(namespace, key)
        end: int = len(self._records) if high is None else self._records.bisect_left(high)
        return max(0, end - int(self._records.bisect_right(key)))


Listener = Callable[[Collection, Event], None]


class Store:
    """Every collection, and the one counter that orders all their changes."""

    def __init__(self, *, history: int = HISTORY) -> None:
        self.revision = 1
        self.compacted_revision = 0
        """History before it was forgotten on purpose."""
        self.listeners: list[Listener] = []
        """Called with each change after its watchers: garbage collection and the like."""
        self._collections: dict[tuple[str, str], Collection] = {}
        self._history = history

    def next_revision(self) -> int:
        """Take the next revision."""
        self.revision += 1
        return self.revision

    def collection(self, group: str, plural: str) -> Collection:
        """The collection of a resource, made when first asked for."""
        found = self._collections.get((group, plural))
        if found is None:
            found = self._collections[group, plural] = Collection(self, group, plural, self._history)
        return found

    def forget(self, group: str, plural: str) -> None:
        """Drop a collection whose resource is no longer served."""
        collection = self._collections.pop((group, plural), None)
        for watcher in tuple(collection.watchers) if collection is not None else ():
            watcher.end()

    def compact(self) -> None:
        """Forget the history of every collection."""
        self.compacted_revision = self.revision
        for collection in self._collections.values():
            collection.compact()
