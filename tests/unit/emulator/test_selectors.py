"""Label and field selectors, as text and as objects."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.emulator.storage.selectors import (
    FieldRequirement,
    SelectorError,
    check_fields,
    field_selector_matches,
    field_value,
    label_selector_matches,
    parse_field_selector,
    parse_label_selector,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["a", "b", "example.com/c"])
VALUES = st.sampled_from(["", "x", "y", "in"])
LABELS = st.dictionaries(KEYS, VALUES, max_size=3)


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ("", {}, True),
        ("a=x", {"a": "x"}, True),
        ("a==x", {"a": "x"}, True),
        ("a=x", {"a": "y"}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=x", {}, True),
        ("a!=x", {"a": "x"}, False),
        ("a in (x, y)", {"a": "y"}, True),
        ("a in (x)", {}, False),
        ("a notin (x)", {}, True),
        ("a notin (x)", {"a": "x"}, False),
        ("a in ()", {"a": ""}, True),
        ("a in (,x)", {"a": ""}, True),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": ""}, False),
        ("a>1", {"a": "2"}, True),
        ("a<1", {"a": "2"}, False),
        ("a>1", {"a": "x"}, False),
        ("a=x,b notin (y),!c,example.com/d", {"a": "x", "b": "x", "example.com/d": ""}, True),
        ("a in (in, notin)", {"a": "notin"}, True),
    ],
)
def test_label_selectors(selector: str, labels: dict[str, str], selected: bool) -> None:
    """Each operator on present, absent and empty labels."""
    assert parse_label_selector(selector)(labels) is selected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a x", "unable to parse requirement: found 'x', expected: in, notin, =, ==, !=, gt, lt"),
        ("a,", "found '', expected: identifier after ','"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("!a=x", "found '=', expected: ',' or 'end of string'"),
    ],
)
def test_broken_label_selectors_are_named(selector: str, message: str) -> None:
    """In the words of the API server."""
    with pytest.raises(SelectorError) as error:
        parse_label_selector(selector)

    assert str(error.value) == message


@pytest.mark.parametrize("selector", ["-a", "a/b/c", "/a", "x" * 64, "a=-", "a=" + "x" * 64, "a>b", "A_/b"])
def test_keys_and_values_must_be_well_formed(selector: str) -> None:
    """Keys are qualified names, values short words, bounds numbers."""
    with pytest.raises(SelectorError, match="Invalid value"):
        parse_label_selector(selector)


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        (None, {"a": "x"}, False),
        ({}, {"a": "x"}, True),
        ({"matchLabels": {"a": "x"}}, {"a": "x", "b": "y"}, True),
        ({"matchLabels": {"a": "x"}}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}, {"a": "x"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {}, True),
        (
            {"matchLabels": {"a": "x"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]},
            {"a": "x"},
            False,
        ),
    ],
)
def test_selector_objects(selector: dict[str, Any] | None, labels: dict[str, str], selected: bool) -> None:
    """None selects nothing, the empty one everything, and all terms must hold."""
    assert label_selector_matches(selector, labels) is selected


@pytest.mark.parametrize(
    "selector",
    [
        {"matchExpressions": [{"key": "a", "operator": "Like"}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
        {"matchExpressions": ["a"]},
        {"matchLabels": ["a"]},
        ["a"],
    ],
)
def test_broken_selector_objects_are_refused(selector: Any) -> None:
    """Unknown operators, and values where they must or must not be."""
    with pytest.raises(SelectorError):
        label_selector_matches(selector, {"a": "x"})


@given(LABELS, LABELS)
def test_text_and_object_select_the_same(wanted: dict[str, str], labels: dict[str, str]) -> None:
    """`a=x,b=y` is matchLabels."""
    text = ",".join(f"{key}={value}" for key, value in wanted.items())

    assert parse_label_selector(text)(labels) is label_selector_matches({"matchLabels": wanted}, labels)


@given(KEYS, st.lists(VALUES, min_size=1, max_size=3), LABELS)
def test_notin_is_the_opposite_of_in(key: str, values: list[str], labels: dict[str, str]) -> None:
    """For every set of labels one of the two holds."""
    listed = ",".join(values)

    assert parse_label_selector(f"{key} in ({listed})")(labels) is not parse_label_selector(f"{key} notin ({listed})")(
        labels
    )


def test_field_selectors_are_split_into_terms() -> None:
    """Both operators, the empty value, and escaped characters."""
    assert parse_field_selector("spec.nodeName=,status.phase!=Failed,metadata.name==a\\,b\\=c\\\\") == [
        FieldRequirement(path="metadata.name", op="=", value="a,b=c\\"),
        FieldRequirement(path="spec.nodeName", op="=", value=""),
        FieldRequirement(path="status.phase", op="!=", value="Failed"),
    ]
    assert parse_field_selector("") == []


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b\\d", "invalid field selector: invalid escape sequence: \\d"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_broken_field_selectors_are_named(selector: str, message: str) -> None:
    """In the words of the API server."""
    with pytest.raises(SelectorError) as error:
        parse_field_selector(selector)

    assert str(error.value) == message


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "ns"},
    "spec": {"nodeName": "n", "hostNetwork": True},
    "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]},
}
EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "involvedObject": {"kind": "Pod", "name": "p"},
    "source": {"component": "sched"},
    "reason": "r",
    "type": "Normal",
}


@pytest.mark.parametrize(
    ("obj", "path", "value"),
    [
        (POD, "metadata.name", "p"),
        (POD, "spec.nodeName", "n"),
        (POD, "status.phase", "Running"),
        (POD, "spec.hostNetwork", "true"),
        (POD, "status.podIPs", "10.0.0.1"),
        (POD, "spec.schedulerName", ""),
        ({"apiVersion": "v1", "kind": "Node"}, "spec.unschedulable", "false"),
        ({"apiVersion": "v1", "kind": "Node", "spec": {"unschedulable": True}}, "spec.unschedulable", "true"),
        (EVENT, "involvedObject.name", "p"),
        (EVENT, "source", "sched"),
        (EVENT, "type", "Normal"),
        ({"apiVersion": "batch/v1", "kind": "Job", "status": {"succeeded": 2}}, "status.successful", "2"),
    ],
)
def test_field_values(obj: dict[str, Any], path: str, value: str) -> None:
    """Fields are compared as texts; absent ones are empty or have their default."""
    assert field_value(obj, path) == value


def test_field_selectors_match_objects() -> None:
    """All terms must hold."""
    assert field_selector_matches(parse_field_selector("spec.nodeName=n,status.phase!=Failed"), POD)
    assert not field_selector_matches(parse_field_selector("spec.nodeName=n,status.phase!=Running"), POD)


@pytest.mark.parametrize(
    ("group", "kind", "message"),
    [
        ("", "Pod", "field label not supported: spec.color"),
        (
            "",
            "ConfigMap",
            '"spec.color" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("example.com", "Thing", "field label not supported: spec.color"),
    ],
)
def test_unsupported_fields_are_refused(group: str, kind: str, message: str) -> None:
    """As the API server words it for each sort of kind."""
    with pytest.raises(SelectorError) as error:
        check_fields(parse_field_selector("spec.color=red"), group, kind)
    assert str(error.value) == message


def test_custom_resources_may_declare_further_fields() -> None:
    """`selectableFields` are supported beside name and namespace."""
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"color": "red"}}
    requirements = parse_field_selector("spec.color=red,metadata.name=t")

    check_fields(requirements, "example.com", "Thing", selectable=["spec.color"])
    assert field_selector_matches(requirements, thing)


@given(st.text(alphabet="ab=!(),<> in\\.-/", max_size=12))
def test_any_text_parses_or_is_refused(text: str) -> None:
    """Nothing but a selector error comes out of a selector."""
    with contextlib.suppress(SelectorError):
        assert parse_label_selector(text)({"a": "b"}) in (True, False)
    with contextlib.suppress(SelectorError):
        field_selector_matches(parse_field_selector(text), POD)


@given(JSON, st.dictionaries(st.text(max_size=2), st.text(max_size=2)))
def test_odd_objects_never_break(odd: Any, labels: dict[str, str]) -> None:
    """Whatever stands in an object or selector, the answer is yes, no, or a selector error."""
    for selector in (odd, {"matchLabels": odd}, {"matchExpressions": odd}):
        with contextlib.suppress(SelectorError):
            assert label_selector_matches(selector, labels) in (True, False)
    for obj in ({"metadata": odd}, {"kind": "Pod", "apiVersion": "v1", "spec": odd, "status": {"podIPs": odd}}):
        with contextlib.suppress(SelectorError):
            field_value(obj, "status.podIPs")
            field_value(obj, "metadata.name")
