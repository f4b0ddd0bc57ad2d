"""Write queue: one write per object, due times per object, fair over namespaces.

    put ──▶ ready ──take──▶ under way ──done──▶ (out)
              ▲                 │
              │                 └─ delay ──▶ delayed, for a back-off of this object alone
              └──── its time ────────────────────┘

An object is in each place at most once; a newer write replaces the one that waits. Namespaces take turns, and each has
a share of the workers: two if its last write failed, and half of the workers for all such namespaces together. A
webhook that fails for the pods of one namespace, or does not answer, therefore delays only the writes of that
namespace.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from pyroclast.kube.api.backoff import Backoff

__all__ = ["WriteQueue"]

_FAILING_SHARE: Final = 2
"""Writes at a time of a namespace whose last write failed: enough to detect that it works again."""


class Write(Protocol):
    """A write, as the queue reads it."""

    @property
    def key(self) -> Hashable:
        """Identity of the object."""
        ...

    @property
    def namespace(self) -> str:
        """Namespace of the object; empty for objects of the cluster."""
        ...


W = TypeVar("W", bound=Write)


@dataclass(slots=True)
class _Namespace(Generic[W]):
    """Writes of one namespace, by object."""

    ready: dict[Hashable, W] = field(default_factory=dict)
    """Longest waiting first."""
    under_way: dict[Hashable, W | None] = field(default_factory=dict)
    """Objects that are being written, each with the newer write that waits for the end of that."""
    dropped: set[Hashable] = field(default_factory=set)
    """Those of them that are not to be written again if they fail."""
    delayed: dict[Hashable, W] = field(default_factory=dict)
    backoffs: dict[Hashable, Backoff] = field(default_factory=dict)
    """Back-offs of the objects whose last write failed."""
    is_failing: bool = False
    """The last write that ended failed, and may succeed later."""

    def __len__(self) -> int:
        """Count the writes that are not done."""
        return len(self.ready) + len(self.under_way) + len(self.delayed)


class WriteQueue(Generic[W]):
    """Writes that wait for a worker or for their time."""

    def __init__(self, *, share: int, failing: int = 6) -> None:
        """Begin empty.

        Args:
            share: Most writes at a time of one namespace.
            failing: Most writes at a time of all namespaces whose last write failed.
        """
        self._share, self._failing = share, failing
        self._namespaces: dict[str, _Namespace[W]] = {}
        """Namespaces with writes that are not done, next turn first."""

    def __len__(self) -> int:
        """Count the writes that are not done, those under way included."""
        return sum(map(len, self._namespaces.values()))

    def put(self, write: W) -> None:
        """Add a write in place of the one that waits for the same object; that one's place and due time stay."""
        space = self._namespaces.setdefault(write.namespace, _Namespace())
        space.dropped.discard(write.key)
        for writes in (space.under_way, space.delayed):
            if write.key in writes:
                writes[write.key] = write
                return
        space.ready[write.key] = write

    def waiting(self, key: Hashable, namespace: str) -> W | None:
        """Return the write that waits for an object, also behind one that is under way."""
        space = self._namespaces.get(namespace)
        if space is None:
            return None
        return space.ready.get(key) or space.delayed.get(key) or space.under_way.get(key)

    def is_under_way(self, key: Hashable, namespace: str) -> bool:
        """Return whether an object is being written."""
        return namespace in self._namespaces and key in self._namespaces[namespace].under_way

    def drop(self, key: Hashable, namespace: str) -> None:
        """Remove the write that waits for an object; one that is under way ends, and is not tried again."""
        space = self._namespaces.get(namespace)
        if space is None:
            return
        space.ready.pop(key, None)
        if key in space.under_way:
            space.under_way[key] = None
            space.dropped.add(key)
        else:
            space.delayed.pop(key, None)
            space.backoffs.pop(key, None)
        self._forget_empty(namespace, space)

    def take(self) -> W | None:
        """Return the next write, now under way; None if none is ready or every namespace has its share."""
        for name, space in self._namespaces.items():
            if not space.ready or len(space.under_way) >= (_FAILING_SHARE if space.is_failing else self._share):
                continue
            if space.is_failing and self._failing_under_way() >= self._failing:
                continue
            key = next(iter(space.ready))
            write = space.ready.pop(key)
            space.under_way[key] = None
            self._namespaces[name] = self._namespaces.pop(name)  # to the end: namespaces take turns
            return write
        return None

    def _failing_under_way(self) -> int:
        return sum(len(space.under_way) for space in self._namespaces.values() if space.is_failing)

    def done(self, write: W) -> None:
        """Note the end of a write that is not to be tried again: it was written, or refused for good."""
        space = self._namespaces[write.namespace]
        space.backoffs.pop(write.key, None)
        space.is_failing = False
        space.dropped.discard(write.key)
        newer = space.under_way.pop(write.key)
        if newer is not None:
            space.ready[write.key] = newer
        self._forget_empty(write.namespace, space)

    def delay(self, write: W, *, at_least: float) -> tuple[float, int] | None:
        """Note that a write failed and is to be tried again, or the newer one in its place.

        Args:
            write: The write.
            at_least: Seconds that the server asked to wait.

        Returns:
            Seconds after which `release` is due, and how many writes of the object failed in a row; None if the
            write was dropped meanwhile.
        """
        space = self._namespaces[write.namespace]
        space.is_failing = True
        if write.key in space.dropped:
            space.dropped.discard(write.key)
            space.under_way.pop(write.key)
            space.backoffs.pop(write.key, None)
            self._forget_empty(write.namespace, space)
            return None
        space.delayed[write.key] = space.under_way.pop(write.key) or write
        backoff = space.backoffs.setdefault(write.key, Backoff())
        return backoff.next_wait(at_least), backoff.failures

    def release(self, write: W) -> None:
        """Make the delayed write of the same object ready."""
        space = self._namespaces.get(write.namespace)
        delayed = None if space is None else space.delayed.pop(write.key, None)
        if space is not None and delayed is not None:
            space.ready[write.key] = delayed

    def _forget_empty(self, name: str, space: _Namespace[W]) -> None:
        if not space:
            self._namespaces.pop(name, None)
