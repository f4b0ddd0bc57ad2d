"""What a strict reader finds wrong with objects of built-in kinds."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.builtinfields import builtin_type_fault, builtin_unknown_fields, prune_builtin

SOUND: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "labels": {"a": "b"},
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": None,
        "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "priority": 5,
        "containers": [
            {
                "name": "a",
                "resources": {"requests": {"cpu": 0.5, "memory": "1Gi", "example.com/gpu": 1}},
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5.0},
            }
        ],
        "overhead": {"cpu": "250m"},
    },
}
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["containers", "name", "ports", "resources", "labels"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def test_a_sound_object_has_no_faults() -> None:
    """Nulls, whole floats, numbers as quantities and free objects are all well."""
    assert builtin_unknown_fields("Pod", SOUND) == []
    assert builtin_type_fault("Pod", SOUND) == ""


def test_unknown_fields_are_named_and_dropped() -> None:
    """At the root, in lists and below; keys of maps are free."""
    pod = copy.deepcopy(SOUND)
    pod["extra"] = 1
    pod["metadata"]["nodeSelector"] = {}
    pod["spec"]["containers"][0]["imag"] = "x"
    pod["spec"]["containers"][0]["resources"]["request"] = {}
    unknown = ["extra", "metadata.nodeSelector", "spec.containers[0].imag", "spec.containers[0].resources.request"]

    assert builtin_unknown_fields("Pod", pod) == unknown
    assert prune_builtin("Pod", pod) == unknown
    assert pod == SOUND


def test_fields_of_embedded_types_are_known() -> None:
    """A volume's source and a probe's handler stand among their own fields."""
    pod = {
        "apiVersion": "v1",
        "spec": {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}]},
    }

    assert builtin_unknown_fields("Pod", pod) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (
            {"containers": "x"},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        ({"priority": "x"}, "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32"),
        (
            {"priority": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
        ),
        ({"priority": 2**31}, "json: cannot unmarshal number into Go struct field PodSpec.spec.priority of type int32"),
        (
            {"affinity": []},
            "json: cannot unmarshal array into Go struct field PodSpec.spec.affinity of type v1.Affinity",
        ),
        (
            {"nodeSelector": {"a": 1}},
            "json: cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector of type string",
        ),
        (
            {"containers": [{"name": True}]},
            "json: cannot unmarshal bool into Go struct field Container.spec.containers.name of type string",
        ),
        (
            {"overhead": {"cpu": "1 core"}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_wrong_types_are_worded_as_by_the_decoder(spec: dict[str, Any], fault: str) -> None:
    """The first of them, with type and path."""
    assert builtin_type_fault("Pod", {"apiVersion": "v1", "spec": spec}) == fault


def test_a_broken_time_is_named() -> None:
    """Times must be RFC 3339."""
    fault = builtin_type_fault("Pod", {"apiVersion": "v1", "metadata": {"creationTimestamp": "today"}})

    assert fault.startswith('parsing time "today"')


def test_kinds_outside_the_table_have_no_faults() -> None:
    """Nothing is known of them."""
    assert builtin_unknown_fields("Thing", {"apiVersion": "x/v1", "spec": {"a": 1}}) == []
    assert builtin_type_fault("Thing", {"apiVersion": "x/v1", "spec": 1}) == ""


@given(ODD, ODD)
def test_odd_objects_never_break(spec: Any, metadata: Any) -> None:
    """Whatever stands where, there is an answer, and pruning leaves nothing unknown."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": spec}

    builtin_type_fault("Pod", pod)
    prune_builtin("Pod", pod)

    assert builtin_unknown_fields("Pod", pod) == []
