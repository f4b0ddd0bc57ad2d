"""The OpenAPI v2 document: all groups in one, in JSON, and in the protobuf that kubectl takes."""

import json
from typing import Any

import pytest

from pyroclast.emulator.openapi import document
from pyroclast.emulator.run import Emulator
from pyroclast.emulator.swagger import swagger
from pyroclast.emulator.swaggerprotobuf import FORM, FORM_ASKED, encode
from tests.unit.emulator.wire import Client

CLAIMS = {"name": "persistentvolumeclaims", "kind": "PersistentVolumeClaim", "namespaced": True, "verbs": ["create"]}
SETS = {"name": "statefulsets", "kind": "StatefulSet", "namespaced": True, "verbs": ["create", "patch"]}
QUEUES = {"name": "queues", "kind": "Queue", "namespaced": False, "verbs": ["get"]}
QUEUE_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["weight"],
            "properties": {
                "weight": {"type": "integer", "format": "int32", "minimum": 1},
                "limits": {
                    "type": "object",
                    "additionalProperties": {"anyOf": [{"type": "integer"}], "x-kubernetes-int-or-string": True},
                },
                "parents": {"type": "array", "items": {"type": "string"}},
            },
        }
    },
}


def documents() -> list[dict[str, Any]]:
    """Documents of v3, of three groups."""
    return [
        document("apps", "v1", [SETS], {}),
        document("", "v1", [CLAIMS], {}),
        document("example.com", "v1", [QUEUES], {"Queue": QUEUE_SCHEMA}),
    ]


def fields(data: bytes) -> list[tuple[int, Any]]:
    """Read a message of protobuf: numbers and raw values, by the rules of the wire alone."""
    found: list[tuple[int, Any]] = []
    position = 0

    def number() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        tag = number()
        if tag & 7 == 0:
            found.append((tag >> 3, number()))
            continue
        assert tag & 7 == 2
        size = number()
        found.append((tag >> 3, data[position : position + size]))
        position += size
    return found


def part(data: bytes, *path: int) -> Any:
    """The one value at a path of field numbers."""
    for step in path:
        (data,) = (value for number, value in fields(data) if number == step)
    return data


def called(data: bytes, name: str) -> bytes:
    """What is called so in a list of named messages."""
    (value,) = (part(each, 2) for _, each in fields(data) if part(each, 1) == name.encode())
    assert isinstance(value, bytes)
    return value


def test_all_groups_stand_in_one() -> None:
    """Paths and definitions of each document."""
    made = swagger(documents())

    assert made["swagger"] == "2.0"
    assert "/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}" in made["paths"]
    assert "/apis/example.com/v1/queues/{name}" in made["paths"]
    assert {"io.k8s.api.apps.v1.StatefulSet", "com.example.v1.Queue"} <= made["definitions"].keys()


def test_references_lead_somewhere() -> None:
    """From every schema and operation to a definition."""
    made = swagger(documents())
    text = json.dumps(made)

    wanted = {piece.partition('"')[0] for piece in text.split('"$ref": "#/definitions/')[1:]}
    assert wanted
    assert wanted <= made["definitions"].keys()
    assert "#/components" not in text


def test_a_kind_is_tagged_whichever_group_comes_first() -> None:
    """Claims stand beside stateful sets, as a type, before their own group tells that they are a kind."""
    tags = swagger(documents())["definitions"]["io.k8s.api.core.v1.PersistentVolumeClaim"]

    assert tags["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "PersistentVolumeClaim"}]


def test_alternatives_become_texts() -> None:
    """The version has none; amounts are written as texts most of the time."""
    definitions = swagger(documents())["definitions"]

    assert definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"
    assert definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] | {"description": ""} == {
        "description": "",
        "type": "string",
        "format": "int-or-string",
    }


def test_where_unknown_fields_are_kept_no_field_is_named() -> None:
    """Whoever checks by this version would refuse all others."""
    keeps = {"x-kubernetes-preserve-unknown-fields": True}
    open_ = {"type": "object", "properties": {"known": {"type": "string"}}, **keeps}
    schema = {"type": "object", "properties": {"spec": open_, "status": {"type": "object", "properties": {}}}}
    definitions = swagger([document("example.com", "v1", [QUEUES], {"Queue": schema})])["definitions"]

    (queue,) = [each for name, each in definitions.items() if name.endswith(".Queue")]
    assert queue["properties"]["spec"] == {"type": "object", **keeps}
    assert queue["properties"]["status"] == {"type": "object", "properties": {}}


def test_bodies_and_parameters_of_operations() -> None:
    """A body is a parameter among others."""
    created = swagger(documents())["paths"]["/apis/apps/v1/namespaces/{namespace}/statefulsets"]["post"]

    assert "requestBody" not in created
    assert {"name": "fieldValidation", "in": "query", "type": "string"} in created["parameters"]
    assert created["parameters"][-1] == {
        "name": "body",
        "in": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/io.k8s.api.apps.v1.StatefulSet"},
    }


def test_a_schema_in_protobuf() -> None:
    """Types, required fields, items, free keys, and what is Kubernetes' own."""
    schema = called(part(encode(swagger(documents())), 9), "com.example.v1.Queue")

    spec = called(part(schema, 25), "spec")
    properties = part(spec, 25)
    assert (part(spec, 22, 1), part(spec, 19)) == (b"object", b"weight")
    assert (part(called(properties, "weight"), 22, 1), part(called(properties, "weight"), 2)) == (b"integer", b"int32")
    assert part(called(properties, "parents"), 23, 1, 22, 1) == b"string"
    (own,) = (value for number, value in fields(part(called(properties, "limits"), 21, 1)) if number == 31)
    assert (part(own, 1), part(own, 2, 2)) == (b"x-kubernetes-int-or-string", b"true")
    metadata = called(part(schema, 25), "metadata")
    assert part(metadata, 1) == b"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def test_an_operation_in_protobuf() -> None:
    """By the patch of a kind, and its `fieldValidation`, older clients know that the server checks fields."""
    items = [value for number, value in fields(part(encode(swagger(documents())), 8)) if number == 2]
    (sets,) = (part(item, 2) for item in items if part(item, 1).endswith(b"/statefulsets/{name}"))

    patch = part(sets, 8)
    queries = [part(value, 1, 2, 3) for number, value in fields(patch) if number == 8]
    own = {part(value, 1): json.loads(part(value, 2, 2)) for number, value in fields(patch) if number == 13}
    assert b"fieldValidation" in {part(query, 4) for query in queries}
    assert own[b"x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "StatefulSet"}
    places = [part(value, 1, 2, 4) for number, value in fields(sets) if number == 9]
    assert [(part(place, 4), part(place, 1)) for place in places] == [(b"namespace", 1), (b"name", 1)]


@pytest.mark.parametrize(("accept", "form"), [(FORM_ASKED, FORM), ("application/json", "application/json")])
async def test_it_is_served_in_both_forms(emulator: Emulator, client: Client, accept: str, form: str) -> None:
    """Protobuf for those who ask for it."""
    async with client.session.get(f"{emulator.url}/openapi/v2", headers={"Accept": accept}) as answer:
        body = await answer.read()

    assert (answer.status, answer.content_type) == (200, form)
    assert (body if form == FORM else encode(json.loads(body))).startswith(b"\n\x032.0")
