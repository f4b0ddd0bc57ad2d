"""Records: what they hold is decided again; what is no record is refused with its line."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from pyroclast.cache.files.objects import decoded
from pyroclast.framework.cycle import Silent, run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.model.ids import NodeName
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.usage import NodeUsage
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.scheduler.cli.commands.explain import main as explain_main
from pyroclast.scheduler.cli.commands.replay import main
from pyroclast.scheduler.cli.options import parse_options
from pyroclast.scheduler.daemon.cluster import state_options
from pyroclast.scheduler.daemon.plugin_budgets import ClockBudgets
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.settings import read_configuration, with_profiles_for
from pyroclast.scheduler.recording.recorder import RecordedState, Recorder
from pyroclast.scheduler.recording.replay import RecordError, replay
from pyroclast.scheduler.registry import load_registry
from tests.gangs import annotated
from tests.nodemetrics import node_metric

LOADS = "{name: load-aware, enablePredicate: false, arguments: {weight: 50}}"
PLUGINS = (
    f"[{{name: gang}}, {{name: predicates}}, {{name: nodeorder}}, {{name: usage, enablePredicate: false}}, {LOADS}]"
)
TEXT = f"actions: enqueue, allocate\ntiers:\n- plugins: {PLUGINS}\n"
NOW = 1_800_000_000.0


class Settings:
    """The text in force."""

    text = TEXT
    plugin_sources: Mapping[str, str] = {}


def objects() -> Iterator[dict[str, Any]]:
    """A queue, two nodes of equal load, and a gang of two."""
    group = "scheduling.volcano.sh/v1beta1"
    yield {"apiVersion": group, "kind": "Queue", "metadata": {"name": "default"}, "spec": {"weight": 1}}
    for name in ("n1", "n2"):
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": amounts, "capacity": amounts},
        }
        yield dict(node_metric(name, {"cpu": f"{name[1:]}m", "memory": "1Gi"}, at=NOW))
    yield {"apiVersion": group, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"minMember": 2}}
    for number in range(2):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}", "annotations": {"scheduling.k8s.io/group-name": "g"}},
            "spec": {
                "schedulerName": "volcano",
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}],
            },
            "status": {"phase": "Pending"},
        }


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Three cycles of a small cluster: one that places the gang, one after it, one in which nothing changed."""
    options = parse_options([f"--record={tmp_path / 'record'}"], {}).options
    registry = load_registry("")
    configuration = read_configuration(TEXT, registry).configuration
    recorder = Recorder(Path(options.record), options)
    state = RecordedState(recorder, state_options(options))
    for kind, each in decoded(objects()):
        state.apply(kind, each)
    plans: list[Plan] = []

    class Taking(Silent):
        def committed(self, plan: Plan) -> None:
            plans.append(plan)

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, **named)

    watched = recorder.watching(decide, Settings())
    memory = Memory()
    loads = {NodeName("n1"): 95.0, NodeName("n2"): 10.5}
    state.measure(
        {name: NodeUsage(cpu_percent=load, memory_percent=1 / 3, measured=NOW) for name, load in loads.items()}
    )
    for second in range(3):
        _, memory = watched(state.snapshot(), configuration, now=NOW + second, memory=memory, observer=Taking())
        while plans:
            assert state.assume(plans.pop(), 1.0) == []
    recorder.close()
    return tmp_path / "record"


def test_a_full_disk_costs_the_record_alone() -> None:
    """The books take everything in, and the cycle places the gang."""
    options = parse_options(["--record=/dev/full"], {}).options
    registry = load_registry("")
    recorder = Recorder(Path(options.record), options)
    state = RecordedState(recorder, state_options(options))
    for kind, each in decoded(objects()):
        state.apply(kind, each)

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, **named)

    configuration = read_configuration(TEXT, registry).configuration
    for _ in range(2):
        report, _ = recorder.watching(decide, Settings())(
            state.snapshot(), configuration, now=NOW, memory=Memory(), observer=Silent()
        )
        assert [len(plan.binds) for plan in report.plans] == [2]
    recorder.close()


