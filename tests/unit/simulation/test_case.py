"""Cases: what their fields mean, and how a wrong one is reported."""

from typing import Any

import pytest

from pyroclast.scheduler.simulation.case import WITHOUT_TIMES, YEAR_SECONDS, read_case, read_moment
from pyroclast.scheduler.simulation.fields import CaseError
from tests.unit.simulation.builders import node


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ([], "the case: expected a JSON object, got list"),
        ({"objects": {"pods": {}}}, "objects.pods: expected a list, got dict"),
        ({"objects": {"pods": [1]}}, "objects.pods[0]: expected an object, got int"),
        ({"config": 3}, "config: expected a mapping or a text, got int"),
        ({"rounds": "2"}, "rounds: expected a whole number, got '2'"),
        ({"recreateEvicted": 1}, "recreateEvicted: expected true or false, got 1"),
        ({"shard": {"mode": "hrad"}}, "shard.mode: expected one of none, hard, soft, got 'hrad'"),
        ({"now": "soon"}, "now: 'soon' is no time"),
        ({"now": "9999-12-31T23:59:59Z"}, "now: got '9999-12-31T23:59:59Z', expected a time from the year 1970"),
        ({"now": "0001-01-01T00:00:00+23:59"}, "now: got '0001-01-01T00:00:00+23:59', expected a time from"),
        ({"now": 2**63}, "now: got 9223372036854775808, expected a time from the year 1970 to the year 9997"),
        ({"now": -1}, "now: got -1, expected a time from the year 1970 to the year 9997"),
        ({"now": float("nan")}, "now: got nan, expected a time from the year 1970 to the year 9997"),
        ({"now": 10**400}, "now: 1"),
        (
            {"objects": {"pods": [{"metadata": {"name": "p", "creationTimestamp": "9999-01-01T00:00:00Z"}}]}},
            "Pod p: metadata.creationTimestamp: got '9999-01-01T00:00:00Z', expected a time before the year 9997",
        ),
        ({"schedulerNames": "a"}, "schedulerNames: expected a list, got str"),
        ({"schedulerNames": [1]}, "schedulerNames[0]: expected a name, got 1"),
    ],
)
def test_a_wrong_field_is_named(raw: Any, fault: str) -> None:
    """With what was expected and what was found."""
    with pytest.raises(CaseError) as error:
        read_case(raw)

    assert str(error.value).startswith(fault)


@pytest.mark.parametrize("name", ["podGroups", "podgroups", "PodGroups"])
def test_lists_of_objects_go_by_kind(name: str) -> None:
    """However the plural is cased; objects need not say their kind."""
    case = read_case({"objects": {name: [{"metadata": {"name": "g"}}]}})

    assert [each["kind"] for each in case.objects] == ["PodGroup"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("priorityClasses", "PriorityClass"),
        ("storageClasses", "StorageClass"),
        ("csiStorageCapacities", "CSIStorageCapacity"),
        ("hyperNodes", "HyperNode"),
        ("numatopologies", "Numatopology"),
        ("resourceQuotas", "ResourceQuota"),
    ],
)
def test_plurals_of_every_shape(name: str, kind: str) -> None:
    """As Kubernetes forms them."""
    assert [each["kind"] for each in read_case({"objects": {name: [{}]}}).objects] == [kind]


def test_objects_may_be_one_list() -> None:
    """Kinds of objects that name their kinds, as a List of kubectl."""
    item = {"kind": "Node", "metadata": {"name": "n"}}

    assert read_case({"objects": [item]}).objects == (item,)
    assert read_case({"objects": {"kind": "List", "items": [item]}}).objects == ({"kind": "List", "items": [item]},)


def test_an_unknown_list_is_warned_of() -> None:
    """With the nearest name."""
    (warning,) = read_case({"objects": {"pod": []}}).warnings

    assert "objects.pod" in warning
    assert "pods" in warning


def test_now_is_the_cases_own() -> None:
    """A time, or seconds since 1970, as a number or a text."""
    assert read_case({"now": "1970-01-01T00:01:00Z"}).now == 60.0
    assert read_moment(61) == 61.0
    assert read_moment("62.5") == 62.5


def test_without_now_it_is_a_year_after_the_newest_object() -> None:
    """Inside Lists too."""
    created = {"creationTimestamp": "1970-01-01T00:00:10Z"}
    older = {"creationTimestamp": "1970-01-01T00:00:05Z"}
    listed = {"kind": "List", "items": [{"kind": "Pod", "metadata": created}]}

    assert read_case({"objects": [listed, {"kind": "Pod", "metadata": older}]}).now == 10 + YEAR_SECONDS


def test_objects_of_the_far_future_are_decided_where_the_moment_is_given() -> None:
    """Their time is valid; only a moment after it is none."""
    pods = [{"metadata": {"name": "p", "creationTimestamp": "9999-01-01T00:00:00Z"}}]

    assert read_case({"objects": {"pods": pods}, "now": 1000}).now == 1000.0


def test_without_any_time_it_is_2027() -> None:
    """The first of January; a broken time is none."""
    assert read_case({}).now == WITHOUT_TIMES == 1798761600
    assert read_case({"objects": {"pods": [{"metadata": {"creationTimestamp": "x"}}]}}).now == WITHOUT_TIMES


def test_seed_is_the_cases_own_before_the_batchs() -> None:
    """`seed` of the case, else `--seed`."""
    assert read_case({"seed": 3}, seed=9).seed == 3
    assert read_case({}, seed=9).seed == 9


def test_shard_becomes_an_object() -> None:
    """And the options of the books name it."""
    case = read_case({"shard": {"mode": "soft", "name": "mine", "nodes": ["n1"]}})

    assert (case.state.shard_mode, case.state.shard_name) == ("soft", "mine")
    assert case.objects[0]["spec"] == {"nodesDesired": ["n1"]}
    assert case.objects[0]["metadata"] == {"name": "mine"}


def test_the_moment_of_a_dump_holds() -> None:
    """Unless the case names one."""
    dump = {"kind": "List", "now": 1_800_000_000.5, "items": [{"kind": "Node", **node("n1")}]}

    assert read_case({"objects": dump}).now == 1_800_000_000.5
    assert read_case({"objects": dump, "now": 5}).now == 5.0
    with pytest.raises(CaseError, match="now: 'noon' is no time"):
        read_case({"objects": {**dump, "now": "noon"}})


def test_measurements_are_objects_of_a_case() -> None:
    """Kinds by the name of their list."""
    measured = {"metadata": {"name": "n1"}, "cpuPercent": 1, "memoryPercent": 1, "measured": 5}

    made = read_case({"objects": {"nodeUsages": [measured]}})

    assert made.objects == ({"kind": "NodeUsage", **measured},)
    assert made.warnings == ()
