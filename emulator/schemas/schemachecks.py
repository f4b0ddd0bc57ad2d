"""Validation by a structural schema, worded as the API server words it.

A schema becomes one function from a value and its path to the faults found; the functions of its parts are built once.
"""

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import re2

from pyroclast.emulator.schemas.fielderrors import FieldError, Reason
from pyroclast.emulator.schemas.formats import follows_format

__all__ = ["Check", "compile_check", "list_type_faults"]

Json = dict[str, Any]
Check = Callable[[Any, str], list[FieldError]]

_NOWHERE = "<nil>"
"""Field of faults that the API server reports without a place, such as those of `oneOf`."""
_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def compile_check(schema: Any) -> Check:
    """Build the function that validates values by `schema`; what is no schema finds no faults."""
    if not isinstance(schema, dict):
        return lambda _value, _path: []
    parts = list(_parts(schema))
    nullable = bool(schema.get("nullable"))

    def check(value: Any, path: str) -> list[FieldError]:
        if value is None and nullable:
            return []
        faults: list[FieldError] = []
        for part in parts:
            faults.extend(part(value, path))
        return faults

    return check


def _parts(schema: Json) -> Iterable[Check]:
    """The checks of one schema level, in the order in which their faults are reported."""
    if _types(schema):
        yield _type_check(schema)
    for build, keywords in _BUILDERS:
        if any(schema.get(keyword) is not None for keyword in keywords):
            yield build(schema)


def _invalid(path: str, value: Any, detail: str, reason: str = Reason.INVALID) -> list[FieldError]:
    return [FieldError(field=path or _NOWHERE, type=reason, value=value, detail=f"{path} in body {detail}")]


# --- types -----------------------------------------------------------------------------------------------------------


