"""Invalid condition: faults of an object that bypassed admission.

One event reports the faults while they last. Kinds with conditions also have the condition `Invalid`: True while the
object has faults, False after they are fixed, and absent from objects that never had faults.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.store import Key, key_of
from pyroclast.kube.api.resources import Resource
from pyroclast.kube.reflector import HasMetadata
from pyroclast.model.api.meta import Wire
from pyroclast.model.wire.times import time_text, unix_seconds

__all__ = ["INVALID", "FaultReporter", "grace_left", "renewed_conditions"]

T = TypeVar("T", bound=HasMetadata)

INVALID: Final = "Invalid"
"""Reason of events, and type of conditions."""
_VALID: Final = "Valid"
_GRACE_SECONDS: Final = 2.0
"""Time before the faults of a new object are reported. Objects that it names may arrive later, or by another watch."""


class FaultReporter(Generic[T]):
    """Reports the faults of the objects of a kind, each of them once."""

    def __init__(self, operator: Operator, resource: Resource[T]) -> None:
        """Record events through `operator`, about objects of `resource`."""
        self._operator, self._resource = operator, resource
        self._reported: dict[Key, tuple[str, str]] = {}
        """UIDs and last reported faults."""

    def report(self, item: T, message: str) -> None:
        """Report the faults of an object if they have changed. An empty text means no faults."""
        key, state = key_of(item), (item.metadata.uid, message)
        if message and self._reported.get(key) != state:
            self._operator.record(self._resource, item, "Warning", INVALID, message)
        if message:
            self._reported[key] = state
        else:
            self._reported.pop(key, None)

    def forget(self, key: Key) -> None:
        """Drop the reported faults of a deleted object."""
        self._reported.pop(key, None)

    def keep(self, keys: Iterable[Key]) -> None:
        """Drop the reported faults of all other objects."""
        self._reported = {key: self._reported[key] for key in keys if key in self._reported}


def grace_left(created: str, now: float) -> float:
    """Return the seconds until the faults of an object may be reported, 0 if they may be reported now.

    Args:
        created: Creation time by the server's clock. If that clock is far from ours, there is no grace period.
        now: Seconds since 1970.
    """
    try:
        left = unix_seconds(created) + _GRACE_SECONDS - now
    except ValueError:
        return 0.0
    return left if 0.0 < left <= 2 * _GRACE_SECONDS else 0.0


def renewed_conditions(conditions: Sequence[Wire], message: str, now: float) -> list[dict[str, Any]] | None:
    """Return the conditions with the current faults, None if nothing changes.

    Args:
        conditions: All conditions of the object.
        message: Faults of the object, empty for none.
        now: Seconds since 1970.
    """
    plain: list[dict[str, Any]] = [msgspec.to_builtins(condition) for condition in conditions]
    known = next((each for each in plain if each["type"] == INVALID), None)
    if known is None and not message:
        return None
    finding = {
        "type": INVALID,
        "status": "True" if message else "False",
        "reason": INVALID if message else _VALID,
        "message": message,
    }
    if known is not None and all(known.get(name, "") == value for name, value in finding.items()):
        return None
    is_same = known is not None and known["status"] == finding["status"]
    since = known["lastTransitionTime"] if known is not None and is_same else time_text(now)
    others = [each for each in plain if each["type"] != INVALID]
    return [*others, {**finding, "lastTransitionTime": since}]