def test_a_record_is_decided_again(record: Path) -> None:
    """Every cycle comes to the same report and leaves the same memory."""
    with record.open("rb") as lines:
        cycles = list(replay(lines))

    assert [cycle.cycle for cycle in cycles] == [1, 2, 3]
    assert all(cycle.is_same for cycle in cycles)
    assert len(json.loads(cycles[0].decided)["plans"][0]["binds"]) == 2


def deleted(path: Path) -> None:
    """Remove the file."""
    path.unlink()


def emptied(path: Path) -> None:
    """Cut the file short, as a rotation of logs that copies and truncates does."""
    os.truncate(path, 0)


def replaced(path: Path) -> None:
    """Put another file in its place, larger than the record."""
    size = path.stat().st_size
    path.unlink()
    path.write_bytes(b"x" * 2 * size)


@pytest.mark.parametrize("harm", [deleted, emptied, replaced])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_record_that_is_lost_is_begun_anew(tmp_path: Path, harm: Callable[[Path], None], after: int) -> None:
    """While the binds of a gang are assumed, when it runs, and when nothing is new: later cycles are decided again."""
    path = tmp_path / "record"
    options = parse_options([f"--record={path}"], {}).options
    registry = load_registry("")
    configuration = read_configuration(TEXT, registry).configuration
    recorder = Recorder(path, options)
    state = RecordedState(recorder, state_options(options))
    known = list(decoded(objects()))
    for kind, each in known:
        state.apply(kind, each)
    state.measure({NodeName("n1"): NodeUsage(cpu_percent=95.0, memory_percent=1 / 3, measured=NOW)})
    plans: list[Plan] = []

    class Taking(Silent):
        def committed(self, plan: Plan) -> None:
            plans.append(plan)

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, **named)

    watched, memory = recorder.watching(decide, Settings()), Memory()
    with capture_logs() as lines:
        for second in range(4):
            if second == after:
                harm(path)
            _, memory = watched(state.snapshot(), configuration, now=NOW + second, memory=memory, observer=Taking())
            while plans:
                assert state.assume(plans.pop(), 1.0) == []
            if second == 1:
                for kind, each in known:
                    if kind == "Pod":
                        spec = msgspec.structs.replace(
                            each.spec, node_name="n2" if each.metadata.name == "p0" else "n1"
                        )
                        state.apply(kind, msgspec.structs.replace(each, spec=spec))
    recorder.close()

    with path.open("rb") as written:
        cycles = list(replay(written))
    assert [line["event"] for line in lines] == ["record_begun_anew"]
    assert [cycle.cycle for cycle in cycles] == list(range(after + 1, 5))
    assert all(cycle.is_same for cycle in cycles)


def test_a_record_that_cannot_be_begun_anew_ends(tmp_path: Path) -> None:
    """Its folder is gone: the books go on."""
    folder = tmp_path / "records"
    folder.mkdir()
    options = parse_options([f"--record={folder / 'record'}"], {}).options
    recorder = Recorder(Path(options.record), options)
    state = RecordedState(recorder, state_options(options))
    shutil.rmtree(folder)

    with capture_logs() as lines:
        for kind, each in decoded(objects()):
            state.apply(kind, each)
        assert len(state.snapshot().jobs) == 1
        assert len(state.snapshot().jobs) == 1
    recorder.close()

    assert [line["event"] for line in lines] == ["record_begun_anew", "record_ended"]


