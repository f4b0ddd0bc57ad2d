"""What a strict reader finds wrong with an object of a built-in kind: unknown fields, values of the wrong type.

Kinds outside the table of shapes have no faults.
"""

import re
from collections.abc import Iterator
from typing import Any

from emulator.ages import moment
from emulator.shapes import Field, Shape, shape_of, shape_of_kind

__all__ = ["builtin_type_fault", "builtin_unknown_fields", "prune_builtin"]

Json = dict[str, Any]

_OWN_FIELDS = ("apiVersion", "kind")
_QUANTITY = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?\Z")
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_INTEGERS = {"int": (-(2**63), 2**63), "int32": (-(2**31), 2**31), "int64": (-(2**63), 2**63), "byte": (0, 256)}
_GO_NAMES = {"bytes": "[]uint8", "byte": "uint8", "Strings": "[]string", "Fields": "v1.FieldsV1"}


def builtin_unknown_fields(kind: str, obj: Json) -> list[str]:
    """Name the fields that a built-in kind does not have; the object stays as it is."""
    return sorted(path for _holder, _key, path in _unknown(obj, _shape(kind, obj), "", root=True))


def prune_builtin(kind: str, obj: Json) -> list[str]:
    """Drop the fields that a built-in kind does not have, in place, and name them."""
    found = list(_unknown(obj, _shape(kind, obj), "", root=True))
    for holder, key, _path in found:
        holder.pop(key, None)  # YAML aliases make one object stand in two places
    return sorted(path for _holder, _key, path in found)


def builtin_type_fault(kind: str, obj: Json) -> str:
    """Name the first value of the wrong type, as the API server's decoder does; empty when there is none."""
    return next(_type_faults(obj, _shape(kind, obj), ""), "")


def _shape(kind: str, obj: Json) -> Shape | None:
    version = obj.get("apiVersion")
    return shape_of(version, kind) if isinstance(version, str) else shape_of_kind(kind)


# --- unknown fields --------------------------------------------------------------------------------------------------


def _unknown(value: Any, shape: Shape | None, path: str, *, root: bool = False) -> Iterator[tuple[Json, str, str]]:
    if shape is None or not isinstance(value, dict):
        return
    for key, inner in value.items():
        place = f"{path}.{key}" if path else key
        entry = shape.fields.get(key)
        if entry is not None:
            for item, item_path in _values(inner, entry, place):
                yield from _unknown(item, entry.shape, item_path)
        elif not (root and key in _OWN_FIELDS):
            yield value, key, place


def _values(value: Any, entry: Field, path: str) -> Iterator[tuple[Any, str]]:
    """The single values of a field, with their paths."""
    if entry.container == "[]":
        items = value if isinstance(value, list) else []
        yield from ((item, f"{path}[{place}]") for place, item in enumerate(items))
    elif entry.container == "{}":
        pairs = value if isinstance(value, dict) else {}
        yield from ((item, f"{path}.{key}") for key, item in pairs.items())
    else:
        yield value, path


# --- types -----------------------------------------------------------------------------------------------------------


def _type_faults(value: Any, shape: Shape | None, path: str) -> Iterator[str]:
    if shape is None or not isinstance(value, dict):
        return
    for key, entry in shape.fields.items():
        if value.get(key) is None:
            continue
        place = f"{path}.{key}" if path else key
        wanted = {"[]": list, "{}": dict}.get(entry.container)
        if wanted is not None and not isinstance(value[key], wanted):
            yield _mismatch(value[key], shape, place, entry.container.replace("{}", "map[string]") + _go_name(entry))
        for item, _item_path in _values(value[key], entry, place):
            yield from _value_faults(item, entry, shape, place)


def _value_faults(value: Any, entry: Field, shape: Shape, place: str) -> Iterator[str]:
    if value is None:
        return
    if entry.shape is not None:
        if isinstance(value, dict):
            yield from _type_faults(value, entry.shape, place)
        else:
            yield _mismatch(value, shape, place, _go_name(entry))
        return
    if entry.type_name == "Quantity":
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not _QUANTITY.match(str(value)):
            yield _QUANTITY_RULE
    elif not _fits(value, entry.type_name):
        if entry.type_name in ("Time", "MicroTime") and isinstance(value, str):
            yield f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"'
        else:
            yield _mismatch(value, shape, place, _go_name(entry))


def _fits(value: Any, type_name: str) -> bool:
    if type_name in ("string", "bytes", "Duration"):
        return isinstance(value, str)
    if type_name in ("Time", "MicroTime"):
        return moment(value) is not None
    if type_name == "bool":
        return isinstance(value, bool)
    if type_name == "Strings":
        return isinstance(value, list)
    if type_name == "IntOrString":
        return isinstance(value, (str, int)) and not isinstance(value, bool)
    if type_name == "float64":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if type_name in _INTEGERS:
        low, high = _INTEGERS[type_name]
        return (
            isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0 and low <= value < high
        )
    return True


def _mismatch(value: Any, shape: Shape, place: str, wanted: str) -> str:
    return f"json: cannot unmarshal {_json_name(value)} into Go struct field {shape.name}.{place} of type {wanted}"


def _go_name(entry: Field) -> str:
    return f"v1.{entry.type_name}" if entry.shape is not None else _GO_NAMES.get(entry.type_name, entry.type_name)


def _json_name(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return f"number {value}"
    return {str: "string", int: "number", list: "array", dict: "object"}.get(type(value), "null")
