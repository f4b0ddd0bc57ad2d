"""Server-side apply and the bookkeeping of field managers."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.emulator.apply import ApplyConflict, ApplyError, apply, track
from pyroclast.emulator.fieldsets import added_fields, changes, decode_fields, encode_added, encode_fields
from pyroclast.emulator.layouts import layout_of

NOON = "2026-01-01T12:00:00Z"
LATER = "2026-01-01T13:00:00Z"

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "tasks": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}},
                },
                "zones": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "args": {"type": "array", "items": {"type": "string"}},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
                "free": {"type": "object", "additionalProperties": {"type": "integer"}},
                "n": {"type": "integer"},
            },
        }
    },
}
NAMES = st.sampled_from(["a", "b", "c"])
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "tasks": st.dictionaries(NAMES, st.integers(0, 2), max_size=3).map(
            lambda items: [{"name": name, "n": n} for name, n in items.items()]
        ),
        "zones": st.lists(NAMES, unique=True, max_size=3),
        "args": st.lists(NAMES, max_size=3),
        "whole": st.dictionaries(NAMES, st.integers(0, 2), max_size=2),
        "free": st.dictionaries(NAMES, st.integers(0, 2), max_size=2),
        "n": st.integers(0, 2),
    },
)


def deployment(**spec: Any) -> dict[str, Any]:
    """A deployment with this spec."""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def pod_template(*containers: dict[str, Any]) -> dict[str, Any]:
    """A template of a pod with these containers."""
    return {"spec": {"containers": list(containers)}}


def thing(**spec: Any) -> dict[str, Any]:
    """A custom object with this spec."""
    return {"apiVersion": "x/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}


def applied(
    live: dict[str, Any] | None, wish: dict[str, Any], manager: str = "me", *, force: bool = False, now: str = NOON
) -> dict[str, Any]:
    """What applying leaves, by the rules of the object's kind."""
    schema = SCHEMA if wish["kind"] == "Thing" else None
    return apply(live, wish, manager=manager, force=force, now=now, kind=wish["kind"], schema=schema)


def updated(
    live: dict[str, Any] | None, after: dict[str, Any], manager: str = "editor", now: str = NOON
) -> dict[str, Any]:
    """The object as an update leaves it."""
    after = copy.deepcopy(after)
    schema = SCHEMA if after["kind"] == "Thing" else None
    after["metadata"]["managedFields"] = track(
        live, after, manager=manager, operation="Update", now=now, kind=after["kind"], schema=schema
    )
    return after


def owned(obj: dict[str, Any], manager: str) -> dict[str, Any]:
    """The fields of a manager's entry."""
    (entry,) = [entry for entry in obj["metadata"]["managedFields"] if entry["manager"] == manager]
    fields: dict[str, Any] = entry["fieldsV1"]
    return fields


def managers(obj: dict[str, Any]) -> list[str]:
    """Managers that own something."""
    return [entry["manager"] for entry in obj["metadata"]["managedFields"]]


def test_applying_anew_owns_exactly_what_was_wished() -> None:
    """The entry lists leaves, and list items by their keys, defaults of keys included."""
    obj = applied(
        None,
        deployment(replicas=2, template=pod_template({"name": "a", "ports": [{"containerPort": 80}]})),
    )

    assert obj["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": NOON,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:replicas": {},
                    "f:template": {
                        "f:spec": {
                            "f:containers": {
                                'k:{"name":"a"}': {
                                    ".": {},
                                    "f:name": {},
                                    "f:ports": {
                                        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}
                                    },
                                }
                            }
                        }
                    },
                }
            },
        }
    ]


def test_applying_the_same_again_changes_nothing() -> None:
    """Neither the object nor its times move."""
    wish = deployment(replicas=2)
    once = applied(None, wish)

    assert applied(once, wish, now=LATER) == once


def test_a_field_no_longer_wished_is_removed_when_nobody_else_owns_it() -> None:
    """A dropped label, container and field go; what others own stays."""
    wish = deployment(replicas=2, paused=True, template=pod_template({"name": "a", "image": "i"}, {"name": "b"}))
    live = applied(None, wish)
    live = applied(live, deployment(paused=True), "other")

    shrunk = applied(live, deployment(replicas=2, template=pod_template({"name": "a"})))

    assert shrunk["spec"] == {"replicas": 2, "paused": True, "template": pod_template({"name": "a"})}


