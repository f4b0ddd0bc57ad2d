"""Expectations: has a store shown our own writes yet?

A store lags behind the server, so whoever counts what is there right after he made some counts too few and makes more.
Where that would do harm, a reconciler notes what the server answered, and does not decide before its stores have caught
up. Each expectation ends: with the object, with a store that stands at the version of the write or beyond, or with its
time, since an answer may tell of what no watch ever will.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from pyroclast.controllers.runtime.metrics import EXPECTATIONS_EXPIRED
from pyroclast.controllers.runtime.store import Key, Store
from pyroclast.kube.clock import Clock, SystemClock
from pyroclast.kube.reflector import HasMetadata

__all__ = ["Expectations"]

_PATIENCE: Final = 60.0
_LOOK_AGAIN: Final = 1.0
"""The watch wakes whoever waits; this is for the case that it never does."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expected:
    """One write of ours."""

    store: Store[Any]
    resource: str
    uid: str
    version: str
    """Empty for a deletion."""
    until: float

    def is_met(self, at: Key) -> bool:
        """Tell whether the store shows the write, or what came after it."""
        seen: HasMetadata | None = self.store.get(*at)
        if not self.version:
            return seen is None or seen.metadata.uid != self.uid or bool(seen.metadata.deletion_timestamp)
        if (
            seen is not None
            and seen.metadata.uid == self.uid
            and _reaches(seen.metadata.resource_version, self.version)
        ):
            return True
        # A store beyond the write that shows another object, or none: ours came and went.
        return _reaches(self.store.version(), self.version)


class Expectations:
    """What the stores must show before each key may be decided about again; held in memory, and that is enough.

    A process that starts anew has stores filled after all writes of the one before.
    """

    def __init__(self, *, clock: Clock | None = None, patience_seconds: float = _PATIENCE) -> None:
        """Expect nothing."""
        self._clock = clock or SystemClock()
        self._patience = patience_seconds
        self._expected: dict[Key, dict[tuple[str, Key], _Expected]] = {}

    def wrote(self, key: Key, store: Store[Any], answer: Mapping[str, Any]) -> None:
        """Expect an object that was made or changed for `key`, as the server answered."""
        self._expect(key, store, answer, version=str(answer["metadata"].get("resourceVersion", "")))

    def deleted(self, key: Key, store: Store[Any], item: HasMetadata) -> None:
        """Expect that an object is gone, or marked as going."""
        metadata = item.metadata
        identity = {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
        self._expect(key, store, {"metadata": identity}, version="")

    def wait(self, key: Key) -> float | None:
        """Return None when a key may be decided about, else the seconds after which to ask again."""
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
        """Expect nothing more for a key: what it stood for is gone."""
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
    """Tell whether a resource version is the same as another or later.

    Kubernetes lets versions of one kind be compared as numbers; a server whose versions are none is told apart by
    equality alone.
    """
    if version.isdecimal() and other.isdecimal():
        return int(version) >= int(other)
    return bool(version) and version == other
