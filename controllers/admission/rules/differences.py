"""Differences: fields with different values in two JSON objects, after normalization.

Null equals absent. An empty list equals absent. Other fields that may be left out if they are empty, 0 or false are
listed, because elsewhere an empty object has a meaning, such as a selector of everything. `1000m` equals `1`.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from pyroclast.model import quantity

__all__ = ["differences"]

_AMOUNTS: Final = frozenset({"requests", "limits", "capability", "deserved", "resource"})
"""Fields whose values are maps of quantities."""
_EMPTY: Final = frozenset(
    {"annotations", "labels", "limits", "matchLabels", "metadata", "nodeSelector", "overhead", "plugins", "requests"}
    | {"resources", "spec", "emptyDir"}
)
"""Fields that are equal if they are empty and if they are absent."""
_MAPS: Final = frozenset(
    {"annotations", "labels", "limits", "matchLabels", "nodeSelector", "overhead", "plugins", "requests"}
)
"""Maps with keys of users, in which an empty value is not absent."""
_ZERO: Final = frozenset(
    {"failureThreshold", "hostIPC", "hostNetwork", "hostPID", "hostPort", "initialDelaySeconds", "optional"}
    | {"periodSeconds", "readOnly", "stdin", "stdinOnce", "successThreshold", "timeoutSeconds", "tty", "maxRetry"}
)
"""Fields that are equal if they are 0 or false and if they are absent."""
_LISTS: Final = (list, tuple)
_LONGEST_KEY: Final = 317
"""Maximum length of a name in Kubernetes with its prefix."""


def differences(old: object, new: object, field: str) -> Iterator[str]:
    """Yield the paths of the values that differ.

    Args:
        old: JSON.
        new: JSON.
        field: Path of both.
    """
    key = field.rpartition(".")[2]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _in_objects(old, new, field)
    elif isinstance(old, Mapping | None) and isinstance(new, Mapping | None) and key in _EMPTY:
        yield from _in_objects(old or {}, new or {}, field)
    elif isinstance(old, _LISTS) and isinstance(new, _LISTS) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{field}[{number}]")
    elif old != new and not (_is_left_out(old, key) and _is_left_out(new, key)):
        yield field


def _in_objects(old: Mapping[str, object], new: Mapping[str, object], field: str) -> Iterator[str]:
    name = field.rpartition(".")[2]
    for key in sorted({*old, *new}):
        was, becomes = old.get(key), new.get(key)
        if name in _MAPS and (key in old) != (key in new):
            yield f"{field}.{_short(key)}"
        elif not (name in _AMOUNTS and _is_same_amount(was, becomes)):
            yield from differences(was, becomes, f"{field}.{_short(key)}")


def _short(key: str) -> str:
    """Return a key as a part of paths. With keys of a million characters each item of a list would cost as much."""
    return key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"


def _is_same_amount(old: object, new: object) -> bool:
    if not isinstance(old, str | int | float) or not isinstance(new, str | int | float):
        return False
    try:
        return quantity.parse(old) == quantity.parse(new)
    except quantity.QuantityError:
        return False


def _is_left_out(value: object, key: str) -> bool:
    return value is None or value in ("", [], ()) or (key in _ZERO and not value)
