"""Values of the wrong type: refused in the words of the real server's decoder, before anything works with them.

Each type of the table of shapes becomes, when first met, a mapping from field to what reads its value: a Python type
where that settles it, else a function. A walk goes over the fields that are there, in their order, so a sound object
costs one look a field. Only the metadata of custom kinds is read: the rest is their schema's business. A null is no
value: it is dropped, or stands for the empty value inside a list or a map.
"""

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from pyroclast.emulator.schemas.shapes import Field, Shape, shape_of
from pyroclast.emulator.statuses import bad_request
from pyroclast.emulator.tables.ages import moment

__all__ = ["json_name", "refuse_wrong_types", "wrong_type_in"]

Object = dict[str, Any]
Reader = Callable[[Any], None]
Checks = dict[str, type | Reader]

_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_QUANTITY = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?\Z")
_INTEGERS = {
    "int": (-(2**63), 2**63),
    "int32": (-(2**31), 2**31),
    "int64": (-(2**63), 2**63),
    "byte": (0, 256),
}
_PYTHON_TYPES = {"string": str, "bool": bool}
_GO_NAMES = {str: "string", bool: "bool"}
_EMPTY = {"string": "", "Quantity": "0"}
"""Meaning of a null inside a list or a map."""


class _Wrong(Exception):  # noqa: N818 - never leaves this file
    """A value that its field cannot hold; the walk adds the path on its way out."""

    def __init__(self, text: str, expected: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.expected = expected
        """Type in Go; empty if the text is complete."""
        self.struct = ""
        self.path: list[str] = []


def refuse_wrong_types(group_version: str, kind: str, tree: Object) -> None:
    """Refuse a body with a value of the wrong type.

    Raises:
        ApiError: 400.
    """
    if fault := wrong_type_in(group_version, kind, tree):
        version = group_version.rpartition("/")[2]
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {fault}')


def wrong_type_in(group_version: str, kind: str, tree: Object) -> str:
    """Name the first value of the wrong type; empty when there is none. Nulls are dropped from the tree."""
    checks = _checks_of_kind(group_version, kind)
    try:
        if checks is not None:
            _read(tree, kind, checks)
        elif tree.get("metadata") is not None:
            _object_meta(tree["metadata"])
    except _Wrong as wrong:
        if not wrong.expected:
            return wrong.text
        if not wrong.path:
            return f"{wrong.text} into Go value of type {wrong.expected}"
        return f"{wrong.text} into Go struct field {wrong.struct}.{'.'.join(wrong.path)} of type {wrong.expected}"
    return ""


def _read(tree: Object, struct: str, checks: Checks) -> None:
    nulls = []
    for key, value in tree.items():
        expected = checks.get(key)
        if expected is None or type(value) is expected:
            continue
        if value is None:
            if expected is not _read_time:  # the server writes these itself, and compares with what it wrote
                nulls.append(key)
            continue
        try:
            if isinstance(expected, type):
                raise _mismatch(value, _GO_NAMES[expected])
            expected(value)
        except _Wrong as wrong:
            wrong.struct = wrong.struct or struct
            wrong.path.insert(0, key)
            raise
    for key in nulls:
        del tree[key]


@functools.cache
def _checks_of_kind(group_version: str, kind: str) -> Checks | None:
    shape = shape_of(group_version, kind) or shape_of(f"types/{group_version}", kind)
    return None if shape is None else _checks(shape)


_made: dict[tuple[str, str], Checks] = {}


def _checks(shape: Shape) -> Checks:
    found = _made.get((shape.section, shape.name))
    if found is None:
        found = _made[shape.section, shape.name] = {}  # there before it is full: some types contain themselves
        found.update({name: _reader(entry) for name, entry in shape.fields.items()})
    return found


def _reader(entry: Field) -> type | Reader:
    single = _single(entry)
    if entry.container == "[]":
        return _list_of(entry, single)
    return _map_of(entry, single) if entry.container == "{}" else single


def _single(entry: Field) -> type | Reader:
    shape, name = entry.shape, entry.type_name
    if shape is not None:
        return _struct(shape)
    if name in _INTEGERS:
        return _integer(name)
    return _PYTHON_TYPES.get(name) or _READERS.get(name, _read_anything)


def _struct(shape: Shape) -> Reader:
    struct, checks = shape.name, _checks(shape)

    def read(value: Any) -> None:
        if type(value) is not dict:
            raise _mismatch(value, f"v1.{struct}")
        _read(value, struct, checks)

    return read


def _list_of(entry: Field, single: type | Reader) -> Reader:
    return _all_of(list, enumerate, f"[]{_go_name(entry)}", entry, single)


def _map_of(entry: Field, single: type | Reader) -> Reader:
    expected = "v1.ResourceList" if entry.type_name == "Quantity" else f"map[string]{_go_name(entry)}"
    return _all_of(dict, dict.items, expected, entry, single)


def _all_of(
    holds: type[Any],
    items: Callable[[Any], Iterable[tuple[Any, Any]]],
    expected: str,
    entry: Field,
    single: type | Reader,
) -> Reader:
    """Read each item of a list or a map, by its place or key."""
    empty = _empty_of(entry)

    def read(value: Any) -> None:
        if type(value) is not holds:
            raise _mismatch(value, expected)
        for place, item in items(value):
            if type(item) is single:
                continue
            if item is None:
                value[place] = empty()
            else:
                _read_item(item, single)

    return read


def _read_item(item: Any, single: type | Reader) -> None:
    if isinstance(single, type):
        raise _mismatch(item, _GO_NAMES[single])
    single(item)


def _empty_of(entry: Field) -> Callable[[], Any]:
    if entry.shape is not None:
        return dict
    if entry.type_name == "Strings":
        return list
    empty = _EMPTY.get(entry.type_name)
    return lambda: empty


# --- scalars ---------------------------------------------------------------------------------------------------------


def _integer(name: str) -> Reader:
    low, high = _INTEGERS[name]

    def read(value: Any) -> None:
        if type(value) is not int or not low <= value < high:
            raise _mismatch(value, "uint8" if name == "byte" else name)

    return read


def _read_quantity(value: Any) -> None:
    if type(value) is str:
        if value in _sound_quantities:
            return
        text = value
    else:
        text = str(value) if type(value) in (int, float) else ""
    if not _QUANTITY.match(text):
        raise _Wrong(_QUANTITY_RULE)
    if len(_sound_quantities) < _MOST_QUANTITIES:
        _sound_quantities.add(text)


_sound_quantities: set[str] = set()
_MOST_QUANTITIES = 4096


def _read_time(value: Any) -> None:
    _read_text(value)
    if moment(value) is None:
        raise _Wrong(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"')


def _read_text(value: Any) -> None:
    if type(value) is not str:
        raise _mismatch(value, "string")


def _read_int_or_string(value: Any) -> None:
    if type(value) is not str and (type(value) is not int or not -(2**31) <= value < 2**31):
        raise _mismatch(value, "int32")


def _read_bytes(value: Any) -> None:
    if type(value) is not str:
        raise _mismatch(value, "[]uint8")


def _read_float(value: Any) -> None:
    if type(value) not in (int, float):
        raise _mismatch(value, "float64")


def _read_strings(value: Any) -> None:
    if type(value) is not list:
        raise _mismatch(value, "[]string")
    for item in value:
        if type(item) is not str:
            raise _mismatch(item, "string")


def _read_anything(value: Any) -> None:
    del value


def _object_meta(value: Any) -> None:
    shape = shape_of("meta/v1", "ObjectMeta")
    if shape is None:
        raise KeyError("shapes.txt lacks ObjectMeta")
    _struct(shape)(value)


_READERS: dict[str, Reader] = {
    "Quantity": _read_quantity,
    "Time": _read_time,
    "MicroTime": _read_time,
    "Duration": _read_text,
    "IntOrString": _read_int_or_string,
    "bytes": _read_bytes,
    "float64": _read_float,
    "Strings": _read_strings,
}


# --- words -----------------------------------------------------------------------------------------------------------


def _mismatch(value: Any, expected: str) -> _Wrong:
    number = f" {value}" if type(value) is int and expected.startswith(("int", "uint")) else ""
    return _Wrong(f"json: cannot unmarshal {json_name(value)}{number}", expected)


def _go_name(entry: Field) -> str:
    if entry.shape is not None:
        return f"v1.{entry.type_name}"
    return {"bytes": "[]uint8", "byte": "uint8", "Strings": "[]string", "Fields": "v1.FieldsV1"}.get(
        entry.type_name, entry.type_name
    )


def json_name(value: Any) -> str:
    """Return the decoder's name for a value of a wrong type."""
    if isinstance(value, float):
        return f"number {value}"
    return {bool: "bool", str: "string", int: "number", list: "array", dict: "object"}.get(type(value), "null")
