"""Structural schemas of custom resources: defaults, pruning, validation.

A schema is compiled once per served version. What the API server does with an object of it, in this order: `default`,
`prune`, `validate`.
"""

from dataclasses import dataclass, replace
from typing import Any

from pyroclast.emulator.schemas.fielderrors import FieldError
from pyroclast.emulator.schemas.schemachecks import Check, compile_check, list_type_faults
from pyroclast.emulator.schemas.shapes import Shape, shape_of
from pyroclast.emulator.trees import copy_tree

__all__ = ["CompiledSchema", "FieldError", "compile_schema"]

Json = dict[str, Any]

_OWN_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSchema:
    """One version's schema, ready for use; objects are changed in place."""

    source: Json
    """The schema as it was given."""
    check: Check
    check_status: Check

    def default(self, obj: Json) -> None:
        """Fill in defaults; nulls that a field may not hold give way to its default, or fall away."""
        _default(obj, self.source)

    def prune(self, obj: Json, *, collect_unknown: bool = False) -> list[str]:
        """Drop the fields that the schema does not know.

        Args:
            obj: The whole object; its own apiVersion, kind and metadata always stay.
            collect_unknown: Name the dropped fields.

        Returns:
            Paths of the dropped fields, sorted; none unless they were asked for.
        """
        paths: list[str] = []
        _prune(obj, {**self.source, "x-kubernetes-embedded-resource": True}, "", paths)
        return sorted(paths) if collect_unknown else []

    def validate(self, obj: Json) -> list[FieldError]:
        """Name every fault of the object; none when it is sound."""
        return self.check(obj, "") + list_type_faults(obj, self.source, "")

    def validate_status(self, obj: Json) -> list[FieldError]:
        """Name every fault of the status alone, as a write to its subresource does: values are placed inside it."""
        status, part = obj.get("status"), _properties(self.source).get("status")
        faults = [] if status is None else [_under("status", fault) for fault in self.check_status(status, "")]
        return faults + list_type_faults(status, part, "status")


def _under(path: str, fault: FieldError) -> FieldError:
    """Place a fault below a path; its words stay as they are."""
    return replace(fault, field=path if fault.field == "<nil>" else f"{path}.{fault.field}")


def compile_schema(open_api_schema: Json) -> CompiledSchema:
    """Compile an `openAPIV3Schema`; parts that are no schemas allow everything."""
    source = copy_tree(open_api_schema)
    return CompiledSchema(
        source=source,
        check=compile_check(source),
        check_status=compile_check(_properties(source).get("status")),
    )


# --- walking ---------------------------------------------------------------------------------------------------------


def _properties(schema: Json) -> Json:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _schema_of(schema: Json, key: str) -> Json | None:
    """The schema of one field: its own, else that of free keys; None if the schema has neither."""
    own = _properties(schema).get(key)
    if isinstance(own, dict):
        return own
    free = schema.get("additionalProperties")
    if free is True:
        return {"x-kubernetes-preserve-unknown-fields": True}
    return free if isinstance(free, dict) else None


def _items(schema: Json) -> Json:
    items = schema.get("items")
    return items if isinstance(items, dict) else {}


# --- defaults --------------------------------------------------------------------------------------------------------


def _default(value: Any, schema: Json) -> None:
    if isinstance(value, dict):
        _default_fields(value, schema)
    elif isinstance(value, list):
        items = _items(schema)
        for place, item in enumerate(value):
            if item is None and "default" in items and not items.get("nullable"):
                value[place] = copy_tree(items["default"])
            _default(value[place], items)


def _default_fields(value: Json, schema: Json) -> None:
    for key, inner in _properties(schema).items():
        if not isinstance(inner, dict):
            continue
        stray = key in value and value[key] is None and not inner.get("nullable")
        if inner.get("default") is not None and (stray or key not in value):
            value[key] = copy_tree(inner["default"])
        elif stray:
            del value[key]
    for key, item in value.items():
        inner = _schema_of(schema, key)
        if inner is not None:
            _default(item, inner)


# --- pruning ---------------------------------------------------------------------------------------------------------


def _prune(value: Any, schema: Json, path: str, unknown: list[str]) -> None:
    if isinstance(value, dict):
        _prune_fields(value, schema, path, unknown)
    elif isinstance(value, list):
        items = _items(schema)
        if schema.get("x-kubernetes-preserve-unknown-fields") and "items" not in schema:
            return
        for place, item in enumerate(value):
            _prune(item, items, f"{path}[{place}]", unknown)


def _prune_fields(value: Json, schema: Json, path: str, unknown: list[str]) -> None:
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    preserved = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    for key in list(value):
        place = f"{path}.{key}" if path else str(key)
        inner = _schema_of(schema, key)
        if embedded and key in _OWN_FIELDS:
            if key == "metadata":
                _prune_shaped(value[key], _object_meta(), place, unknown)
        elif inner is not None:
            _prune(value[key], inner, place, unknown)
        elif not preserved:
            del value[key]
            unknown.append(place)


def _object_meta() -> Shape | None:
    namespace = shape_of("v1", "Namespace")
    return namespace.fields["metadata"].shape if namespace else None


def _prune_shaped(value: Any, shape: Shape | None, path: str, unknown: list[str]) -> None:
    if not isinstance(value, dict) or shape is None:
        return
    for key in list(value):
        entry = shape.fields.get(key)
        if entry is None:
            del value[key]
            unknown.append(f"{path}.{key}")
        elif entry.container == "[]" and isinstance(value[key], list):
            for place, item in enumerate(value[key]):
                _prune_shaped(item, entry.shape, f"{path}.{key}[{place}]", unknown)