def test_how_gangs_are_read_is_part_of_a_record(tmp_path: Path) -> None:
    """A gang of two is placed by the rules in force; without them the record does not hold."""

    class Text(Settings):
        text = TEXT.replace("[{name: gang}", "[{name: coscheduling}, {name: gang}")

    options = parse_options([f"--record={tmp_path / 'record'}"], {}).options
    registry = load_registry("")
    configuration = read_configuration(Text.text, registry).configuration
    recorder = Recorder(Path(options.record), options)
    state = RecordedState(recorder, state_options(options))
    state.follow_gangs(gang_rules(configuration.profiles[0]))
    for each in objects():
        if each["kind"] == "Pod":
            each["metadata"]["annotations"] = annotated("g", 2)
        for kind, struct in decoded([each]):
            state.apply(kind, struct)

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, **named)

    recorder.watching(decide, Text())(state.snapshot(), configuration, now=NOW, memory=Memory(), observer=Silent())
    recorder.close()
    lines = (tmp_path / "record").read_bytes().splitlines()
    (cycle,) = replay(lines)
    assert cycle.is_same
    assert [len(plan["binds"]) for plan in json.loads(cycle.decided)["plans"]] == [2]
    with pytest.raises(RecordError, match="no snapshot of generation"):
        list(replay([line for line in lines if b'"do":"gangs"' not in line]))


PLUGIN = """
from pyroclast import Plugin, contract


class Liking(Plugin):
    name = "liking"
    watches_clock = False

    def on_session_open(self, session):
        session.extensions.register(contract.NODE_ORDER, self.name, lambda task, node: 1000.0 * (node.name == "LIKED"))
"""


def recorded_with_plugin(folder: Path) -> Path:
    """Record a cycle under a plugin from a folder, which is deleted then."""
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "liking.py").write_text(PLUGIN.replace("LIKED", "n2"))
    files = PluginFiles(str(plugins))
    options = parse_options([f"--record={folder / 'record'}", f"--plugins-dir={plugins}"], {}).options

    class Sources(Settings):
        text = "actions: enqueue, allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: liking}]}]\n"
        plugin_sources = files.sources

    registry = files.registry()
    configuration = read_configuration(Sources.text, registry).configuration
    recorder = Recorder(Path(options.record), options)
    state = RecordedState(recorder, state_options(options))
    for kind, each in decoded(objects()):
        state.apply(kind, each)

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, **named)

    recorder.watching(decide, Sources())(state.snapshot(), configuration, now=NOW, memory=Memory(), observer=Silent())
    recorder.close()
    (plugins / "liking.py").unlink()
    plugins.rmdir()
    return folder / "record"


def test_plugins_from_files_are_part_of_a_record(tmp_path: Path) -> None:
    """The folder may be gone; a plugin of another text decides in another way."""
    lines = recorded_with_plugin(tmp_path).read_bytes().splitlines()
    (same,) = replay(lines)
    (other,) = replay([line.replace(b'node.name == \\"n2', b'node.name == \\"n1') for line in lines])

    assert json.loads(same.recorded)["plans"][0]["binds"][0]["node"] == "n2"
    assert same.is_same
    assert not other.is_same


SLOW = """
from pyroclast import Plugin, contract


class Slow(Plugin):
    name = "slow"
    watches_clock = False

    def on_session_open(self, session):
        session.extensions.register(contract.NODE_ORDER, self.name, lambda task, node: 1000.0 * (node.name == "n2"))
        session.extensions.register(contract.PREDICATE, self.name, lambda task, node: True)
"""


def recorded_over_budget(folder: Path, seconds: float) -> tuple[bytes, CycleReport]:
    """Record a cycle with a plugin each of whose calls takes a second; return the record and the report."""
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "slow.py").write_text(SLOW)
    files = PluginFiles(str(plugins))
    options = parse_options([f"--record={folder / 'record'}", f"--plugins-dir={plugins}"], {}).options

    class Sources(Settings):
        text = "actions: enqueue, allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: slow}]}]\n"
        plugin_sources = files.sources

    registry = files.registry()
    configuration = read_configuration(Sources.text, registry).configuration
    recorder = Recorder(Path(options.record), options)
    state = RecordedState(recorder, state_options(options))
    for kind, each in decoded(objects()):
        state.apply(kind, each)
    clock = count()
    budgets = ClockBudgets(lambda name: seconds if name == "slow" else 0.0, lambda: float(next(clock)))

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, budgets=budgets, **named)

    watched = recorder.watching(decide, Sources(), lambda: budgets.left_out)
    report, _ = watched(state.snapshot(), configuration, now=NOW, memory=Memory(), observer=Silent())
    recorder.close()
    return (folder / "record").read_bytes(), report


