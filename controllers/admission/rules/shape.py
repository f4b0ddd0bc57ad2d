"""Shape: converts objects of users to structs. A wrong type is a fault with its path, not an error."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from pyroclast.controllers.admission.faults import Fault
from pyroclast.model.nulls import without_nulls

__all__ = ["member", "read"]

T = TypeVar("T")

_WHOLE: Final = "(whole object)"
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def read(kind: type[T], value: object, field: str = "") -> T | Fault:
    """Convert JSON to a struct.

    Args:
        kind: The struct.
        value: Its JSON, or the struct itself, which is returned.
        field: Path of the JSON in the object.
    """
    if isinstance(value, kind):
        return value
    try:
        plain = without_nulls(value)
    except ValueError:
        return Fault(field=field or _WHOLE, rule="is nested too deeply")
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        inside = path.rstrip("`").lstrip(".")
        where = f"{field}{'' if inside.startswith('[') or not (field and inside) else '.'}{inside}"
        return Fault(field=where or _WHOLE, value=_found(plain, inside), rule=_lowered(message))


def member(value: object, *path: str) -> Any:
    """Return the value at a path of keys, None if it is absent."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _found(value: object, path: str) -> object:
    """Return the value at a path in msgspec's notation, None if the path does not identify one."""
    for name, index in _STEP.findall(path):
        if name and isinstance(value, Mapping):
            value = value.get(name)
        elif index and isinstance(value, Sequence) and int(index) < len(value):
            value = value[int(index)]
        else:
            return None
    return value


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
