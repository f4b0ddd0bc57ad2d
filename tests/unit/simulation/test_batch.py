"""Batches: one answer a line, in order, whatever the lines hold."""

from typing import Any

import msgspec

from pyroclast.scheduler.registry import load_registry
from pyroclast.scheduler.simulation.batch import answer_lines
from tests.unit.simulation.builders import CONFIG, DEFAULT, answers, case, group, node, pod

FITS = case(nodes=[node("n1")], groups=[group(minimum=2)], pods=[pod("a"), pod("b")])


def only(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the one round of an answer."""
    (one,) = answer["rounds"]
    decided: dict[str, Any] = one
    return decided


def test_an_answer_has_every_field() -> None:
    """Those of the documentation, no more while nothing is wrong."""
    (answer,) = answers(FITS)

    assert set(answer) == {"id", "rounds", "seconds"}
    assert set(only(answer)) == {
        "beneficiaries",
        "binds",
        "evictions",
        "phases",
        "pipelined",
        "podRefusals",
        "refusals",
        "shares",
        "taskStatusCounts",
        "vetoes",
    }
    assert set(answer["seconds"]) == {"open", "enqueue", "allocate", "backfill", "lend", "close"}


def test_a_gang_that_fits_is_bound() -> None:
    """Binds by `ns/pod`, phase and counts by `ns/group`."""
    (answer,) = answers(FITS)

    assert only(answer)["binds"] == {"ns/a": "n1", "ns/b": "n1"}
    assert only(answer)["phases"] == {"ns/g": "Inqueue"}
    assert only(answer)["taskStatusCounts"] == {"ns/g": {"Binding": 2}}


def test_a_gang_that_does_not_fit_is_refused_with_counts() -> None:
    """The refusal names plugin, reason and nodes by reason, for the group and for the pod."""
    (answer,) = answers(case(nodes=[node("n1", cpu=1)], groups=[group(minimum=2)], pods=[pod("a"), pod("b")]))

    (refusal,) = only(answer)["refusals"]["ns/g"]
    assert (refusal["plugin"], refusal["reason"]) == ("gang", "NotEnoughResources")
    assert refusal["counts"] == {"Insufficient cpu": 1}
    assert only(answer)["podRefusals"]["ns/b"][0]["message"] == "0/1 nodes are unavailable: 1 Insufficient cpu."


def test_shares_are_quantities() -> None:
    """With drf in the configuration, the dominant resource of each job is shown."""
    config = {"actions": ["allocate"], "tiers": [{"plugins": [{"name": "gang"}, {"name": "drf"}]}]}
    (answer,) = answers({**FITS, "config": config})

    assert only(answer)["shares"]["ns/g"] == {
        "resource": "cpu",
        "share": 0.5,
        "allocated": {"cpu": "2", "pods": "2"},
    }


def test_a_bad_line_stops_nothing() -> None:
    """Each fault is answered in its place, the sound case between them is served."""
    first, second, third, fourth = answers("{", {"id": 7, "rounds": 0}, FITS, {**FITS, "config": {"actions": ["fly"]}})

    assert (first["id"], first["error"]["kind"]) == (None, "json")
    assert (second["id"], second["error"]) == (7, {"kind": "case", "message": "rounds: expected at least 1, got 0"})
    assert only(third)["binds"]
    assert fourth["error"]["kind"] == "config"
    assert "unknown action 'fly'" in fourth["error"]["message"]


def test_a_list_that_holds_no_objects_is_a_fault_of_the_objects() -> None:
    """Nothing can be left out of it that has a name."""
    (answer,) = answers({**FITS, "objects": [{"kind": "List", "items": [5]}]})

    assert answer["error"]["kind"] == "objects"
    assert "items[0]: expected an object, got int" in answer["error"]["message"]


def test_a_line_nested_beyond_reading_is_malformed() -> None:
    """It is answered as what it is, and no error of ours."""
    deep, sound = answers('{"id": "deep", "objects": ' + "[" * 10_000 + "]" * 10_000 + "}", FITS)

    assert deep["error"] == {"kind": "json", "message": "nested too deeply"}
    assert only(sound)["binds"]


def test_empty_lines_are_passed_over() -> None:
    """A last newline makes no answer."""
    assert len(answers(FITS, "\n", "  ")) == 1


def test_a_broken_object_is_named_and_the_rest_is_served() -> None:
    """The pod that cannot be read waits, its neighbour runs."""
    (answer,) = answers(
        case(nodes=[node("n1")], groups=[group()], pods=[pod("a"), pod("broken", containers="none")]),
    )

    assert only(answer)["binds"] == {"ns/a": "n1"}
    assert any("ns/broken" in warning for warning in answer["warnings"])


def test_a_number_beyond_64_bits_is_a_broken_object() -> None:
    """A file can hold one, though no API server would."""
    (answer,) = answers(case(nodes=[node("n1")], groups=[group()], pods=[pod("a"), pod("huge", cpu=10**30)]))

    assert only(answer)["binds"] == {"ns/a": "n1"}
    assert any("huge" in warning and "64 bits" in warning for warning in answer["warnings"])


def test_scheduler_names_are_not_looked_at() -> None:
    """Pods with the group annotation join their group."""
    (answer,) = answers(case(nodes=[node("n1")], groups=[group()], pods=[pod("a", schedulerName="another")]))

    assert only(answer)["binds"] == {"ns/a": "n1"}


def test_a_configuration_may_be_text() -> None:
    """As it stands in the file."""
    (answer,) = answers({**FITS, "config": DEFAULT})

    assert only(answer)["binds"] == {"ns/a": "n1", "ns/b": "n1"}


def test_a_case_without_configuration_has_that_of_the_batch() -> None:
    """`--config`, or the built-in one."""
    bare = {key: value for key, value in FITS.items() if key != "config"}

    assert only(answers(bare)[0])["binds"]


def test_flags_not_written_are_off_where_the_case_says_so() -> None:
    """`absentFlags: off`: predicates are not asked, so a cordoned node takes the pod."""
    cordoned = {**node("n1"), "spec": {"unschedulable": True}}
    kept_off = case(nodes=[cordoned], groups=[group()], pods=[pod("a")])
    first, second = answers(kept_off, {**kept_off, "config": {**CONFIG, "absentFlags": "off"}})

    assert only(first)["binds"] == {}
    assert only(second)["binds"] == {"ns/a": "n1"}


def test_unknown_plugins_are_warned_of() -> None:
    """They are skipped, as by the scheduler."""
    config = {"actions": ["allocate"], "tiers": [{"plugins": [{"name": "gang"}, {"name": "gagn"}]}]}
    (answer,) = answers({**FITS, "config": config})

    assert any("unknown plugin 'gagn'" in warning and "gang" in warning for warning in answer["warnings"])


def test_a_shard_limits_nodes() -> None:
    """Mode `hard`: pods go to its nodes alone."""
    shard = {"mode": "hard", "name": "mine", "nodes": ["n2"]}
    (answer,) = answers({**case(nodes=[node("n1"), node("n2")], groups=[group()], pods=[pod("a")]), "shard": shard})

    assert only(answer)["binds"] == {"ns/a": "n2"}


def test_the_same_batch_gives_the_same_bytes() -> None:
    """Seconds apart."""
    lines = [msgspec.json.encode({**FITS, "rounds": 3})] * 2
    first, second = (list(answer_lines(lines, load_registry(), default_config=DEFAULT)) for _ in range(2))

    def without_seconds(line: bytes) -> bytes:
        return line.partition(b'"seconds"')[0]

    assert [without_seconds(line) for line in first] == [without_seconds(line) for line in second]
    assert without_seconds(first[0]) == without_seconds(first[1])


PROFILES = {
    "profiles": [
        {"schedulerName": "latency", "actions": "enqueue"},
        {"schedulerName": "volcano", "actions": "enqueue, allocate"},
    ],
    "tiers": [{"plugins": [{"name": "gang"}, {"name": "predicates"}]}],
}


def test_the_profile_of_the_scheduler_name_decides() -> None:
    """Not the first of the file; pods of other names only take room where names are given."""
    cluster: dict[str, Any] = {
        "nodes": [node("n1")],
        "groups": [group()],
        "pods": [pod("a", schedulerName="volcano")],
        "config": PROFILES,
    }
    placed, by_name, by_other_name, of_none = answers(
        case(**cluster),
        case(**cluster, schedulerNames=["volcano"]),
        case(**cluster, schedulerNames=["latency"]),
        case(**cluster, schedulerNames=["nobody"]),
    )

    assert placed["rounds"][0]["binds"] == by_name["rounds"][0]["binds"] == {"ns/a": "n1"}
    assert by_other_name["rounds"][0]["binds"] == {}
    assert of_none["error"] == {
        "kind": "config",
        "message": "profiles: none for the scheduler name 'nobody'",
    }
