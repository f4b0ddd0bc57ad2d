"""Records with Reservations are decided again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyroclast.cache.files.objects import decoded
from pyroclast.framework.cycle import Silent, run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.model.plan import Bind, Plan
from pyroclast.scheduler.cli.options import parse_options
from pyroclast.scheduler.daemon.cluster import state_options
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.recording.recorder import RecordedState, Recorder
from pyroclast.scheduler.recording.replay import replay
from pyroclast.scheduler.registry import load_registry
from pyroclast.testing import Scenario
from tests.devices import gpu
from tests.nodenuma import QOS, STATUS, node
from tests.reservations import affinity, reservation
from tests.unit.plugins.koordinator import with_devices
from tests.unit.scheduler.test_replay import NOW

TEXT = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: reservation}]\n"


WITH_DEVICES = """\
actions: enqueue, allocate
tiers:
- plugins:
  - {name: gang}
  - {name: predicates}
  - {name: deviceshare, arguments: {deviceshare.KoordinatorEnable: true}}
  - {name: reservation}
"""
DEVICES = "scheduling.koordinator.sh/device-allocated"


class Settings:
    """The text in force."""

    plugin_sources: dict[str, str] = {}  # noqa: RUF012  # as the daemon has it

    def __init__(self, text: str) -> None:
        self.text = text


def test_a_record_with_a_reservation_is_decided_again(tmp_path: Path) -> None:
    """It is placed, its status shows it, and its owner uses it."""
    scenario = Scenario().queue("default").node("n1", cpu=4).add(reservation("r", cpu=4))
    scenario = scenario.job("a", cpu=4, labels={"app": "a"}, annotations=affinity())
    binds = replayed(tmp_path, TEXT, scenario, lambda _: reservation("r", cpu=4, node="n1"))

    assert [bind.get("reservation") or bind["name"] for bind in binds] == ["r", "a-0"]


def test_owners_get_the_reserved_devices_when_a_record_is_decided_again(tmp_path: Path) -> None:
    """The GPU of a Reservation, which its annotation names, is the GPU of its owner."""
    wanted: dict[str, Any] = {"cpu": 1, "resources": {"koordinator.sh/gpu": 100}}
    scenario = with_devices(gpu(0), gpu(1), name="n1").queue("default").add(reservation("r", **wanted))
    scenario = scenario.job("a", labels={"app": "a"}, annotations=affinity(), **wanted)

    def shown(bind: Any) -> Any:
        return reservation("r", node="n1", annotations=dict(bind.annotations), **wanted)

    first, second = replayed(tmp_path, WITH_DEVICES, scenario, shown)
    assert first["annotations"][DEVICES] == second["annotations"][DEVICES]


def test_owners_get_the_reserved_cpus_when_a_record_is_decided_again(tmp_path: Path) -> None:
    """Topologies are recorded, so that the CPUs of the Reservation are those of its owner."""
    text = TEXT.replace("{name: reservation}", "{name: nodenuma}, {name: reservation}")
    labels = {QOS: "LSR"}
    kept: dict[str, Any] = {"cpu": 4, "template_metadata": {"labels": labels}}
    scenario = node().queue("default").add(reservation("r", **kept))
    scenario = scenario.job("a", cpu=4, labels={"app": "a", **labels}, annotations=affinity())
    first, second = replayed(
        tmp_path, text, scenario, lambda bind: reservation("r", node="n1", annotations=dict(bind.annotations), **kept)
    )

    assert first["annotations"][STATUS] == second["annotations"][STATUS] == '{"cpuset":"0-1,4-5"}'


def replayed(tmp_path: Path, text: str, scenario: Scenario, shown: Callable[[Bind], Any]) -> list[Any]:
    """Record three cycles, the first of which places a Reservation, decide them again, and return the bindings."""
    options, registry = parse_options([f"--record={tmp_path / 'record'}"], {}).options, load_registry("")
    configuration = read_configuration(text, registry).configuration
    recorder = Recorder(tmp_path / "record", options)
    state = RecordedState(recorder, state_options(options))
    for kind, each in decoded(scenario.objects):
        state.apply(kind, each)
    plans: list[Plan] = []

    class Taking(Silent):
        def committed(self, plan: Plan) -> None:
            plans.append(plan)

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, **named)

    watched, memory = recorder.watching(decide, Settings(text)), Memory()
    for second in range(3):
        _, memory = watched(state.snapshot(), configuration, now=NOW + second, memory=memory, observer=Taking())
        bound = [bind for plan in plans for bind in plan.binds]
        while plans:
            assert state.assume(plans.pop(), 1.0) == []
        if second == 0:
            for kind, each in decoded([shown(bound[0])]):
                state.apply(kind, each)
    recorder.close()

    with (tmp_path / "record").open("rb") as lines:
        cycles = list(replay(lines))
    assert all(cycle.is_same for cycle in cycles)
    return [bind for cycle in cycles for plan in json.loads(cycle.decided)["plans"] for bind in plan["binds"]]
