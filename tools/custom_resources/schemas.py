"""The structural OpenAPI v3 schema of a field's type.

Structs become objects, tuples arrays, mappings objects with free keys; `FieldRules` in annotations become the
keywords of the same names. A field without default is required, and one that its rules say is.
"""

from collections.abc import Mapping
from dataclasses import asdict
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from pyroclast.model.api.meta import Wire
from pyroclast.model.api.rules import FieldRules, Json
from tools.custom_resources.descriptions import describe_fields, describe_struct

__all__ = ["Schema", "schema_of_struct"]

Schema = dict[str, Any]

_ORDER = (
    "description",
    "type",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "format",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "x-kubernetes-validations",
    "required",
    "properties",
    "additionalProperties",
    "items",
)
"""Keywords in the order of the files: the most important ones first, the long ones last."""

_PLAIN_TYPES: Mapping[Any, str] = {str: "string", int: "integer", bool: "boolean"}


def schema_of_struct(struct: type[Wire], description: str = "") -> Schema:
    """Return the schema of an object.

    Args:
        struct: Struct of the object.
        description: Description of the object in this place; the struct's own if empty.
    """
    hints = get_type_hints(struct, include_extras=True)
    described = describe_fields(struct)
    properties, required = {}, []
    for field in msgspec.structs.fields(struct):
        text = described.get(field.name, "")
        properties[field.encode_name] = _schema_of_field(hints[field.name], field.default, text)
        if field.required or _stripped(hints[field.name])[1].is_required:
            required.append(field.encode_name)
    return _in_order(
        {
            "description": description or describe_struct(struct),
            "type": "object",
            **_map_type(struct),
            "required": sorted(required),
            "properties": {name: properties[name] for name in sorted(properties)},
        }
    )


def _map_type(struct: type[Wire]) -> Schema:
    """Return the keyword for server-side apply if the object is replaced as one value."""
    return {"x-kubernetes-map-type": "atomic"} if getattr(struct, "is_atomic", False) else {}


def _schema_of_field(hint: Any, default: Any, description: str) -> Schema:
    plain, rules = _stripped(hint)
    schema = _schema_of_type(plain, rules, description)
    if rules.is_defaulted:
        schema["default"] = default
    return _in_order(schema)


def _stripped(hint: Any) -> tuple[Any, FieldRules]:
    """Return a type without annotations, its rules, and without None, which in JSON means absent."""
    if get_origin(hint) is Annotated:
        inner, *rules_of_type = get_args(hint)
        plain, rules = _stripped(inner)
        return plain, FieldRules.merged([rules, *(rule for rule in rules_of_type if isinstance(rule, FieldRules))])
    if get_origin(hint) in {Union, UnionType} and NoneType in get_args(hint):
        others = [part for part in get_args(hint) if part is not NoneType]
        return _stripped(others[0]) if len(others) == 1 else (Union[tuple(others)], FieldRules())  # noqa: UP007 - made at run time
    return hint, FieldRules()


def _schema_of_type(plain: Any, rules: FieldRules, description: str) -> Schema:
    if rules.shape is not None:
        return schema_of_struct(rules.shape, description)
    if isinstance(plain, type) and issubclass(plain, Wire):
        return {**schema_of_struct(plain, description), **_keywords(rules)}
    schema: Schema = {"description": description, **_keywords(rules)}
    if plain in _PLAIN_TYPES:
        return schema | {"type": _PLAIN_TYPES[plain]}
    if rules.is_quantity:
        return schema
    if plain == Json and rules.is_kept_as_written:
        return schema | {"type": "object"}
    arguments = get_args(plain)
    if get_origin(plain) is tuple and arguments[1:] == (...,):
        return schema | {"type": "array", "items": _schema_of_field(arguments[0], None, "")}
    if get_origin(plain) is Mapping and arguments[0] is str:
        return schema | {"type": "object", "additionalProperties": _schema_of_field(arguments[1], None, "")}
    raise TypeError(f"no schema for {plain}")


def _keywords(rules: FieldRules) -> Schema:
    """Return rules as keywords of a schema; rules that are not set are left out."""
    keywords: Schema = {
        "anyOf": [{"type": "integer"}, {"type": "string"}] if rules.is_quantity else None,
        "x-kubernetes-int-or-string": rules.is_quantity or None,
        "x-kubernetes-preserve-unknown-fields": rules.is_kept_as_written or None,
        "x-kubernetes-list-type": rules.list_type,
        "format": rules.format,
        "enum": [str(value) for value in rules.enum] if rules.enum else None,
        "minimum": rules.minimum,
        "maximum": rules.maximum,
        "minLength": rules.min_length,
        "maxLength": rules.max_length,
        "pattern": rules.pattern,
        "minItems": rules.min_items,
        "x-kubernetes-validations": [asdict(validation) for validation in rules.validations] or None,
    }
    return {keyword: value for keyword, value in keywords.items() if value is not None}


def _in_order(schema: Schema) -> Schema:
    """Return the keywords in order, without empty texts and lists."""
    unknown = schema.keys() - set(_ORDER)
    if unknown:
        raise TypeError(f"no place for {sorted(unknown)}")
    return {keyword: schema[keyword] for keyword in _ORDER if keyword in schema and not _is_empty(schema[keyword])}


def _is_empty(value: Any) -> bool:
    return isinstance(value, str | list) and not value
