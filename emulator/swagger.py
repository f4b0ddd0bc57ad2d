"""The OpenAPI v2 document: all groups in one, made of the documents of v3.

kubectl asks for it about kinds that cannot be patched, such as reviews: no operation of theirs in v3 tells it that the
server checks fields itself, so it checks them by this document. Clients from before v3 ask for it alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["swagger"]

Json = dict[str, Any]

_METHODS = ("get", "put", "post", "delete", "patch")
_TAGS = "x-kubernetes-group-version-kind"
_SAME = ("description", "type", "format", "required")
"""What a schema says alike in both versions. Bounds and patterns are left out: whoever wants them reads v3."""


def swagger(documents: Iterable[Json]) -> Json:
    """Put documents of v3 together into one of v2."""
    document: Json = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": ""}, "paths": {}, "definitions": {}}
    definitions = document["definitions"]
    for one in documents:
        document["info"] = one["info"]
        document["paths"] |= {path: _path(item) for path, item in one["paths"].items()}
        for name, schema in one["components"]["schemas"].items():
            known = definitions.setdefault(name, _schema(schema))
            # A claim of a volume stands beside stateful sets too, and is tagged as a kind in its own group alone.
            known |= {_TAGS: schema[_TAGS]} if _TAGS in schema else {}
    return document


def _path(item: Json) -> Json:
    operations = {method: _operation(item[method]) for method in _METHODS if method in item}
    return {"parameters": [_parameter(each) for each in item["parameters"]], **operations}


def _operation(operation: Json) -> Json:
    body = operation.get("requestBody", {}).get("content", {}).get("*/*")
    parameters = [_parameter(each) for each in operation["parameters"]]
    if body is not None:
        parameters.append({"name": "body", "in": "body", "required": True, "schema": _schema(body["schema"])})
    return {**{key: value for key, value in operation.items() if key != "requestBody"}, "parameters": parameters}


def _parameter(parameter: Json) -> Json:
    return {**{key: value for key, value in parameter.items() if key != "schema"}, **parameter["schema"]}


def _schema(schema: Any) -> Json:
    """Write a schema in the words of v2, which knows no alternatives: an amount is a text there."""
    if not isinstance(schema, dict):
        return {}
    made: Json = {key: value for key, value in schema.items() if key in _SAME or key.startswith("x-kubernetes-")}
    reference = next((each["$ref"] for each in (schema, *schema.get("allOf", ())) if "$ref" in each), "")
    if reference:
        return {**made, "$ref": reference.replace("#/components/schemas/", "#/definitions/")}
    if "type" not in schema and "oneOf" in schema:
        made["type"] = "string"
    # Who reads v2 takes the properties for all that there may be; where others are kept, none is named.
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made["properties"] = {name: _schema(each) for name, each in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = _schema(schema[key])
    return made
