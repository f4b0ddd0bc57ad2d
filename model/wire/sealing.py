"""Sealing: make the mappings inside a wire object read-only, because several readers share them."""

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec.structs import fields, force_setattr

from pyroclast.model.sealed import SealedDict

__all__ = ["seal"]


def seal(struct: msgspec.Struct) -> None:
    """Seal all mappings inside a struct, in place. Their contents stay the same."""
    for name in _parts(type(struct)):
        _seal_part(struct, name, getattr(struct, name))


def _seal_part(struct: msgspec.Struct, name: str, value: Any) -> None:
    if type(value) is dict:
        for each in value.values():
            _seal_one(each)
        force_setattr(struct, name, SealedDict(value))
    elif isinstance(value, tuple):
        for each in value:
            _seal_one(each)
    else:
        _seal_one(value)


def _seal_one(value: Any) -> None:
    if isinstance(value, msgspec.Struct):
        seal(value)


@cache
def _parts(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the fields of a kind of struct that may hold mappings; labels and annotations are frozen otherwise."""
    return tuple(each.name for each in fields(kind) if _may_hold(each.type))


def _may_hold(kind: Any) -> bool:
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return True
    if origin in (types.UnionType, Union, tuple):
        return any(map(_may_hold, get_args(kind)))
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct) and bool(_parts(kind))