def test_what_others_added_to_a_merged_list_stays() -> None:
    """Applying a list of containers keeps an injected one, in its place."""
    live = applied(None, deployment(template=pod_template({"name": "a"}, {"name": "b"})))
    injected = copy.deepcopy(live)
    injected["spec"]["template"]["spec"]["containers"].insert(1, {"name": "sidecar"})
    live = updated(live, injected, "injector")

    again = applied(live, deployment(template=pod_template({"name": "a", "tty": True}, {"name": "b"})))

    assert [item["name"] for item in again["spec"]["template"]["spec"]["containers"]] == ["a", "sidecar", "b"]
    assert again["spec"]["template"]["spec"]["containers"][0] == {"name": "a", "tty": True}


def test_another_value_for_anothers_field_is_a_conflict() -> None:
    """The refusal names the owner and the field, in the API server's words."""
    live = applied(None, deployment(replicas=2))

    with pytest.raises(ApplyConflict) as refusal:
        applied(live, deployment(replicas=3), "other")

    assert [(one.manager, one.field) for one in refusal.value.conflicts] == [("me", ".spec.replicas")]
    assert str(refusal.value) == 'Apply failed with 1 conflict: conflict with "me": .spec.replicas'
    assert refusal.value.causes() == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "me"', "field": ".spec.replicas"}
    ]


def test_conflicts_with_updaters_name_their_version() -> None:
    """Several fields are listed by their owner."""
    live = updated(None, deployment(replicas=2, template=pod_template({"name": "a", "image": "i"})))

    with pytest.raises(ApplyConflict) as refusal:
        applied(live, deployment(replicas=3, template=pod_template({"name": "a", "image": "j"})))

    assert str(refusal.value) == (
        'Apply failed with 2 conflicts: conflicts with "editor" using apps/v1:\n'
        "- .spec.replicas\n"
        '- .spec.template.spec.containers[name="a"].image'
    )


def test_force_takes_the_field_over() -> None:
    """The former owner loses it."""
    live = applied(None, deployment(replicas=2, paused=True))

    forced = applied(live, deployment(replicas=3), "other", force=True)

    assert forced["spec"]["replicas"] == 3
    assert owned(forced, "me") == {"f:spec": {"f:paused": {}}}
    assert owned(forced, "other") == {"f:spec": {"f:replicas": {}}}


def test_the_same_value_is_shared() -> None:
    """Two appliers may own a field together, and it goes only with the last of them."""
    live = applied(applied(None, deployment(replicas=2)), deployment(replicas=2), "other")
    assert managers(live) == ["me", "other"]

    left = applied(live, deployment(), "me")
    assert left["spec"] == {"replicas": 2}

    assert "replicas" not in applied(left, deployment(), "other").get("spec", {})


def test_an_object_never_tracked_belongs_to_before_first_apply() -> None:
    """Its fields conflict like anybody's."""
    live = deployment(replicas=1)

    with pytest.raises(ApplyConflict) as refusal:
        applied(live, deployment(replicas=2))

    assert refusal.value.conflicts[0].manager == "before-first-apply"


def test_apply_leaves_its_inputs_alone() -> None:
    """Neither the live object nor the wish is changed."""
    live = applied(None, deployment(replicas=2, template=pod_template({"name": "a"})))
    wish = deployment(replicas=2)
    before = copy.deepcopy((live, wish))

    applied(live, wish)

    assert (live, wish) == before


def test_a_list_that_names_a_key_twice_is_refused() -> None:
    """Such a wish cannot be merged."""
    with pytest.raises(ApplyError, match="duplicate entries"):
        applied(None, deployment(template=pod_template({"name": "a"}, {"name": "a"})))


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        (deployment(replica=1), ".spec.replica"),
        (
            deployment(template=pod_template({"name": "a", "imag": "i"})),
            '.spec.template.spec.containers[name="a"].imag',
        ),
        (thing(tasks=[{"name": "a", "size": 1}]), '.spec.tasks[name="a"].size'),
        (thing() | {"extra": 1}, ".extra"),
    ],
)
def test_a_field_that_the_kind_does_not_have_is_refused(wish: dict[str, Any], field: str) -> None:
    """Server-side apply is strict whatever the validation asked for."""
    with pytest.raises(ApplyError) as refusal:
        applied(None, wish)

    name = f"/{wish['metadata']['name']}; {wish['apiVersion']}, Kind={wish['kind']}"
    assert str(refusal.value) == f"failed to create typed patch object ({name}): {field}: field not declared in schema"


