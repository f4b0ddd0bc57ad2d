"""Kubernetes objects as JSON, by the names of their API.

What the scheduler does not read of an object it does not have, so it is not in here either. What it has is written out
even where it is the default of its field: another reader's default is that of its own language.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Return an object as JSON has it: empty texts, lists and maps, and what is absent, are left out."""
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
    """Return the attributes of a struct with their names in JSON."""
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(kind))