@pytest.mark.parametrize("seconds", [0.5, 1.5, 2.5, 3.5])
def test_a_plugin_over_its_time_budget_is_left_out_at_the_same_call(tmp_path: Path, seconds: float) -> None:
    """The replay has no clock: wherever the budget ended, it comes to the same report."""
    record, report = recorded_over_budget(tmp_path, seconds)
    (cycle,) = replay(record.splitlines())

    assert "time budget" in report.failures["slow"].message
    assert [bind for plan in report.plans for bind in plan.binds] == []
    assert cycle.is_same


def test_a_record_without_the_call_of_the_time_budget_does_not_hold(tmp_path: Path) -> None:
    """The number of the call is what leaves the plugin out again."""
    record, _ = recorded_over_budget(tmp_path, 2.5)
    lines = [json.loads(line) for line in record.splitlines()]
    (counted,) = [line for line in lines if line.get("left_out")]

    assert counted["left_out"] == {"slow": 3}
    counted["left_out"] = {}
    (cycle,) = replay([json.dumps(line).encode() for line in lines])
    assert not cycle.is_same


def test_a_plugin_within_its_time_budget_leaves_no_call_in_the_record(tmp_path: Path) -> None:
    """The plugin's score decides, in the daemon and in the replay."""
    record, report = recorded_over_budget(tmp_path, 1000.0)
    (cycle,) = replay(record.splitlines())

    assert report.failures == {}
    assert {bind.node for plan in report.plans for bind in plan.binds} >= {"n2"}
    assert not any(json.loads(line).get("left_out") for line in record.splitlines())
    assert cycle.is_same


def without_plugins(record: Path) -> list[bytes]:
    """Return the lines of a record without the texts of plugins, as earlier versions wrote it."""
    return [
        msgspec.json.encode({**json.loads(line), "plugins": None}) if b'"do":"conf' in line else line
        for line in record.read_bytes().splitlines()
    ]


def test_a_record_does_not_choose_the_folder_of_plugins(tmp_path: Path) -> None:
    """The folder that a record names is not read, also where it exists; the message says how to give one."""
    lines = without_plugins(recorded_with_plugin(tmp_path))
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "liking.py").write_text("raise SystemExit('loaded')")

    with pytest.raises(RecordError, match=r"configuration 1 .* cannot be used: .*--plugins-dir"):
        list(replay(lines))


def test_a_folder_that_is_given_replaces_the_plugins_of_a_record(tmp_path: Path) -> None:
    """Records with and without the texts are decided with the files of that folder."""
    record = recorded_with_plugin(tmp_path)
    given = tmp_path / "given"
    given.mkdir()
    (given / "liking.py").write_text(PLUGIN.replace("LIKED", "n2"))
    (same,) = replay(without_plugins(record), plugins_dir=str(given))
    (given / "liking.py").write_text(PLUGIN.replace("LIKED", "n1"))
    (other,) = replay(record.read_bytes().splitlines(), plugins_dir=str(given))

    assert same.is_same
    assert not other.is_same


def test_what_nodes_really_use_is_part_of_a_record(record: Path) -> None:
    """A loaded node takes the second task; had it been idle, it would have taken the first."""
    loaded = record.read_bytes().splitlines()
    idle = record.read_bytes().replace(b'"cpu_percent":95.0', b'"cpu_percent":0.0').splitlines()

    assert next(replay(loaded)).is_same
    assert not next(replay(idle)).is_same


def test_measured_loads_are_part_of_a_record(record: Path) -> None:
    """A thousandth of a CPU more or less is nothing; four whole ones are."""
    loaded = record.read_bytes().replace(b'"cpu":"2m"', b'"cpu":"4"').splitlines()

    assert not next(replay(loaded)).is_same


