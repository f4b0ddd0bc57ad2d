"""Annotations of Koordinator about devices: fields without a value count as absent, and errors name the path."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from pyroclast.model.annotations import read_json

__all__ = ["read_annotation"]

T = TypeVar("T")

_DEEPEST: Final = 32
"""Maximum number of levels of lists and objects. Python's own limit depends on the stack of the caller."""


def read_annotation(annotations: Mapping[str, str], key: str, kind: type[T]) -> T | None:
    """Return the decoded value of an annotation; None if it is absent.

    Raises:
        ValueError: It is not JSON, is nested too deeply, or has an invalid value. The message names the annotation and
            the path.
    """
    text = annotations.get(key)
    if text is None:
        return None
    try:
        return msgspec.convert(_without_nulls(read_json(text, Any), 1), kind)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _without_nulls(raw: Any, level: int) -> Any:
    """Remove the fields without a value, at all levels."""
    if not isinstance(raw, (dict, list)):
        return raw
    if level > _DEEPEST:
        raise ValueError("it is nested too deeply")
    if isinstance(raw, dict):
        return {name: _without_nulls(value, level + 1) for name, value in raw.items() if value is not None}
    return [_without_nulls(each, level + 1) for each in raw]
