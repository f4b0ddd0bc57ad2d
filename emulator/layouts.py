"""How server-side apply sees an object: which parts are owned as a whole, and how the items of a list are told apart.

For built-in kinds the table of shapes says so, for custom ones the `x-kubernetes-…` keywords of their schema. Where
neither says anything, objects are merged by field and lists are owned as a whole.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pyroclast.emulator.shapes import Field, Shape, shape_of

__all__ = ["Layout", "layout_of"]

Json = dict[str, Any]

_KEY_DEFAULTS = {"protocol": "TCP"}
"""What a key of a built-in list is when an item leaves it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One place of an object: how its value is merged, and the layouts below it."""

    shape: Shape | None = None
    """Fields of a built-in type."""
    schema: Json | None = None
    """Schema of a custom type."""
    container: Field | None = None
    """The built-in list or map whose elements stand one level below."""
    root: bool = False
    atomic: bool = False
    """An object owned as a whole."""
    list_type: str = "atomic"
    """`atomic`, `set` or `map`."""
    list_keys: tuple[str, ...] = ()
    key_defaults: Json = field(default_factory=dict)
    declared: bool = False
    """A field that its type names, in contrast to a free key of a map."""
    always_there: bool = False
    """A field that a built-in object has from the start, so that nobody owns its presence."""
    _children: dict[str, Layout] = field(default_factory=dict, compare=False, repr=False)
    """Layouts of fields that were asked for; all keys of a map share one."""

    def child(self, key: str) -> Layout:
        """The layout of one field."""
        known = self._children.get(key)
        if known is not None:
            return known
        made = self._make_child(key)
        if made.declared:  # free keys are without number
            self._children[key] = made
        return made

    def _make_child(self, key: str) -> Layout:
        if self.shape is not None:
            entry = self.shape.fields.get(key)
            return UNKNOWN if entry is None else _from_field(entry, self)
        if self.container is not None:
            return self.item()
        if self.schema is not None:
            return _from_parent_schema(self.schema, key)
        return UNKNOWN

    def declares(self, key: str) -> bool:
        """Whether a field may stand here; everything may where nothing is known."""
        if self.root and key in ("apiVersion", "kind", "metadata"):
            return True
        if self.shape is not None:
            return key in self.shape.fields
        if self.schema is None or self.schema.get("x-kubernetes-preserve-unknown-fields"):
            return True
        if self.schema.get("x-kubernetes-embedded-resource") and key in ("apiVersion", "kind", "metadata"):
            return True
        properties = self.schema.get("properties")
        known = isinstance(properties, dict) and key in properties
        return known or bool(self.schema.get("additionalProperties"))

    def item(self) -> Layout:
        """The layout of a list's items, or of the values of a built-in map."""
        known = self._children.get(_ITEM)
        if known is None:
            known = self._children[_ITEM] = self._make_item()
        return known

    def _make_item(self) -> Layout:
        if self.container is not None:
            return Layout(shape=self.container.shape)
        items = self.schema.get("items") if self.schema is not None else None
        return _from_schema(items) if isinstance(items, dict) else UNKNOWN

    def item_name(self, item: Any, place: int) -> str:
        """What a list's item is called in a set of fields: by its keys, its value, or (never stored) its place."""
        if self.list_type == "set":
            return "v:" + _compact(item)
        if isinstance(item, dict):
            keys = {key: item.get(key, self.key_defaults.get(key)) for key in sorted(self.list_keys)}
            keys = {key: value for key, value in keys.items() if value is not None}
            if keys:
                return "k:" + _compact(keys)
        return f"i:{place}"


UNKNOWN = Layout()
_ITEM = "[]"
"""Where the layout of items stands among those of fields; no field is called so."""


def layout_of(api_version: Any, kind: str, schema: Json | None) -> Layout:
    """The layout of a whole object."""
    if schema is None:
        return _built_in_layout(api_version if isinstance(api_version, str) else "", kind)
    kept = _CUSTOM.get(id(schema))
    if kept is None or kept[0] is not schema:
        if len(_CUSTOM) > _MOST_CUSTOM:
            _CUSTOM.clear()
        kept = _CUSTOM[id(schema)] = (schema, _custom_layout(schema))
    return kept[1]


_CUSTOM: dict[int, tuple[Json, Layout]] = {}
"""Layouts of schemas in use, by the identity of the schema, which is kept alive with them."""
_MOST_CUSTOM = 256


@functools.lru_cache(maxsize=1024)
def _built_in_layout(api_version: str, kind: str) -> Layout:
    shape = shape_of(api_version, kind)
    return Layout(shape=shape, root=True) if shape else _custom_layout(None)


def _custom_layout(schema: Json | None) -> Layout:
    known = schema or {"x-kubernetes-preserve-unknown-fields": True}
    properties = known.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    return Layout(schema={**known, "properties": {**fields, "metadata": {_METADATA: True}}}, root=True)


_METADATA = "x-metadata"
"""Marks the place in a custom type's schema where the metadata of built-in types stands."""


def _from_field(entry: Field, parent: Layout) -> Layout:
    return Layout(
        shape=None if entry.container else entry.shape,
        container=entry if entry.container else None,
        atomic=entry.atomic or entry.type_name in ("Object", "Fields"),
        list_type=entry.list_type,
        list_keys=entry.list_keys,
        key_defaults=_KEY_DEFAULTS,
        declared=True,
        always_there=(parent.root or parent.always_there) and (entry.always or entry.required),
    )


def _from_parent_schema(schema: Json, key: str) -> Layout:
    properties = schema.get("properties")
    inner = properties.get(key) if isinstance(properties, dict) else None
    if isinstance(inner, dict):
        return _from_schema(inner, declared=True)
    free = schema.get("additionalProperties")
    return _from_schema(free) if isinstance(free, dict) else UNKNOWN


def _from_schema(schema: Json, *, declared: bool = False) -> Layout:
    if schema.get(_METADATA):
        namespace = shape_of("v1", "Namespace")
        metadata = namespace.fields["metadata"].shape if namespace else None
        return Layout(shape=metadata, declared=True, always_there=True)
    keys = schema.get("x-kubernetes-list-map-keys")
    names = tuple(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else ()
    list_type = schema.get("x-kubernetes-list-type")
    return Layout(
        schema=schema,
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        list_type=list_type if list_type in ("set", "map") else "atomic",
        list_keys=names,
        key_defaults=_schema_key_defaults(schema, names),
        declared=declared,
    )


def _schema_key_defaults(schema: Json, names: tuple[str, ...]) -> Json:
    items = schema.get("items")
    properties = items.get("properties") if isinstance(items, dict) else None
    if not names or not isinstance(properties, dict):
        return {}
    defaults = {name: inner.get("default") for name in names if isinstance(inner := properties.get(name), dict)}
    return {name: value for name, value in defaults.items() if value is not None}


def _compact(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
