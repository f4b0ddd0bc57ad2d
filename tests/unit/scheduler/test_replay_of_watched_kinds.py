"""Records and dumps contain the objects of kinds that plugins watch."""

from pathlib import Path
from typing import Any

import msgspec

from pyroclast.cache.files.dump import take_dump
from pyroclast.cache.files.objects import decoded
from pyroclast.framework.cycle import Silent, run_cycle
from pyroclast.framework.extension.declarations import declared
from pyroclast.framework.session.memory import Memory
from pyroclast.scheduler.cli.options import parse_options
from pyroclast.scheduler.daemon.cluster import state_options
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.recording.recorder import RecordedState, Recorder
from pyroclast.scheduler.recording.replay import replay
from pyroclast.testing import Scenario
from tests.unit.scheduler.test_replay import NOW

EXAMPLE = Path(__file__).parents[3] / "examples" / "09-licences"
TEXT = (EXAMPLE / "scheduler.yaml").read_text()
LICENCE = {
    "apiVersion": "example.com/v1",
    "kind": "Licence",
    "metadata": {"name": "mesher", "namespace": "default"},
    "spec": {"seats": 1},
}


def test_decisions_with_watched_objects_are_decided_again_from_record_and_dump(tmp_path: Path) -> None:
    """One pod has the seat; the licence is deleted, and a pod waits. A record that begins anew has the object, too."""
    files = PluginFiles(str(EXAMPLE))

    class Settings:
        text = TEXT
        plugin_sources = files.sources

    path = tmp_path / "record"
    options = parse_options([f"--record={path}"], {}).options
    registry = files.registry()
    configuration = read_configuration(TEXT, registry).configuration
    recorder = Recorder(path, options)
    state = RecordedState(recorder, state_options(options))
    kinds = declared(configuration, registry).kinds.values()
    scenario = Scenario().queue("default").node("n1", cpu=4).add(LICENCE)
    scenario = scenario.job("a", annotations={"example.com/licence": "mesher"})
    objects = decoded(scenario.objects, watched=kinds)
    for kind, each in objects:
        state.apply(kind, each)
    ((name, licence),) = [(kind, each) for kind, each in objects if "." in kind]

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, **named)

    watched, memory = recorder.watching(decide, Settings()), Memory()

    def cycle(moment: float) -> Any:
        return watched(state.snapshot(), configuration, now=moment, memory=memory, observer=Silent())[0]

    path.unlink()  # the record begins anew, with the whole state
    reports = [cycle(NOW)]
    dumped = msgspec.json.decode(take_dump(state, NOW).encode())["items"]
    state.remove(name, licence)
    reports.append(cycle(NOW + 1))
    recorder.close()
    with path.open("rb") as lines:
        cycles = list(replay(lines))

    assert name == "licences.v1.example.com"
    assert [sum(len(plan.binds) for plan in each.plans) for each in reports] == [1, 0]
    assert [each.is_same for each in cycles] == [True, True]
    assert {kind for kind, _ in decoded(dumped, watched=kinds)} >= {name, "Pod"}
    assert [each["spec"] for each in dumped if each["kind"] == "Licence"] == [{"seats": 1}]