def _types(schema: Json) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    kind = schema.get("type")
    return (kind,) if isinstance(kind, str) and kind else ()


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    for python_type, name in ((str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object")):
        if isinstance(value, python_type):
            return name
    return "null"


def _type_check(schema: Json) -> Check:
    types, form = _types(schema), schema.get("format")

    def check(value: Any, path: str) -> list[FieldError]:
        found = _type_of(value)
        if found in types or (found == "integer" and "number" in types):
            return []
        if found == "number" and "integer" in types and math.isfinite(value) and value == int(value):
            return []
        if isinstance(form, str) and form and not isinstance(value, (str, list, type(None))):
            shown = "float64" if found == "number" else ""  # the API server names formats here, and knows this one
            return _invalid(path, shown, f'must be of type {form}: "{shown}"', Reason.TYPE_INVALID)
        return _invalid(path, found, f'must be of type {",".join(types)}: "{found}"', Reason.TYPE_INVALID)

    return check


# --- scalars ---------------------------------------------------------------------------------------------------------


def _enum_check(schema: Json) -> Check:
    allowed = schema["enum"] if isinstance(schema["enum"], list) else []
    shown = ", ".join(_quoted(value) for value in allowed)

    def check(value: Any, path: str) -> list[FieldError]:
        if any(value == other and isinstance(value, bool) is isinstance(other, bool) for other in allowed):
            return []
        return [
            FieldError(
                field=path or _NOWHERE, type=Reason.NOT_SUPPORTED, value=value, detail=f"supported values: {shown}"
            )
        ]

    return check


def _quoted(value: Any) -> str:
    return json.dumps(value if isinstance(value, str) else json.dumps(value), ensure_ascii=False)


def _string_check(schema: Json) -> Check:
    longest, shortest = _count(schema, "maxLength"), _count(schema, "minLength")
    source = schema.get("pattern")
    pattern = _pattern(source) if isinstance(source, str) else None

    def check(value: Any, path: str) -> list[FieldError]:
        if not isinstance(value, str):
            return []
        if longest is not None and len(value) > longest:
            detail = f"may not be more than {longest} {'byte' if longest == 1 else 'bytes'}"
            return [FieldError(field=path or _NOWHERE, type=Reason.TOO_LONG, detail=detail)]
        if shortest is not None and len(value) < shortest:
            return _invalid(path, value, f"should be at least {shortest} chars long")
        if pattern is not None and not pattern.search(value):
            return _invalid(path, value, f"should match '{source}'")
        return []

    return check


def _pattern(source: str) -> Any:
    """Read a pattern in Go's syntax; None for what is none."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(source, options=options)
    except (re2.error, UnicodeEncodeError):
        return None  # the API server refuses such a schema at once; here it allows everything


def _format_check(schema: Json) -> Check:
    name = schema["format"]

    def check(value: Any, path: str) -> list[FieldError]:
        if isinstance(value, str) and isinstance(name, str) and not follows_format(name, value):
            return _invalid(path, value, f"must be of type {name}: {json.dumps(value)}", Reason.TYPE_INVALID)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name in _RANGES:
            low, high = _RANGES[name]
            if not low <= value <= high or value % 1:
                detail = f"Checked value must be of type integer with format {name} in {path}"
                return [FieldError(field=_NOWHERE, type=Reason.INVALID, value="", detail=detail)]
        return []

    return check


def _number_check(schema: Json) -> Check:
    bounds = list(_bounds(schema))
    factor = _number(schema, "multipleOf")

    def check(value: Any, path: str) -> list[FieldError]:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return []
        faults: list[FieldError] = []
        for holds, words in bounds:
            if not holds(value):
                faults.extend(_invalid(path, value, words))
        if factor and value % factor:
            faults.extend(_invalid(path, value, f"should be a multiple of {factor}"))
        return faults

    return check


def _bounds(schema: Json) -> Iterable[tuple[Callable[[float], bool], str]]:
    high, low = _number(schema, "maximum"), _number(schema, "minimum")
    if high is not None:
        if schema.get("exclusiveMaximum"):
            yield (lambda value: value < high), f"should be less than {high}"
        else:
            yield (lambda value: value <= high), f"should be less than or equal to {high}"
    if low is not None:
        if schema.get("exclusiveMinimum"):
            yield (lambda value: value > low), f"should be greater than {low}"
        else:
            yield (lambda value: value >= low), f"should be greater than or equal to {low}"


def _number(schema: Json, keyword: str) -> float | None:
    value = schema.get(keyword)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _count(schema: Json, keyword: str) -> int | None:
    value = _number(schema, keyword)
    return None if value is None else int(value)


# --- lists and objects -----------------------------------------------------------------------------------------------


def _list_check(schema: Json) -> Check:
    most, fewest = _count(schema, "maxItems"), _count(schema, "minItems")
    inner = compile_check(schema.get("items"))

    def check(value: Any, path: str) -> list[FieldError]:
        if not isinstance(value, list):
            return []
        faults: list[FieldError] = []
        for place, item in enumerate(value):
            faults.extend(inner(item, f"{path}[{place}]"))
        if fewest is not None and len(value) < fewest:
            faults.extend(_invalid(path, len(value), f"should have at least {fewest} items"))
        if most is not None and len(value) > most:
            faults.append(_too_many(path, len(value), most))
        if schema.get("uniqueItems") and _repeated(value):
            faults.extend(_invalid(path, "", "shouldn't contain duplicates"))
        return faults

    return check


def _too_many(path: str, count: int, most: int) -> FieldError:
    detail = f"must have at most {most} {'item' if most == 1 else 'items'}"
    return FieldError(field=path or _NOWHERE, type=Reason.TOO_MANY, value=count, detail=detail)


def _object_check(schema: Json) -> Check:
    most, fewest = _count(schema, "maxProperties"), _count(schema, "minProperties")
    properties = schema.get("properties")
    fields = {key: compile_check(inner) for key, inner in properties.items()} if isinstance(properties, dict) else {}
    required = [key for key in _list(schema, "required") if isinstance(key, str)]
    extra = schema.get("additionalProperties")
    free = compile_check(extra) if isinstance(extra, dict) else None

    def check(value: Any, path: str) -> list[FieldError]:
        if not isinstance(value, dict):
            return []
        faults = [FieldError(field=_child(path, key), type=Reason.REQUIRED) for key in required if key not in value]
        if fewest is not None and len(value) < fewest:
            faults.extend(_invalid(path, len(value), f"should have at least {fewest} properties"))
        if most is not None and len(value) > most:
            faults.append(_too_many(path, len(value), most))
        for key, item in value.items():
            inner = fields.get(key, free)
            if inner is not None:
                faults.extend(inner(item, _child(path, key)))
        return faults

    return check


def _child(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def _list(schema: Json, keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


# --- combinations ----------------------------------------------------------------------------------------------------


def _combination_check(schema: Json) -> Check:
    any_of, one_of, all_of = (
        [compile_check(part) for part in _list(schema, keyword)] for keyword in ("anyOf", "oneOf", "allOf")
    )
    if schema.get("x-kubernetes-int-or-string"):
        any_of = []  # it only repeats the two types
    excluded = compile_check(schema["not"]) if isinstance(schema.get("not"), dict) else None

    def check(value: Any, path: str) -> list[FieldError]:
        faults: list[FieldError] = []
        if any_of:
            outcomes = [part(value, path) for part in any_of]
            if all(outcomes):
                faults += [*_combined(path, "must validate at least one schema (anyOf)"), *min(outcomes, key=len)]
        if one_of:
            faults += _one_of_faults([part(value, path) for part in one_of], path)
        broken = [fault for part in all_of for fault in part(value, path)]
        if broken:
            faults += [*broken, *_combined(path, "must validate all the schemas (allOf)")]
        if excluded is not None and not excluded(value, path):
            faults += _combined(path, "must not validate the schema (not)")
        return faults

    return check


def _one_of_faults(outcomes: list[list[FieldError]], path: str) -> list[FieldError]:
    valid = sum(not outcome for outcome in outcomes)
    if valid == 1:
        return []
    words = "must validate one and only one schema (oneOf)."
    if valid:
        return _combined(path, f"{words} Found {valid} valid alternatives")
    return [*_combined(path, f"{words} Found none valid"), *min(outcomes, key=len)]


def _combined(path: str, words: str) -> list[FieldError]:
    return [FieldError(field=_NOWHERE, type=Reason.INVALID, value="", detail=f'"{path}" {words}')]


_BUILDERS: tuple[tuple[Callable[[Json], Check], tuple[str, ...]], ...] = (
    (_combination_check, ("anyOf", "oneOf", "allOf", "not")),
    (_string_check, ("maxLength", "minLength", "pattern")),
    (_format_check, ("format",)),
    (_number_check, ("maximum", "minimum", "multipleOf")),
    (_list_check, ("items", "maxItems", "minItems", "uniqueItems")),
    (_enum_check, ("enum",)),
    (_object_check, ("properties", "additionalProperties", "required", "maxProperties", "minProperties")),
)


# --- sets and maps ---------------------------------------------------------------------------------------------------


def list_type_faults(value: Any, schema: Any, path: str) -> list[FieldError]:
    """Name the repeated items of lists that are sets, or maps by their keys (`x-kubernetes-list-type`)."""
    if not isinstance(schema, dict):
        return []
    faults: list[FieldError] = []
    if isinstance(value, dict):
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        for key, item in value.items():
            if key in known:
                faults += list_type_faults(item, known[key], _child(path, key))
            else:
                faults += list_type_faults(item, schema.get("additionalProperties"), f"{path}[{key}]")
    elif isinstance(value, list):
        faults += _uniqueness_faults(value, schema, path)
        for place, item in enumerate(value):
            faults += list_type_faults(item, schema.get("items"), f"{path}[{place}]")
    return faults


def _uniqueness_faults(value: list[Any], schema: Json, path: str) -> list[FieldError]:
    keys: list[Any] = value
    if schema.get("x-kubernetes-list-type") == "map":
        for place, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                detail = "must be an object for an array of list-type map"
                return [FieldError(field=f"{path}[{place}]", type=Reason.INVALID, value=item, detail=detail)]
        names = _list(schema, "x-kubernetes-list-map-keys")
        keys = [{name: item[name] for name in names if name in item} if item else {} for item in value]
    elif schema.get("x-kubernetes-list-type") != "set":
        return []
    return [FieldError(field=f"{path}[{place}]", type=Reason.DUPLICATE, value=keys[place]) for place in _repeated(keys)]


def _repeated(values: list[Any]) -> list[int]:
    """Places at which a value appears for the second time."""
    seen: dict[str, int] = {}
    places = []
    for place, value in enumerate(values):
        text = json.dumps(value, sort_keys=True, default=str)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            places.append(place)
    return places
