"""OpenAPI documents: operations, schemas, and what kubectl looks for in them."""

from __future__ import annotations

import json
import re
from typing import Any

from pyroclast.emulator.api.openapi import document, index
from pyroclast.emulator.schemas.shapes import shape_of

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
PODS = {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": VERBS}
NODES = {"name": "nodes", "kind": "Node", "namespaced": False, "verbs": VERBS}
EVICTION = {
    "name": "pods/eviction",
    "kind": "Eviction",
    "group": "policy",
    "version": "v1",
    "namespaced": True,
    "verbs": ["create"],
}
QUEUES = {"name": "queues", "kind": "Queue", "namespaced": False, "verbs": VERBS}
QUEUE_SCHEMA = {
    "type": "object",
    "description": "A queue.",
    "properties": {"spec": {"type": "object", "properties": {"weight": {"type": "integer"}}}},
}


def operations(doc: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """All operations of a document by method and path."""
    return {
        (method, path): operation
        for path, methods in doc["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    }


def test_the_index_names_each_document_once() -> None:
    """The core group stands under api, the others under apis."""
    assert index([("", "v1"), ("apps", "v1"), ("", "v1")]) == {
        "paths": {
            "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"},
            "apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1"},
        }
    }


def test_every_verb_has_its_operation() -> None:
    """Paths of collections and items, of all namespaces and of one."""
    found = operations(document("", "v1", [PODS], {}))

    assert {(method, path, operation["x-kubernetes-action"]) for (method, path), operation in found.items()} == {
        ("get", "/api/v1/pods", "list"),
        ("get", "/api/v1/namespaces/{namespace}/pods", "list"),
        ("post", "/api/v1/namespaces/{namespace}/pods", "post"),
        ("delete", "/api/v1/namespaces/{namespace}/pods", "deletecollection"),
        ("get", "/api/v1/namespaces/{namespace}/pods/{name}", "get"),
        ("put", "/api/v1/namespaces/{namespace}/pods/{name}", "put"),
        ("patch", "/api/v1/namespaces/{namespace}/pods/{name}", "patch"),
        ("delete", "/api/v1/namespaces/{namespace}/pods/{name}", "delete"),
    }
    assert len({operation["operationId"] for operation in found.values()}) == len(found)


def test_writes_take_field_validation() -> None:
    """Kubectl trusts the server with it only where the parameter is listed beside the kind."""
    found = operations(document("apps", "v1", [{"name": "deployments", "kind": "Deployment", "verbs": VERBS}], {}))

    for (method, _path), operation in found.items():
        assert operation["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
        names = {parameter["name"] for parameter in operation["parameters"]}
        assert ("fieldValidation" in names) is (method in ("post", "put", "patch"))


def test_subresources_carry_their_own_kind() -> None:
    """An eviction is of another group than its pod."""
    found = operations(document("", "v1", [PODS, EVICTION], {}))

    operation = found["post", "/api/v1/namespaces/{namespace}/pods/{name}/eviction"]
    assert operation["x-kubernetes-group-version-kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}


def test_strategic_patches_are_for_built_in_kinds() -> None:
    """Custom resources take the other three."""
    built_in = operations(document("", "v1", [NODES], {}))["patch", "/api/v1/nodes/{name}"]
    custom = operations(document("x.io", "v1", [QUEUES], {"Queue": QUEUE_SCHEMA}))[
        "patch", "/apis/x.io/v1/queues/{name}"
    ]

    strategic = "application/strategic-merge-patch+json"
    assert strategic in built_in["requestBody"]["content"]
    assert strategic not in custom["requestBody"]["content"]
    assert "application/merge-patch+json" in custom["requestBody"]["content"]


def test_built_in_schemas_describe_their_fields() -> None:
    """Types, references, merge keys, required fields and descriptions."""
    schemas = document("", "v1", [PODS], {})["components"]["schemas"]
    pod, spec = schemas["io.k8s.api.core.v1.Pod"], schemas["io.k8s.api.core.v1.PodSpec"]

    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "Pod"}]
    assert pod["properties"]["spec"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]
    assert spec["required"] == ["containers"]
    assert spec["properties"]["containers"] == {
        "description": "Containers that run for the pod's lifetime; at least one, and the list does not change.",
        "type": "array",
        "items": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
    }
    assert spec["properties"]["priority"]["format"] == "int32"


def test_custom_schemas_get_the_fields_every_object_has() -> None:
    """The CRD's own schema, with apiVersion, kind and metadata; the CRD itself is left alone."""
    before = json.dumps(QUEUE_SCHEMA)
    schema = document("x.io", "v1", [QUEUES], {"Queue": QUEUE_SCHEMA})["components"]["schemas"]["io.x.v1.Queue"]

    assert schema["description"] == "A queue."
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "x.io", "version": "v1", "kind": "Queue"}]
    assert json.dumps(QUEUE_SCHEMA) == before


def test_kinds_without_schema_are_open() -> None:
    """A custom kind that preserves everything, and one the table leaves out."""
    schemas = document("x.io", "v1", [QUEUES], {"Queue": None})["components"]["schemas"]
    other = document("y.io", "v1", [{"name": "things", "kind": "Thing", "verbs": ["get"]}], {})["components"]["schemas"]

    assert schemas["io.x.v1.Queue"]["x-kubernetes-preserve-unknown-fields"] is True
    assert other["io.y.v1.Thing"]["x-kubernetes-preserve-unknown-fields"] is True


def test_every_reference_leads_somewhere() -> None:
    """Documents are whole."""
    doc = document("", "v1", [PODS, NODES, EVICTION], {})

    for name in re.findall(r"#/components/schemas/([^\"]+)", json.dumps(doc)):
        assert name in doc["components"]["schemas"]


def test_every_description_belongs_to_a_field() -> None:
    """No text stands for a type or field that does not exist."""
    from pyroclast.emulator.api.openapi import _descriptions  # noqa: PLC0415  # looks inside, for this fact alone

    kinds = [("v1", "Pod"), ("v1", "Node"), ("v1", "Namespace"), ("v1", "PersistentVolume"), ("batch/v1", "CronJob")]
    fields: dict[str, set[str]] = {}
    for version, kind in kinds:
        waiting = [shape_of(version, kind)]
        while waiting:
            shape = waiting.pop()
            if shape is not None and shape.name not in fields:
                fields[shape.name] = set(shape.fields)
                waiting += [entry.shape for entry in shape.fields.values()]
    for name in _descriptions():
        kind, _, key = name.partition(".")
        if key and kind in fields:
            assert key in fields[kind], name
