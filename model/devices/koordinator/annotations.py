"""JSON annotations: fields without a value count as absent, and errors name the path."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

__all__ = ["read_json"]

T = TypeVar("T")


def read_json(annotations: Mapping[str, str], key: str, kind: type[T]) -> T | None:
    """Return the decoded value of an annotation; None if it is absent.

    Raises:
        ValueError: It is not JSON, or a value in it is invalid. The message names the annotation and the path.
    """
    text = annotations.get(key)
    if text is None:
        return None
    try:
        return msgspec.convert(_said(msgspec.json.decode(text)), kind)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"{key}: {error}") from None


def _said(raw: Any) -> Any:
    """Leave out fields without a value, wherever they stand."""
    if isinstance(raw, dict):
        return {name: _said(value) for name, value in raw.items() if value is not None}
    return [_said(each) for each in raw] if isinstance(raw, list) else raw