def test_kinds_of_which_nothing_is_known_take_every_field() -> None:
    """Without a schema there is nothing to check by."""
    wish = {"apiVersion": "y/v1", "kind": "Other", "metadata": {"name": "o"}, "anything": {"goes": [1]}}

    assert applied(None, wish)["anything"] == {"goes": [1]}


def test_custom_lists_merge_as_their_schema_says() -> None:
    """Maps by key, sets by value, other lists and atomic objects as a whole."""
    live = applied(None, thing(tasks=[{"name": "a"}], zones=["x"], args=["1"], whole={"a": 1}))

    both = applied(live, thing(tasks=[{"name": "b"}], zones=["y"]), "other")
    assert [task["name"] for task in both["spec"]["tasks"]] == ["a", "b"]
    assert both["spec"]["zones"] == ["x", "y"]
    assert owned(both, "other") == {
        "f:spec": {"f:tasks": {'k:{"name":"b"}': {".": {}, "f:name": {}}}, "f:zones": {'v:"y"': {}}}
    }

    with pytest.raises(ApplyConflict) as refusal:
        applied(live, thing(args=["2"], whole={"b": 1}), "other")
    assert [one.field for one in refusal.value.conflicts] == [".spec.args", ".spec.whole"]


def test_creating_owns_what_is_there() -> None:
    """The creator's entry marks maps and list items, not what every pod has."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}], "resources": {}}]},
    }

    assert owned(updated(None, pod), "editor") == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:containers": {
                'k:{"name":"a"}': {
                    ".": {},
                    "f:env": {".": {}, 'k:{"name":"X"}': {".": {}, "f:name": {}, "f:value": {}}},
                    "f:name": {},
                    "f:resources": {},
                }
            }
        },
    }


def test_presence_from_the_start_ends_at_lists() -> None:
    """A deployment has its template from the start; a container has its resources only from its own."""
    made = updated(None, deployment(template=pod_template({"name": "a", "resources": {"limits": {"cpu": "1"}}})))

    assert owned(made, "editor")["f:spec"]["f:template"] == {
        "f:spec": {
            "f:containers": {
                'k:{"name":"a"}': {
                    ".": {},
                    "f:name": {},
                    "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}},
                }
            }
        }
    }


def test_an_empty_part_that_is_always_there_is_nobodys() -> None:
    """A new deployment's empty status and strategy are no fields of its creator."""
    made = updated(None, deployment(replicas=1, strategy={}) | {"status": {}})

    assert owned(made, "editor") == {"f:spec": {"f:replicas": {}}}


def test_updating_takes_what_it_changes() -> None:
    """An update needs no force: the former owner loses the field, and the time is the update's."""
    live = applied(None, deployment(replicas=2, paused=True))
    after = copy.deepcopy(live)
    after["spec"]["replicas"] = 5
    after = updated(live, after, now=LATER)

    assert owned(after, "me") == {"f:spec": {"f:paused": {}}}
    assert owned(after, "editor") == {"f:spec": {"f:replicas": {}}}
    assert [entry["time"] for entry in after["metadata"]["managedFields"]] == [NOON, LATER]


def test_an_update_that_changes_nothing_leaves_managed_fields_alone() -> None:
    """Also the writer's own time."""
    live = updated(None, deployment(replicas=2))

    assert updated(live, live, now=LATER) == live


def test_removing_a_field_removes_it_from_all_owners() -> None:
    """A manager without fields has no entry."""
    live = applied(None, deployment(replicas=2))
    after = updated(live, deployment() | {"metadata": copy.deepcopy(live["metadata"])})

    assert managers(after) == []


def test_untracked_objects_stay_untracked() -> None:
    """An update of an object without managedFields does not start them."""
    assert track(deployment(), deployment(replicas=2), manager="m", operation="Update", now=NOON) == []


