"""OpenAPI v3 documents: the operations of the server, and the structure of its objects.

`kubectl explain` reads them. They also declare that the server checks fields itself (`fieldValidation`), and the types
of patches that it accepts. Built-in types come from the table of shapes, custom ones from their schema.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib import resources as files
from typing import Any

from pyroclast.emulator.schemas.shapes import Field, Shape, shape_of

__all__ = ["document", "index"]

Json = dict[str, Any]

_API_VERSION = "The version of the API that this object is written in."
_KIND = "The kind of this object."
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_PATCHES = ("application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"


def index(group_versions: Iterable[tuple[str, str]]) -> Json:
    """List the documents.

    Args:
        group_versions: Pairs of group (empty for the core) and version; repetitions do no harm.
    """
    paths = sorted({_place(group, version) for group, version in group_versions})
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


def document(
    group: str, version: str, resources: Iterable[Mapping[str, Any]], crd_schemas: Mapping[str, Json | None]
) -> Json:
    """Describe one group and version.

    Args:
        group: API group, empty for the core.
        version: Version in it.
        resources: Resources and subresources as discovery lists them: `name`, `kind`, `namespaced`, `verbs`,
            and `group` and `version` where the kind belongs to another one.
        crd_schemas: Schemas of custom kinds.
    """
    listed = list(resources)
    paths: Json = {}
    schemas: Json = {}
    for resource in listed:
        own = _add_schema(schemas, group, version, resource, crd_schemas)
        _add_paths(paths, group, version, resource, own, custom=resource.get("kind") in crd_schemas)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _place(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


# --- operations ------------------------------------------------------------------------------------------------------

_COLLECTION = {"list": ("get", "list"), "create": ("post", "post"), "deletecollection": ("delete", "deletecollection")}
_ITEM = {"get": ("get", "get"), "update": ("put", "put"), "patch": ("patch", "patch"), "delete": ("delete", "delete")}
_SUB_ITEM = {**_ITEM, "create": ("post", "post")}
_FLAGS = {
    "list": ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch", "timeoutSeconds"),
    "post": ("dryRun", "fieldManager", "fieldValidation"),
    "put": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation"),
    "delete": ("dryRun", "gracePeriodSeconds", "propagationPolicy"),
    "deletecollection": ("dryRun", "labelSelector", "fieldSelector", "propagationPolicy"),
}


def _add_paths(
    paths: Json, group: str, version: str, resource: Mapping[str, Any], schema: str, *, custom: bool
) -> None:
    name, _, sub = str(resource.get("name", "")).partition("/")
    root = f"/{_place(group, version)}"
    home = f"{root}/namespaces/{{namespace}}/{name}" if resource.get("namespaced") else f"{root}/{name}"
    kind = {
        "group": resource.get("group", group) if sub else group,
        "version": resource.get("version", version) if sub else version,
        "kind": resource.get("kind", ""),
    }
    verbs = set(resource.get("verbs") or ())
    places = [(f"{home}/{{name}}/{sub}", _SUB_ITEM)] if sub else [(home, _COLLECTION), (f"{home}/{{name}}", _ITEM)]
    if resource.get("namespaced") and not sub:
        places.append((f"{root}/{name}", {"list": ("get", "list")}))
    for path, table in places:
        operations = {
            method: _operation(path, method, action, kind, schema, custom=custom)
            for verb, (method, action) in table.items()
            if verb in verbs
        }
        if operations:
            paths[path] = {"parameters": _path_parameters(path), **operations}


def _path_parameters(path: str) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
        for name in ("namespace", "name")
        if f"{{{name}}}" in path
    ]


def _operation(path: str, method: str, action: str, kind: Json, schema: str, *, custom: bool) -> Json:
    words = [word.strip("{}") for word in path.split("/") if word]
    operation: Json = {
        "operationId": action + "".join(word[:1].upper() + word[1:] for word in words),
        "parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _FLAGS.get(action, ())],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind,
    }
    if method in ("post", "put"):
        operation["requestBody"] = {"content": {"*/*": {"schema": _reference(schema)}}, "required": True}
    elif method == "patch":
        kinds = _PATCHES if custom else (*_PATCHES, _STRATEGIC)
        operation["requestBody"] = {"content": {form: {"schema": {"type": "object"}} for form in kinds}}
    return operation


# --- schemas ---------------------------------------------------------------------------------------------------------


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _add_schema(
    schemas: Json, group: str, version: str, resource: Mapping[str, Any], crd_schemas: Mapping[str, Json | None]
) -> str:
    """Describe a resource's kind with all it refers to; gives the name under which it stands."""
    kind = str(resource.get("kind", ""))
    own_group, own_version = str(resource.get("group", group)), str(resource.get("version", version))
    api_version = f"{own_group}/{own_version}" if own_group else own_version
    shape = None if kind in crd_schemas else shape_of(api_version, kind)
    if shape is not None:
        name = _shape_name(shape)
        _add_shape(schemas, shape)
    else:
        name = ".".join([*reversed(own_group.split(".")), own_version, kind])
        schemas.setdefault(name, _custom_schema(crd_schemas.get(kind)))
        metadata = _metadata_shape()
        schemas[name]["properties"]["metadata"] = _described("The object's metadata.", _allof(_shape_name(metadata)))
        _add_shape(schemas, metadata)
    schema = schemas[name]
    schema["properties"]["apiVersion"] = {"type": "string", "description": _API_VERSION}
    schema["properties"]["kind"] = {"type": "string", "description": _KIND}
    tag = {"group": own_group, "version": own_version, "kind": kind}
    tags = schema.setdefault("x-kubernetes-group-version-kind", [])
    if tag not in tags:
        tags.append(tag)
    return name


