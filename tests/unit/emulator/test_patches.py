"""JSON patch, merge patch and strategic merge patch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.emulator.operations.patches import PatchError, json_patch, merge_patch, strategic_merge_patch

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)
DIRECTIVES = ["$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers"]
POD_KEYS = ["metadata", "spec", "finalizers", "containers", "name", "ports", "env", "ownerReferences", *DIRECTIVES]
POD_LIKE = st.recursive(
    st.none() | st.integers() | st.sampled_from(["delete", "replace", "merge", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(POD_KEYS), inner, max_size=4),
    max_leaves=20,
)


def pod(**spec: Any) -> dict[str, Any]:
    """A pod with this spec."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def patched_spec(spec: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The spec that a strategic merge patch of a pod's spec leaves."""
    result: dict[str, Any] = strategic_merge_patch(pod(**spec), {"spec": patch}, "Pod")["spec"]
    return result


def test_json_patch_adds_replaces_and_removes() -> None:
    """Operations run in order on a copy."""
    obj = {"a": {"b": 1}, "c": [1, 2]}

    patched = json_patch(
        obj,
        [
            {"op": "test", "path": "/a/b", "value": 1},
            {"op": "replace", "path": "/a/b", "value": 2},
            {"op": "add", "path": "/c/-", "value": 3},
            {"op": "remove", "path": "/c/0"},
        ],
    )

    assert patched == {"a": {"b": 2}, "c": [2, 3]}
    assert obj == {"a": {"b": 1}, "c": [1, 2]}


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "test", "path": "/a", "value": 2}],
        [{"op": "remove", "path": "/nothing"}],
        [{"op": "replace", "path": "/a/b/c", "value": 1}],
        [{"op": "sing", "path": "/a"}],
        [{"op": "add"}],
        [{"op": "add", "path": 3, "value": 1}],
        [{"op": "replace", "path": "", "value": []}],
        ["add"],
    ],
)
def test_json_patch_refuses_what_does_not_fit(operations: list[Any]) -> None:
    """A failed test, a missing place and a malformed operation are patch errors."""
    with pytest.raises(PatchError):
        json_patch({"a": 1}, operations)


def test_merge_patch_deletes_with_null_and_replaces_lists() -> None:
    """The example of RFC 7396: null deletes, objects merge, lists are replaced."""
    target = {"title": "Goodbye!", "author": {"givenName": "John", "familyName": "Doe"}, "tags": ["a", "b"]}

    patched = merge_patch(
        target, {"title": "Hello!", "author": {"familyName": None}, "tags": ["c"], "new": {"x": None}}
    )

    assert patched == {"title": "Hello!", "author": {"givenName": "John"}, "tags": ["c"], "new": {}}


@given(OBJECTS, OBJECTS)
def test_merge_patch_twice_is_merge_patch_once(obj: dict[str, Any], patch: dict[str, Any]) -> None:
    """Merging is idempotent, and leaves its inputs alone."""
    before = copy.deepcopy((obj, patch))

    once = merge_patch(obj, patch)

    assert merge_patch(once, patch) == once
    assert (obj, patch) == before


def test_strategic_merge_merges_containers_by_name() -> None:
    """A container of the same name is merged, one that is new goes before those the patch does not name."""
    spec = {"containers": [{"name": "a", "image": "old", "tty": True}, {"name": "b", "image": "b"}]}

    patched = patched_spec(spec, {"containers": [{"name": "a", "image": "new"}, {"name": "c", "image": "c"}]})

    assert patched["containers"] == [
        {"name": "a", "image": "new", "tty": True},
        {"name": "c", "image": "c"},
        {"name": "b", "image": "b"},
    ]


def test_strategic_merge_reaches_into_nested_lists() -> None:
    """Environment, ports and mounts merge by their own keys inside the container."""
    container = {
        "name": "a",
        "env": [{"name": "X", "value": "1"}],
        "ports": [{"containerPort": 80, "name": "http"}],
        "volumeMounts": [{"mountPath": "/m", "name": "v"}],
    }
    patch = {
        "name": "a",
        "env": [{"name": "X", "value": "2"}],
        "ports": [{"containerPort": 80, "name": "web"}],
        "volumeMounts": [{"mountPath": "/m", "name": "w"}],
    }

    assert patched_spec({"containers": [container]}, {"containers": [patch]})["containers"] == [patch]


