"""Kubernetes objects as JSON, with the field names of their API.

Fields that the scheduler does not read are missing. The others are written even if they have their default, because the
defaults of another language may differ.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Return an object as JSON values. Empty texts, lists and maps, and absent values, are left out."""
    if isinstance(value, msgspec.Struct):
        return {
            name: plain(each)
            for attribute, name in _fields(type(value))
            if not _is_absent(each := getattr(value, attribute))
        }
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return value


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, (str, tuple, list, Mapping)) and not value)


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """Return the attributes of a struct with their JSON names."""
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(kind))
