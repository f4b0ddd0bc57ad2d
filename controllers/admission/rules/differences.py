"""Where two pieces of JSON differ in meaning: absent, null and empty are one, and so are `1000m` and `1`."""

from collections.abc import Iterator, Mapping
from typing import Final

from model import quantity

__all__ = ["differences"]

_AMOUNTS: Final = frozenset({"requests", "limits", "capability", "deserved", "resource"})
"""Members whose members are quantities."""
_LISTS: Final = (list, tuple)


def differences(old: object, new: object, field: str) -> Iterator[str]:
    """Give the paths of the values that differ.

    Args:
        old: JSON.
        new: JSON.
        field: Path of both.
    """
    if isinstance(old, Mapping) or isinstance(new, Mapping):
        yield from _in_objects(old, new, field)
    elif isinstance(old, _LISTS) and isinstance(new, _LISTS) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{field}[{number}]")
    elif old != new and not (_is_empty(old) and _is_empty(new)):
        yield field


def _in_objects(old: object, new: object, field: str) -> Iterator[str]:
    before, after = old or {}, new or {}
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield field
        return
    are_amounts = field.rpartition(".")[2] in _AMOUNTS
    for key in sorted({*before, *after}):
        was, becomes = before.get(key), after.get(key)
        if not (are_amounts and _is_same_amount(was, becomes)):
            yield from differences(was, becomes, f"{field}.{key}")


def _is_same_amount(old: object, new: object) -> bool:
    if not isinstance(old, str | int | float) or not isinstance(new, str | int | float):
        return False
    try:
        return quantity.parse(old) == quantity.parse(new)
    except quantity.QuantityError:
        return False


def _is_empty(value: object) -> bool:
    return value is None or value in ("", [], (), {})