def test_managed_fields_can_be_edited_and_reset() -> None:
    """An update may replace the entries; the list of one empty entry clears them."""
    live = applied(None, deployment(replicas=2))
    edited = copy.deepcopy(live)
    edited["metadata"]["managedFields"][0]["manager"] = "renamed"
    reset = copy.deepcopy(live)
    reset["metadata"]["managedFields"] = [{}]

    assert managers(updated(live, edited)) == ["renamed"]
    assert managers(updated(live, reset)) == []


def test_dropping_managed_fields_does_not_lose_them() -> None:
    """Clients that know nothing of them send none; the live ones count."""
    live = applied(None, deployment(replicas=2))

    assert managers(updated(live, deployment(replicas=2))) == ["me"]


def test_subresources_have_entries_of_their_own() -> None:
    """A writer of the status stands apart from the same writer of the object."""
    live = updated(None, deployment(replicas=2))
    after = copy.deepcopy(live) | {"status": {"replicas": 2}}

    entries = track(
        live, after, manager="editor", operation="Update", now=NOON, subresource="status", kind="Deployment"
    )

    assert [entry.get("subresource") for entry in entries] == [None, "status"]
    assert entries[1]["fieldsV1"] == {"f:status": {"f:replicas": {}}}


@given(SPECS, SPECS)
def test_apply_twice_is_apply_once(first: dict[str, Any], second: dict[str, Any]) -> None:
    """From any start, the second time changes nothing, and every wish is granted."""
    live = applied(None, thing(**first), "other")

    once = applied(live, thing(**second), force=True)

    assert applied(once, thing(**second), now=LATER) == once
    for key, value in second.items():
        if key in ("args", "whole", "n"):
            assert once["spec"][key] == value


@given(SPECS, SPECS)
def test_a_lone_applier_gets_exactly_its_last_wish(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Nothing of the wish before remains, but for empty containers."""
    obj = applied(applied(None, thing(**first)), thing(**second))

    left = {key: value for key, value in obj.get("spec", {}).items() if value not in ({}, [])}
    assert left == {key: value for key, value in second.items() if value not in ({}, [])}


@given(SPECS)
def test_the_short_way_of_creation_is_the_long_way(spec: dict[str, Any]) -> None:
    """The first entry of an object lists the fields that are found one by one."""
    for obj, schema in ((thing(**spec), SCHEMA), (deployment(template={"spec": spec}, strategy={}), None)):
        layout = layout_of(obj["apiVersion"], obj["kind"], schema)
        assert encode_added(obj, layout) == encode_fields(added_fields(obj, layout))


@given(SPECS, SPECS)
def test_changes_lead_from_one_state_to_the_other(first: dict[str, Any], second: dict[str, Any]) -> None:
    """What was, without the removed and with the changed fields, is what is."""
    old, new = thing(**first), thing(**second)
    layout = layout_of(old["apiVersion"], "Thing", SCHEMA)

    changed, removed = changes(old, new, layout)

    everything_new = added_fields(new, layout)
    assert changed <= everything_new
    assert not removed & everything_new
    assert everything_new <= (added_fields(old, layout) - removed) | changed


@given(SPECS, SPECS)
def test_managed_fields_survive_their_own_notation(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Written and read again, a set of fields is the same."""
    obj = applied(updated(None, thing(**first)), thing(**second), force=True)

    for entry in obj["metadata"]["managedFields"]:
        assert encode_fields(decode_fields(entry["fieldsV1"])) == entry["fieldsV1"]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["containers", "name", "ports", "env", "finalizers", "labels", "conditions", "volumes"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(ODD, ODD, ODD)
def test_odd_objects_never_break(spec: Any, wish: Any, entries: Any) -> None:
    """Whatever stands where, the outcome is an object, a conflict or an apply error."""
    live = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "managedFields": entries},
        "spec": spec,
        "status": wish,
    }
    wished = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": spec}, "spec": wish}

    track(live, wished, manager="m", operation="Update", now=NOON, kind="Pod")
    with contextlib.suppress(ApplyConflict, ApplyError):
        assert isinstance(applied(live, wished), dict)
