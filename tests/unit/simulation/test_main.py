"""`pyroclast simulate` as a command."""

import json
from pathlib import Path

import pytest
import yaml

from pyroclast.cache.files.dump import take_dump
from pyroclast.cache.files.objects import state_from_objects
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage
from pyroclast.scheduler.cli.main import main
from tests.unit.simulation.builders import case, group, node, pod


def written(folder: Path, *, cpu: int = 1) -> str:
    """Write a cluster of one node and a gang of two; return the path."""
    pods = [pod("a", cpu=cpu, schedulerName="volcano"), pod("b", cpu=cpu, schedulerName="volcano")]
    group_of_default = group(minimum=2)
    group_of_default["spec"]["queue"] = "default"
    documents = [
        {"kind": "Node", **node("n1")},
        {"kind": "PodGroup", **group_of_default},
        {"kind": "List", "items": [{"kind": "Pod", **each} for each in pods]},
    ]
    file = folder / "objects.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return str(file)


def test_a_table_tells_who_runs_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default, with the built-in configuration; the default queue is there without being written."""
    assert main(["simulate", "-f", written(tmp_path)]) == 0

    assert capsys.readouterr().out == (
        "Placed: 2\n"
        "  POD    GROUP   NODE\n"
        "  ns/a   ns/g    n1\n"
        "  ns/b   ns/g    n1\n"
        "\n"
        "Groups: 1\n"
        "  GROUP   PHASE     TASKS       QUEUE\n"
        "  ns/g    Inqueue   2 Binding   default\n"
    )


def test_a_table_tells_who_waits_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each pod with the reason of its group."""
    assert main(["simulate", "-f", written(tmp_path, cpu=3)]) == 0

    out = capsys.readouterr().out
    assert "Placed: 0" in out
    assert "Waiting: 2" in out
    assert "Insufficient cpu" in out or "more cpu than it deserves" in out


def test_pods_are_read_as_a_server_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod with limits alone asks for as much, and finds no room."""
    limited = pod("b", schedulerName="volcano")
    limited["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "9"}}
    file = tmp_path / "more.json"
    file.write_text(json.dumps({"kind": "Pod", **limited}))

    assert main(["simulate", "-f", written(tmp_path), "-f", str(file)]) == 0
    assert "Placed: 0" in capsys.readouterr().out


def test_json_is_the_answer_of_a_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-o json`, without an id."""
    assert main(["simulate", "-f", written(tmp_path), "--rounds", "2", "-o", "json"]) == 0

    answer = json.loads(capsys.readouterr().out)
    assert answer["id"] is None
    assert [each["phases"] for each in answer["rounds"]] == [{"ns/g": "Inqueue"}, {"ns/g": "Running"}]