def _custom_schema(schema: Json | None) -> Json:
    if not isinstance(schema, dict):
        return {"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": True}
    properties = schema.get("properties")
    return {**schema, "properties": dict(properties) if isinstance(properties, dict) else {}}


def _metadata_shape() -> Shape:
    namespace = shape_of("v1", "Namespace")
    metadata = namespace.fields["metadata"].shape if namespace else None
    if metadata is None:
        raise KeyError("shapes.txt lacks ObjectMeta")
    return metadata


def _shape_name(shape: Shape) -> str:
    if shape.section == "meta/v1":
        return f"io.k8s.apimachinery.pkg.apis.meta.v1.{shape.name}"
    group, _, version = shape.section.rpartition("/")
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{shape.name}"


def _add_shape(schemas: Json, shape: Shape) -> None:
    name = _shape_name(shape)
    if name in schemas:
        return
    schema: Json = {"type": "object", "description": _description(shape.name)}
    schemas[name] = schema  # before its fields: types may contain themselves
    schema["properties"] = {key: _field_schema(schemas, shape, entry) for key, entry in sorted(shape.fields.items())}
    required = sorted(key for key, entry in shape.fields.items() if entry.required)
    if required:
        schema["required"] = required


def _field_schema(schemas: Json, shape: Shape, entry: Field) -> Json:
    value = _value_schema(schemas, entry)
    text = _description(f"{shape.name}.{entry.name}")
    if entry.container == "[]":
        return _described(text, {"type": "array", "items": value, **_list_notes(entry)})
    notes: Json = {"x-kubernetes-map-type": "atomic"} if entry.atomic else {}
    if entry.container == "{}":
        return _described(text, {"type": "object", "additionalProperties": value, **notes})
    if entry.retains_keys:
        notes["x-kubernetes-patch-strategy"] = "retainKeys"
    elif entry.replaces:
        notes["x-kubernetes-patch-strategy"] = "replace"
    return _described(text, {**value, **notes})


def _list_notes(entry: Field) -> Json:
    notes: Json = {"x-kubernetes-list-type": entry.list_type}
    if entry.list_keys:
        notes["x-kubernetes-list-map-keys"] = list(entry.list_keys)
    if entry.merges:
        notes["x-kubernetes-patch-strategy"] = "merge,retainKeys" if entry.retains_keys else "merge"
    if entry.merge_key:
        notes["x-kubernetes-patch-merge-key"] = entry.merge_key
    return notes


_SCALARS: dict[str, Json] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "byte": {"type": "integer"},
    "bool": {"type": "boolean"},
    "float64": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "Time": {"type": "string", "format": "date-time"},
    "MicroTime": {"type": "string", "format": "date-time"},
    "Duration": {"type": "string"},
    "Object": {"type": "object"},
    "Fields": {"type": "object"},
    "Strings": {"type": "array", "items": {"type": "string"}},
}
_SHARED: dict[str, tuple[str, Json]] = {
    "Quantity": (
        _QUANTITY,
        {
            "description": "An exact amount, such as 500m, 2 or 1.5Gi.",
            "oneOf": [{"type": "string"}, {"type": "number"}],
        },
    ),
    "IntOrString": (
        _INT_OR_STRING,
        {
            "description": "A whole number, or a text such as 50%.",
            "format": "int-or-string",
            "oneOf": [{"type": "integer"}, {"type": "string"}],
        },
    ),
}


def _value_schema(schemas: Json, entry: Field) -> Json:
    if entry.type_name in _SCALARS:
        return dict(_SCALARS[entry.type_name])
    if entry.type_name in _SHARED:
        name, schema = _SHARED[entry.type_name]
        schemas.setdefault(name, schema)
        return _reference(name) if entry.container else _allof(name)
    shape = entry.shape
    if shape is None:
        raise KeyError(f"shapes.txt has a scalar without a schema: {entry.type_name}")
    _add_shape(schemas, shape)
    return _allof(_shape_name(shape))


def _allof(name: str) -> Json:
    """A reference beside which a description may stand."""
    return {"allOf": [_reference(name)]}


def _described(text: str, schema: Json) -> Json:
    return {"description": text, **schema} if text else schema


# --- descriptions ----------------------------------------------------------------------------------------------------


def _description(name: str) -> str:
    return _descriptions().get(name, "")


@functools.cache
def _descriptions() -> dict[str, str]:
    text = files.files("emulator").joinpath("descriptions.txt").read_text(encoding="utf-8")
    pairs = (line.partition(": ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: description for name, _, description in pairs}
