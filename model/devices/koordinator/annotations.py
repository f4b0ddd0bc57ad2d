"""Annotations of Koordinator about devices: fields without a value count as absent, and errors name the path."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from pyroclast.model.annotations import read_json

__all__ = ["read_annotation"]

T = TypeVar("T")


def read_annotation(annotations: Mapping[str, str], key: str, kind: type[T]) -> T | None:
    """Return the decoded value of an annotation; None if it is absent.

    Raises:
        ValueError: It is not JSON, or a value in it is invalid. The message names the annotation and the path.
    """
    text = annotations.get(key)
    if text is None:
        return None
    try:
        return msgspec.convert(_without_nulls(read_json(text, Any)), kind)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _without_nulls(raw: Any) -> Any:
    """Remove the fields without a value, at all levels."""
    if isinstance(raw, dict):
        return {name: _without_nulls(value) for name, value in raw.items() if value is not None}
    return [_without_nulls(each) for each in raw] if isinstance(raw, list) else raw
