"""The OpenAPI v2 document in protobuf, the only form in which Go clients take it.

The messages are those of gnostic's `openapi.v2`; each function below writes one, and names its fields by number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["FORM", "FORM_ASKED", "encode"]

Json = dict[str, Any]

FORM_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""The media type by which clients ask for it."""
FORM = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The media type by which it comes, where `@` is not allowed."""

_OPERATIONS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_PARAMETERS = {"query": (3, {"in": 2, "name": 4, "type": 6}), "path": (4, {"in": 2, "name": 4, "type": 5})}
"""By place: the number of the parameter's message, and those of its texts; `required` is 1 in both."""


def encode(document: Json) -> bytes:
    """Write a document."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    return b"".join(
        (
            _text(1, document["swagger"]),
            _block(2, info),
            _block(8, _named(2, document["paths"], _path)),
            _block(9, _named(1, document["definitions"], _schema)),
        )
    )


def _path(item: Json) -> bytes:
    operations = b"".join(_block(_OPERATIONS[key], _operation(item[key])) for key in item if key in _OPERATIONS)
    return operations + b"".join(_block(9, _parameter(each)) for each in item["parameters"])


def _operation(operation: Json) -> bytes:
    return b"".join(
        (
            _text(5, operation["operationId"]),
            *(_block(8, _parameter(each)) for each in operation["parameters"]),
            _block(9, _named(1, operation["responses"], _response)),
            _extensions(13, operation),
        )
    )


def _response(response: Json) -> bytes:
    return _block(1, _text(1, response["description"]))


def _parameter(parameter: Json) -> bytes:
    required = parameter.get("required", False)
    if parameter["in"] == "body":
        body = _text(2, parameter["name"]) + _text(3, "body") + _block(5, _schema(parameter["schema"]))
        return _block(1, _block(1, body + _flag(4, on=required)))
    message, numbers = _PARAMETERS[parameter["in"]]
    fields = b"".join(_text(number, parameter[key]) for key, number in numbers.items())
    return _block(1, _block(2, _block(message, fields + _flag(1, on=required))))


def _schema(schema: Json) -> bytes:
    return b"".join(_schema_fields(schema)) + _extensions(31, schema)


def _schema_fields(schema: Json) -> Iterator[bytes]:
    for key, number in (("$ref", 1), ("format", 2), ("description", 4)):
        if key in schema:
            yield _text(number, schema[key])
    yield from (_text(19, name) for name in schema.get("required", ()))
    if "additionalProperties" in schema:
        yield _block(21, _block(1, _schema(schema["additionalProperties"])))
    if "type" in schema:
        yield _block(22, _text(1, schema["type"]))
    if "items" in schema:
        yield _block(23, _block(1, _schema(schema["items"])))
    if "properties" in schema:
        yield _block(25, _named(1, schema["properties"], _schema))


def _named(number: int, mapping: Mapping[str, Json], write: Callable[[Json], bytes]) -> bytes:
    """Write a mapping: a list of messages, each a name and what is called so."""
    return b"".join(_block(number, _text(1, name) + _block(2, write(value))) for name, value in mapping.items())


def _extensions(number: int, mapping: Json) -> bytes:
    """Write what is Kubernetes' own, whose values are texts of YAML, which JSON is too."""
    own = {name: {"yaml": json.dumps(value)} for name, value in mapping.items() if name.startswith("x-kubernetes-")}
    return _named(number, own, lambda value: _text(2, value["yaml"]))


# --- the wire --------------------------------------------------------------------------------------------------------


def _text(number: int, text: str) -> bytes:
    return _block(number, text.encode())


def _flag(number: int, *, on: bool) -> bytes:
    return _varint(number << 3) + b"\x01" if on else b""


def _block(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