def test_pods_of_other_schedulers_only_take_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are not placed, and the room they hold is not given away."""
    file = tmp_path / "o.yaml"
    theirs = pod("theirs", on="n1", cpu=4, schedulerName="default-scheduler")
    waiting = pod("waiting", schedulerName="default-scheduler")
    ours = pod("ours", schedulerName="volcano")
    for each in (theirs, waiting):
        del each["metadata"]["annotations"]
    gang = group()
    gang["spec"]["queue"] = "default"
    documents = [
        {"kind": "Node", **node("n1")},
        {"kind": "PodGroup", **gang},
        *({"kind": "Pod", **each} for each in (theirs, waiting, ours)),
    ]
    file.write_text(yaml.safe_dump_all(documents))

    assert main(["simulate", "-f", str(file), "-o", "json"]) == 0
    (decided,) = json.loads(capsys.readouterr().out)["rounds"]
    assert decided["binds"] == {}
    assert list(decided["podRefusals"]) == ["ns/ours"]


def test_a_batch_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One answer a line; a faulty case does not change the status."""
    file = tmp_path / "cases.jsonl"
    sound = case(nodes=[node("n1")], groups=[group()], pods=[pod("a")])
    file.write_text("\n".join(json.dumps(each) for each in (sound, {"id": "bad", "rounds": -1})))

    assert main(["simulate", "--batch", str(file)]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first["rounds"][0]["binds"] == {"ns/a": "n1"}
    assert second["id"] == "bad"
    assert second["error"]["kind"] == "case"


def test_a_line_that_is_no_text_stops_no_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that are not UTF-8, inside a case or instead of one; the next case is answered."""
    file = tmp_path / "cases.jsonl"
    file.write_bytes(b'{"id": "caf\xe9"}\n\xff\xfe\n{"id": "caf\xc3\xa9"}\n')

    assert main(["simulate", "--batch", str(file)]) == 0
    inside, instead, sound = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert inside["error"]["kind"] == instead["error"]["kind"] == "json"
    assert (sound["id"], "error" in sound) == ("café", False)


@pytest.mark.parametrize("arguments", [["-f", "nowhere.yaml"], ["--batch", "nowhere.jsonl"]])
def test_objects_that_cannot_be_read(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Status 1, the file is named."""
    assert main(["simulate", *arguments]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_a_list_item_that_is_not_an_object_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reported by its place, with status 1."""
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"kind": "List", "items": [{"kind": "Node", **node("n1")}, 7]}))

    assert main(["simulate", "-f", str(file)]) == 1
    assert "items[1]: expected an object, got int" in capsys.readouterr().err


def test_an_object_without_a_name_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is left out, the others are decided."""
    file = tmp_path / "o.json"
    file.write_text(json.dumps({"kind": "List", "items": [{"kind": "Pod", "metadata": {"namespace": "ns"}}]}))

    assert main(["simulate", "-f", str(file)]) == 0
    assert "warning: Pod (without a name): metadata.name: missing" in capsys.readouterr().err


def test_an_invalid_number_has_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the name of a function."""
    with pytest.raises(SystemExit):
        main(["simulate", "-f", "a", "--rounds", "many"])
    assert "--rounds: got 'many', expected a whole number" in capsys.readouterr().err


def test_a_bad_configuration_is_reported_with_every_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2."""
    config = tmp_path / "scheduler.yaml"
    config.write_text("actions: fly, allocat\n")

    assert main(["simulate", "--config", str(config), "-f", written(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "'fly'" in err
    assert "'allocat'" in err


@pytest.mark.parametrize("arguments", [[], ["-f", "a", "--batch", "b"], ["-f", "a", "--rounds", "0"], ["--btach"]])
def test_a_command_line_that_cannot_be_read(arguments: list[str]) -> None:
    """Status 2, as usual."""
    with pytest.raises(SystemExit) as left:
        main(["simulate", *arguments])
    assert left.value.code == 2


def test_a_dump_replays_a_decision_about_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The busy node accepts no pods at the moment of the dump; later the measurement is too old to count."""
    gang = group()
    gang["spec"]["queue"] = "default"
    objects = [
        *({"kind": "Node", **node(name)} for name in ("busy", "idle")),
        {"kind": "PodGroup", **gang},
        {"kind": "Pod", **pod("a", schedulerName="volcano")},
    ]
    state = state_from_objects(objects)
    loads = {"busy": 81.0, "idle": 80.0}
    state.measure(
        {
            NodeName(name): NodeUsage(cpu_percent=cpu, memory_percent=1, measured=1_800_000_000)
            for name, cpu in loads.items()
        }
    )
    (tmp_path / "seen.json").write_bytes(take_dump(state, 1_800_000_299.0).encode())
    config = tmp_path / "c.yaml"
    config.write_text(
        "actions: enqueue, allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: usage}]}]"
    )
    command = ["simulate", "-f", str(tmp_path / "seen.json"), "--config", str(config), "-o", "json"]

    placed = []
    for options in ([], ["--now", "1800000301"]):
        assert main([*command, *options]) == 0
        placed.append(json.loads(capsys.readouterr().out)["rounds"][0]["binds"])

    assert placed == [{"ns/a": "idle"}, {"ns/a": "busy"}]


def test_the_profile_of_the_scheduler_name_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its place in the file."""
    settings = tmp_path / "scheduler.yaml"
    settings.write_text(
        "tiers: [{plugins: [{name: gang}, {name: predicates}]}]\n"
        "profiles:\n"
        "  - {schedulerName: latency, actions: enqueue}\n"
        "  - {schedulerName: volcano, actions: 'enqueue, allocate'}\n"
    )

    assert main(["simulate", "-f", written(tmp_path), "--config", str(settings)]) == 0
    assert "Placed: 2" in capsys.readouterr().out
    assert main(["simulate", "-f", written(tmp_path), "--config", str(settings), "--scheduler-name", "other"]) == 2
    assert "profiles: none for the scheduler name 'other'" in capsys.readouterr().err


def test_a_name_that_is_no_text_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The queue is left out, and the default queue is made."""
    file = tmp_path / "file.json"
    file.write_text('{"kind": "Queue", "metadata": {"name": {}}}')

    assert main(["simulate", "-f", str(file)]) == 0
    assert "warning: Queue" in capsys.readouterr().err