def test_strategic_merge_replaces_atomic_lists() -> None:
    """Tolerations of pods and taints of nodes have no merge key: the patch's list stands."""
    spec = {"tolerations": [{"key": "a"}]}
    node = {"apiVersion": "v1", "kind": "Node", "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}

    assert patched_spec(spec, {"tolerations": [{"key": "b"}]})["tolerations"] == [{"key": "b"}]
    assert strategic_merge_patch(node, {"spec": {"taints": [{"key": "b"}]}}, "Node")["spec"]["taints"] == [{"key": "b"}]


def test_strategic_merge_merges_conditions_by_type() -> None:
    """A status condition is updated in place and keeps what the patch does not say."""
    obj = pod() | {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}}

    patched = strategic_merge_patch(obj, {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "Pod")

    assert patched["status"]["conditions"] == [{"type": "Ready", "status": "False", "reason": "r"}]


def test_strategic_merge_treats_finalizers_as_a_set() -> None:
    """Finalizers are added once and deleted by `$deleteFromPrimitiveList`."""
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": ["a", "b"]}}

    added = strategic_merge_patch(obj, {"metadata": {"finalizers": ["c", "a"]}}, "Pod")
    deleted = strategic_merge_patch(obj, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, "Pod")

    assert sorted(added["metadata"]["finalizers"]) == ["a", "b", "c"]
    assert deleted["metadata"]["finalizers"] == ["b"]


def test_strategic_merge_finalizers_merge_on_custom_kinds_too() -> None:
    """The metadata of an unknown kind is known; its other lists are replaced."""
    obj = {
        "apiVersion": "x/v1",
        "kind": "X",
        "metadata": {"finalizers": ["a"]},
        "spec": {"containers": [{"name": "a"}]},
    }

    patched = strategic_merge_patch(obj, {"metadata": {"finalizers": ["b"]}, "spec": {"containers": []}}, "X")

    assert patched["metadata"]["finalizers"] == ["b", "a"]
    assert patched["spec"]["containers"] == []


def test_strategic_merge_uses_the_kind_of_a_part() -> None:
    """Without apiVersion the built-in kind of that name counts, also outside the core group."""
    part = {"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "b"}]}}}}

    merged = strategic_merge_patch(part, patch, "Deployment")

    assert merged["spec"]["template"]["spec"]["containers"] == [{"name": "b"}, {"name": "a"}]


def test_delete_directive_removes_an_item_and_empties_an_object() -> None:
    """`$patch: delete` takes a list's item out; of an object nothing stays but the empty one."""
    spec = {"containers": [{"name": "a"}, {"name": "b"}], "affinity": {"nodeAffinity": {}}}

    patched = patched_spec(spec, {"containers": [{"name": "a", "$patch": "delete"}], "affinity": {"$patch": "delete"}})

    assert patched == {"containers": [{"name": "b"}], "affinity": {}}


def test_replace_directive_replaces_lists_and_objects() -> None:
    """`$patch: replace` puts the patch's content in place of what was there."""
    spec = {"containers": [{"name": "a"}, {"name": "b"}], "securityContext": {"runAsUser": 1}}

    patched = patched_spec(
        spec,
        {
            "containers": [{"name": "c"}, {"$patch": "replace"}],
            "securityContext": {"$patch": "replace", "runAsGroup": 2},
        },
    )

    assert patched == {"containers": [{"name": "c"}], "securityContext": {"runAsGroup": 2}}


def test_retain_keys_drops_the_other_members_of_a_union() -> None:
    """Changing a volume's source with `$retainKeys` leaves one source only."""
    spec = {"volumes": [{"name": "v", "emptyDir": {}}]}

    patched = patched_spec(
        spec, {"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}]}
    )

    assert patched["volumes"] == [{"name": "v", "configMap": {"name": "c"}}]


def test_set_element_order_orders_the_named_and_weaves_in_the_others() -> None:
    """Named items take the order given; an item only the server has keeps its place among them."""
    spec = {"containers": [{"name": "a"}, {"name": "sidecar"}, {"name": "b"}]}

    patched = patched_spec(
        spec,
        {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}],
            "containers": [{"name": "c", "image": "c"}],
        },
    )

    assert [container["name"] for container in patched["containers"]] == ["c", "a", "sidecar", "b"]


def test_set_element_order_alone_reorders() -> None:
    """An order without a list changes places only."""
    spec = {"containers": [{"name": "a"}, {"name": "b"}]}

    patched = patched_spec(spec, {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]})

    assert patched["containers"] == [{"name": "b"}, {"name": "a"}]


def test_null_deletes_and_new_objects_carry_no_nulls() -> None:
    """Null removes a field; inside a new object it leaves nothing behind."""
    patched = patched_spec({"nodeName": "n"}, {"nodeName": None, "affinity": {"podAffinity": None, "nodeAffinity": {}}})

    assert patched == {"affinity": {"nodeAffinity": {}}}


@pytest.mark.parametrize(
    "patch",
    [
        {"containers": [{"image": "x"}]},
        {"containers": ["x"]},
        {"affinity": {"$patch": "explode"}},
        {"affinity": {"$retainKeys": "x"}},
        {"$setElementOrder/containers": "x"},
        {"$deleteFromPrimitiveList/containers": "x"},
    ],
)
def test_strategic_merge_refuses_malformed_patches(patch: dict[str, Any]) -> None:
    """A missing merge key, an unknown directive and a malformed one are patch errors."""
    with pytest.raises(PatchError):
        patched_spec({"containers": [{"name": "a"}], "affinity": {"nodeAffinity": {}}}, patch)


@given(POD_LIKE.filter(lambda value: isinstance(value, dict)), POD_LIKE.filter(lambda value: isinstance(value, dict)))
def test_strategic_merge_never_breaks_on_odd_json(obj: dict[str, Any], patch: dict[str, Any]) -> None:
    """Whatever stands where, the outcome is an object or a patch error, and the inputs stay as they were."""
    target = {"apiVersion": "v1", "kind": "Pod", **obj}
    before = copy.deepcopy((target, patch))

    try:
        patched = strategic_merge_patch(target, patch, "Pod")
    except PatchError:
        pass
    else:
        assert isinstance(patched, dict)

    assert (target, patch) == before
