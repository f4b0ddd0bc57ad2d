"""Declarations of watched kinds, and their objects."""

from typing import Any

import pytest

from pyroclast.model.errors import ObjectError
from pyroclast.model.watched import Unstructured, WatchedKind
from pyroclast.model.wire import Broken, WatchEvent
from pyroclast.model.wire.unstructured import UnstructuredDecoder

LICENCE: dict[str, Any] = {"version": "v1", "group": "example.com", "resource": "licences", "kind": "Licence"}
DECODER = UnstructuredDecoder("Licence", "example.com/v1")


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({}, "licences.v1.example.com"),
        ({"namespace": "a"}, "licences.v1.example.com/a"),
        ({"labels": {"b": "2", "a": "1"}}, "licences.v1.example.com?a=1,b=2"),
        ({"group": "", "resource": "pods", "kind": "Pod"}, "pods.v1."),
    ],
)
def test_a_kind_is_named_by_all_that_is_watched(parts: dict[str, Any], name: str) -> None:
    """Equal declarations have equal names, so that they share a watch."""
    assert WatchedKind(**LICENCE | parts).name == name


@pytest.mark.parametrize(
    ("parts", "part"),
    [
        ({"group": "Example"}, "group"),
        ({"version": "v1/../pods"}, "version"),
        ({"resource": ""}, "resource"),
        ({"resource": "a/b"}, "resource"),
        ({"kind": "licence"}, "kind"),
        ({"namespace": "a/../b"}, "namespace"),
        ({"namespace": "a", "is_namespaced": False}, "namespace"),
        ({"labels": {"a": "b&watch=1"}}, "labels"),
        ({"labels": {f"l{number}": "" for number in range(17)}}, "labels"),
    ],
)
def test_a_part_that_kubernetes_does_not_accept_is_refused(parts: dict[str, Any], part: str) -> None:
    """The parts become parts of paths and queries."""
    with pytest.raises(ValueError, match=part):
        WatchedKind(**LICENCE | parts)


def test_a_part_of_another_type_is_refused() -> None:
    """Plugins are not checked for types."""
    with pytest.raises(TypeError, match="group: expected a text, got int"):
        WatchedKind(**LICENCE | {"group": 1})


def test_objects_are_read_only_at_every_depth_and_have_no_managed_fields() -> None:
    """A plugin that writes fails, and the state of others does not change."""
    text = b'{"metadata":{"name":"a","managedFields":[1]},"spec":{"seats":[{"n":1}],"x":null}}'
    licence = DECODER.decode(text)

    with pytest.raises(TypeError, match="read-only"):
        licence["spec"]["seats"][0]["n"] = 2
    assert licence == {
        "apiVersion": "example.com/v1",
        "kind": "Licence",
        "metadata": {"name": "a"},
        "spec": {"seats": [{"n": 1}], "x": None},
    }
    assert (licence.metadata.name, licence.size) == ("a", len(text))


def test_objects_of_lists_and_watches_are_decoded_apart() -> None:
    """A broken object costs no other."""
    page = DECODER.page(
        b'{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":1}},3]}'
    )
    event = DECODER.event(b'{"type":"ADDED","object":{"metadata":{"name":"b"}}}')
    broken = DECODER.event(b'{"type":"ADDED","object":{"metadata":[]}}')

    assert (page.resource_version, [item.metadata.name for item in page.items], len(page.broken)) == ("7", ["a"], 2)
    assert isinstance(event, WatchEvent)
    assert event.object["kind"] == "Licence"
    assert isinstance(broken, Broken)


def test_a_deeply_nested_object_is_cut() -> None:
    """The API server takes ten thousand levels."""
    deep = b'{"metadata":{"name":"a"},"spec":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}"

    assert DECODER.decode(deep).metadata.name == "a"


def test_a_declaration_selects_objects_of_files() -> None:
    """As the API server does with the selectors of a watch."""
    kind = WatchedKind(**LICENCE, namespace="n", labels={"a": "1"})

    def selects(**metadata: Any) -> bool:
        item = Unstructured({"apiVersion": "example.com/v1", "kind": "Licence", "metadata": metadata})
        return kind.selects(item, item.metadata)

    assert selects(namespace="n", labels={"a": "1", "b": "2"})
    assert not selects(namespace="m", labels={"a": "1"})
    assert not selects(namespace="n", labels={"a": "2"})
    other = Unstructured({"apiVersion": "example.com/v2", "kind": "Licence", "metadata": {"labels": {"a": "1"}}})
    assert not kind.selects(other, other.metadata)


def test_a_value_that_json_does_not_have_is_a_fault_of_the_object() -> None:
    """Objects of files are YAML."""
    with pytest.raises(ObjectError, match="keys"):
        DECODER.convert({"metadata": {"name": "a"}, "spec": {(1, 2): 3}})


def test_an_object_without_metadata_of_the_right_type_is_named() -> None:
    """As any broken object."""
    with pytest.raises(ObjectError, match="metadata"):
        DECODER.convert({"metadata": {"name": "a", "labels": {"b": 1}}})