def test_a_different_record_is_reported(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command names the cycle and the place where the reports part."""
    record.write_bytes(record.read_bytes().replace(b'"node":"n2"', b'"node":"n3"'))

    assert main([str(record)]) == 1
    assert "cycle 1 was decided in another way" in capsys.readouterr().out


def test_a_record_that_holds_tells_its_cycles(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command counts."""
    assert main([str(record)]) == 0
    assert capsys.readouterr().out.startswith("3 cycles")


def test_the_end_of_a_killed_daemon_is_forgiven(record: Path) -> None:
    """A last line that breaks off is left out."""
    record.write_bytes(record.read_bytes()[:-20])
    with record.open("rb") as lines:
        assert len(list(replay(lines))) == 2


def test_a_hole_in_a_record_is_refused(record: Path) -> None:
    """A line that breaks off in the middle of the file makes what follows worthless."""
    lines = record.read_bytes().splitlines()
    lines[2] = lines[2][:10]

    with pytest.raises(RecordError, match="line 3"):
        list(replay(lines))


def test_damage_is_named_with_its_line(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A value that decodes and cannot be used ends the command with status 2, without a traceback."""
    lines = record.read_bytes().splitlines()
    number = next(number for number, line in enumerate(lines) if b'"kind":"Node"' in line)
    lines[number] = lines[number].replace(b'"kind":"Node"', b'"kind":"Nodes"')
    record.write_bytes(b"\n".join(lines))

    assert main([str(record)]) == 2
    assert f"line {number + 1}: the record is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("text", [b"", b"{}\n{}\n", b'{"do": "snapshot"}\n'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, with the file's name."""
    file = tmp_path / "file"
    file.write_bytes(text)

    assert main([str(file)]) == 2
    assert str(file) in capsys.readouterr().err


def test_a_record_explains_its_pods(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`pyroclast explain --record` shows the scores at the moment of the placement, and those of a later cycle."""
    arguments = ["p1", "--record", str(record), "--cycle", "1"]
    assert explain_main(arguments) == 0
    text = capsys.readouterr().out
    assert "default/p1: placed on n1 by allocate (cycle 1)" in text
    assert "LOAD-AWARE" in text
    assert "n2" in text.partition("refused:")[2]

    assert explain_main([*arguments[:3], "-o", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["cycle"], found["moment"]) == (3, "at the end")

    assert explain_main(["nothing", "--record", str(record)]) == 1
    assert "no pod default/nothing" in capsys.readouterr().err
    assert explain_main(["p1", "--record", str(record.with_name("absent"))]) == 2


def test_each_profile_of_a_record_is_decided_again(tmp_path: Path) -> None:
    """Every cycle has an entry for each profile, with its own memory; the replay gives the same bytes."""
    text = f"{TEXT}profiles:\n- schedulerName: second\n  actions: allocate\n"
    options = parse_options(
        [f"--record={tmp_path / 'record'}", "--scheduler-name=volcano", "--scheduler-name=second"], {}
    ).options
    registry = load_registry("")
    configuration = with_profiles_for(read_configuration(text, registry).configuration, options.scheduler_name)
    recorder = Recorder(Path(options.record), options)
    state = RecordedState(recorder, state_options(options))
    for kind, each in decoded(objects()):
        state.apply(kind, each)
    plans: list[Plan] = []

    class Taking(Silent):
        def committed(self, plan: Plan) -> None:
            plans.append(plan)

    class Both(Settings):
        pass

    Both.text = text
    watched = recorder.watching(lambda *given, **named: run_cycle(*given, registry=registry, **named), Both())
    memories = {"volcano": Memory(), "second": Memory()}
    for second in range(2):
        for each in configuration.turns():
            name = each.deciding.name
            _, memories[name] = watched(
                state.snapshot(), each, now=NOW + second, memory=memories[name], observer=Taking()
            )
            while plans:
                assert state.assume(plans.pop(), 1.0) == []
    recorder.close()

    with (tmp_path / "record").open("rb") as lines:
        replayed = list(replay(lines))
    assert [each.is_same for each in replayed] == [True] * 4
    assert ['binds":[{' in each.recorded.decode() for each in replayed] == [False, True, False, False]
