"""Expectations: own writes that a store does not show yet.

A store lags behind the server. A reconciler that counts objects right after it created some counts too few, and would
create more. To prevent this, a reconciler records the server's answer and waits until its stores have caught up.

Each expectation ends: if the store shows the object, if the store has reached the version of the write, or after a
timeout. The timeout is needed because a watch may never deliver the object.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from pyroclast.controllers.runtime.operator_metrics import EXPECTATIONS_EXPIRED
from pyroclast.controllers.runtime.store import Key, Store
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.reflector import HasMetadata

__all__ = ["Expectations"]

_PATIENCE: Final = 60.0
_LOOK_AGAIN: Final = 1.0
"""Seconds between checks, in case the watch delivers nothing."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expected:
    """One own write."""

    store: Store[Any]
    resource: str
    uid: str
    version: str
    """Empty for a deletion."""
    until: float

    def is_met(self, at: Key) -> bool:
        """Return whether the store shows the write or a later state."""
        seen: HasMetadata | None = self.store.get(*at)
        if not self.version:
            return seen is None or seen.metadata.uid != self.uid or bool(seen.metadata.deletion_timestamp)
        if (
            seen is not None
            and seen.metadata.uid == self.uid
            and _reaches(seen.metadata.resource_version, self.version)
        ):
            return True
        # The store is beyond the write and shows another object or none, so the written object was deleted.
        return _reaches(self.store.version(), self.version)


class Expectations:
    """Writes that the stores must show before a key is decided again.

    They are kept in memory only, because a new process fills its stores after all writes of the previous process.
    """

    def __init__(self, *, clock: Clock | None = None, patience_seconds: float = _PATIENCE) -> None:
        """Start without expectations."""
        self._clock = clock or SystemClock()
        self._patience = patience_seconds
        self._expected: dict[Key, dict[tuple[str, Key], _Expected]] = {}

    def wrote(self, key: Key, store: Store[Any], answer: Mapping[str, Any]) -> None:
        """Expect an object that was created or changed for `key`, as in the response of the server."""
        self._expect(key, store, answer, version=str(answer["metadata"].get("resourceVersion", "")))

    def deleted(self, key: Key, store: Store[Any], item: HasMetadata) -> None:
        """Expect that an object is deleted, or has a deletion timestamp."""
        metadata = item.metadata
        identity = {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
        self._expect(key, store, {"metadata": identity}, version="")

    def wait(self, key: Key) -> float | None:
        """Return None if a key may be decided, otherwise the seconds until the next check."""
        expected = self._expected.get(key)
        if expected is None:
            return None
        for (resource, at), one in list(expected.items()):
            if one.is_met(at):
                del expected[resource, at]
            elif self._clock.monotonic() >= one.until:
                del expected[resource, at]
                EXPECTATIONS_EXPIRED.labels(resource).inc()
                _log.warning("own_write_not_seen", resource=resource, namespace=at[0], name=at[1])
        if not expected:
            del self._expected[key]
            return None
        return _LOOK_AGAIN

    def forget(self, key: Key) -> None:
        """Drop the expectations of a key whose object was deleted."""
        self._expected.pop(key, None)

    def _expect(self, key: Key, store: Store[Any], answer: Mapping[str, Any], *, version: str) -> None:
        metadata = answer["metadata"]
        at = (metadata.get("namespace", ""), metadata["name"])
        expected = _Expected(
            store=store,
            resource=store.plural,
            uid=metadata.get("uid", ""),
            version=version,
            until=self._clock.monotonic() + self._patience,
        )
        if not expected.is_met(at):
            self._expected.setdefault(key, {})[expected.resource, at] = expected


def _reaches(version: str, other: str) -> bool:
    """Return whether a resource version is the same as another or later.

    Kubernetes allows comparing versions of one kind as numbers. Other versions are compared for equality.
    """
    if version.isdecimal() and other.isdecimal():
        return int(version) >= int(other)
    return bool(version) and version == other
