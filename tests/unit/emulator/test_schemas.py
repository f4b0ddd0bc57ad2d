"""Structural schemas: defaults, pruning, validation and its words."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.emulator.schemas.schemas import compile_schema

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
KEYWORDS = [
    "type",
    "properties",
    "items",
    "default",
    "nullable",
    "required",
    "enum",
    "pattern",
    "anyOf",
    "oneOf",
    "not",
    "maximum",
    "additionalProperties",
    "x-kubernetes-list-type",
    "a",
    "spec",
]
ODD_SCHEMAS = st.recursive(
    st.none() | st.integers() | st.sampled_from(["object", "array", "string", "integer", "map", "set", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=5),
    max_leaves=20,
).filter(lambda value: isinstance(value, dict))

QUEUE = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["weight"],
            "properties": {
                "weight": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535, "default": 1},
                "reclaimable": {"type": "boolean", "nullable": True},
                "state": {"type": "string", "enum": ["Open", "Closed"], "default": "Open"},
                "parent": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 5},
                "capability": {
                    "type": "object",
                    "additionalProperties": {
                        "anyOf": [{"type": "integer"}, {"type": "string"}],
                        "x-kubernetes-int-or-string": True,
                    },
                },
                "clusters": {
                    "type": "array",
                    "maxItems": 2,
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "w": {"default": 3}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "template": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {}},
                "since": {"type": "string", "format": "date-time"},
            },
        },
    },
}
SCHEMA = compile_schema(QUEUE)


def faults(spec: Any) -> list[str]:
    """The faults of a queue with this spec, as text."""
    return [str(fault) for fault in SCHEMA.validate({"spec": spec})]


def test_a_sound_object_has_no_faults() -> None:
    """Everything that the schema allows passes, whole floats as integers included."""
    spec = {
        "weight": 2.0,
        "reclaimable": None,
        "state": "Closed",
        "parent": "root",
        "capability": {"cpu": 4, "memory": "1Gi"},
        "clusters": [{"name": "a"}, {"name": "b"}],
        "names": ["a", "b"],
        "since": "2026-01-01T00:00:00Z",
    }

    assert faults(spec) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({}, "spec.weight: Required value"),
        (
            {"weight": "x"},
            'spec.weight: Invalid value: "string": spec.weight in body must be of type integer: "string"',
        ),
        (
            {"weight": 0},
            "spec.weight: Invalid value: 0: spec.weight in body should be greater than or equal to 1",
        ),
        (
            {"weight": 65536},
            "spec.weight: Invalid value: 65536: spec.weight in body should be less than or equal to 65535",
        ),
        (
            {"weight": True},
            'spec.weight: Invalid value: "": spec.weight in body must be of type int32: ""',
        ),
        (
            {"weight": "1"},
            'spec.weight: Invalid value: "string": spec.weight in body must be of type integer: "string"',
        ),
        ({"weight": 1, "parent": "ABCDEF"}, "spec.parent: Too long: may not be more than 5 bytes"),
        (
            {"weight": None},
            'spec.weight: Invalid value: "null": spec.weight in body must be of type integer: "null"',
        ),
        ({"weight": 1, "state": "x"}, 'spec.state: Unsupported value: "x": supported values: "Open", "Closed"'),
        (
            {"weight": 1, "parent": "ABC"},
            "spec.parent: Invalid value: \"ABC\": spec.parent in body should match '^[a-z]+$'",
        ),
        ({"weight": 1, "parent": "abcdef"}, "spec.parent: Too long: may not be more than 5 bytes"),
        (
            {"weight": 1, "parent": "a"},
            'spec.parent: Invalid value: "a": spec.parent in body should be at least 2 chars long',
        ),
        (
            {"weight": 1, "capability": {"cpu": True}},
            (
                'spec.capability.cpu: Invalid value: "boolean": spec.capability.cpu in body must be of type '
                'integer,string: "boolean"'
            ),
        ),
        (
            {"weight": 1, "clusters": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
            "spec.clusters: Too many: 3: must have at most 2 items",
        ),
        (
            {"weight": 1, "clusters": [{"name": "a"}, {"name": "a"}]},
            'spec.clusters[1]: Duplicate value: {"name":"a"}',
        ),
        ({"weight": 1, "names": ["a", "b", "a"]}, 'spec.names[2]: Duplicate value: "a"'),
        (
            {"weight": 1, "names": [1]},
            'spec.names[0]: Invalid value: "integer": spec.names[0] in body must be of type string: "integer"',
        ),
        (
            {"weight": 1, "since": "today"},
            'spec.since: Invalid value: "today": spec.since in body must be of type date-time: "today"',
        ),
    ],
)
def test_faults_are_worded_as_by_the_api_server(spec: dict[str, Any], fault: str) -> None:
    """One broken rule gives one fault, with path, kind, value and rule."""
    assert faults(spec) == [fault]


def test_a_number_outside_its_format_is_named_without_a_field() -> None:
    """As the API server has it: the place stands in the text."""
    assert faults({"weight": 1.5}) == [
        'spec.weight: Invalid value: "float64": spec.weight in body must be of type int32: "float64"',
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.weight',
    ]
    assert faults({"weight": 2**31})[0] == (
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.weight'
    )


def test_faults_become_causes_of_a_status() -> None:
    """A cause has the reason, the field, and the message without it."""
    (fault,) = SCHEMA.validate({"spec": {}})

    assert fault.cause() == {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.weight"}


def test_one_of_any_of_and_not_are_honoured() -> None:
    """Combinations report the place in the text, like the API server."""
    schema = compile_schema(
        {
            "properties": {
                "one": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
                "any": {"anyOf": [{"minimum": 5}, {"maximum": 1}]},
                "none": {"not": {"enum": [3]}},
            }
        }
    )

    assert schema.validate({"one": {"a": 1}, "any": 6, "none": 4}) == []
    assert [str(fault) for fault in schema.validate({"one": {"a": 1, "b": 2}})] == [
        '<nil>: Invalid value: "": "one" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]
    assert '"any" must validate at least one schema (anyOf)' in str(schema.validate({"any": 3})[0])
    assert '"none" must not validate the schema (not)' in str(schema.validate({"none": 3})[0])


def test_defaults_fill_in_at_every_depth() -> None:
    """Absent fields and nulls that may not be are defaulted, also in list items; allowed nulls stay."""
    obj: dict[str, Any] = {"spec": {"weight": None, "reclaimable": None, "parent": None, "clusters": [{"name": "a"}]}}

    SCHEMA.default(obj)

    assert obj == {
        "spec": {"weight": 1, "reclaimable": None, "state": "Open", "clusters": [{"name": "a", "w": 3}]},
    }


def test_defaults_do_not_create_parents() -> None:
    """A default below an absent object does not call the object into being."""
    obj: dict[str, Any] = {}

    SCHEMA.default(obj)

    assert obj == {}


def test_defaults_are_not_shared_between_objects() -> None:
    """Each object gets a copy of a default."""
    schema = compile_schema({"properties": {"list": {"type": "array", "default": []}}})
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}

    schema.default(first)
    first["list"].append(1)
    schema.default(second)

    assert second == {"list": []}


def test_pruning_drops_unknown_fields_and_names_them() -> None:
    """Unknown fields go, at the root and below; preserved and embedded objects keep theirs."""
    obj = {
        "apiVersion": "v1",
        "kind": "Queue",
        "metadata": {"name": "q", "nonsense": 1},
        "extra": 1,
        "spec": {
            "weight": 1,
            "wait": 1,
            "capability": {"gpu": 1},
            "clusters": [{"name": "a", "size": 2}],
            "free": {"anything": {"goes": 1}},
            "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}},
        },
    }

    unknown = SCHEMA.prune(obj, collect_unknown=True)

    assert unknown == ["extra", "metadata.nonsense", "spec.clusters[0].size", "spec.template.spec", "spec.wait"]
    assert obj == {
        "apiVersion": "v1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {
            "weight": 1,
            "capability": {"gpu": 1},
            "clusters": [{"name": "a"}],
            "free": {"anything": {"goes": 1}},
            "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}},
        },
    }


def test_a_preserving_schema_still_prunes_known_parts() -> None:
    """Below a field that is described, unknown fields go even where its parent preserves them."""
    schema = compile_schema(
        {
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
        }
    )
    obj = {"other": {"b": 1}, "spec": {"a": "", "b": 1}}

    schema.prune(obj)

    assert obj == {"other": {"b": 1}, "spec": {"a": ""}}


@given(ODD_SCHEMAS, st.dictionaries(st.sampled_from(["a", "spec"]), JSON, max_size=2))
def test_odd_schemas_and_objects_never_break(schema: dict[str, Any], obj: dict[str, Any]) -> None:
    """Whatever a schema holds, its use ends; defaulting twice is defaulting once, and so is pruning."""
    compiled = compile_schema(schema)

    compiled.default(obj)
    defaulted = copy.deepcopy(obj)
    compiled.default(obj)
    assert obj == defaulted

    compiled.prune(obj)
    assert compiled.prune(obj, collect_unknown=True) == []
    assert all(str(fault) for fault in compiled.validate(obj))
