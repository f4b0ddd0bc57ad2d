"""Records with plugins that transform, resize, label and allocate are decided again."""

from pathlib import Path
from typing import Any

from pyroclast.cache.files.objects import decoded
from pyroclast.framework.cycle import Silent, run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.model.counted import COUNTED
from pyroclast.model.plan import Plan
from pyroclast.scheduler.cli.options import parse_options
from pyroclast.scheduler.daemon.cluster import state_options
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.recording.recorder import RecordedState, Recorder
from pyroclast.scheduler.recording.replay import replay
from pyroclast.testing import Scenario
from tests.unit.scheduler.test_replay import NOW

PLUGIN = """
from pyroclast import Allocation, Allocator, Locality, Plugin, contract


class Slots(Allocator):
    def __init__(self):
        self.free_slots, self.held = {0: [1, 2], 1: [3, 4]}, {}

    def concerns(self, task):
        return True

    def allocate(self, task, column, numa_nodes, *, dry_run):
        if not self.free_slots[column]:
            return "no slot"
        slot = self.free_slots[column][0]
        if not dry_run:
            self.give(task, column, Allocation(items=slot))
        return Allocation(annotations={"slot": str(slot)}, items=slot)

    def free(self, task, column):
        slot = self.held.pop(task.id, None)
        if slot is None:
            return None
        self.free_slots[column] = sorted([slot, *self.free_slots[column]])
        return Allocation(items=slot)

    def give(self, task, column, allocation):
        self.held[task.id] = allocation.items
        self.free_slots[column].remove(allocation.items)


class All(Plugin):
    name = "all"
    watches_clock = False

    def on_session_open(self, session):
        register = session.extensions.register
        register(contract.BEFORE_PRE_FILTER, self.name, self.view, locality=Locality.GLOBAL)
        register(contract.RESIZE_POD, self.name, lambda task, column: {"cpu": 2000})
        session.extensions.register_labels(self.name, lambda task, column: {"placed": "yes"})
        session.extensions.register_allocator(self.name, Slots())

    def view(self, task):
        return contract.View(labels={**task.pod.metadata.labels, "seen": task.name})
"""
TEXT = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: all}]\n"


def test_a_record_with_all_kinds_of_plugins_is_decided_again(tmp_path: Path) -> None:
    """Two cycles: the plan with its labels, slots and amounts, and the cycle that counts them."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "all.py").write_text(PLUGIN)
    files = PluginFiles(str(tmp_path / "plugins"))

    class Settings:
        text = TEXT
        plugin_sources = files.sources

    options = parse_options([f"--record={tmp_path / 'record'}", "--feature-gates=ResizePod=true"], {}).options
    registry = files.registry()
    configuration = read_configuration(TEXT, registry).configuration
    recorder = Recorder(tmp_path / "record", options)
    state = RecordedState(recorder, state_options(options))
    scenario = Scenario().queue("default").node("n1", cpu=4).node("n2", cpu=4).job("a", tasks=3, cpu=1)
    for kind, each in decoded(scenario.objects):
        state.apply(kind, each)
    plans: list[Plan] = []

    class Taking(Silent):
        def committed(self, plan: Plan) -> None:
            plans.append(plan)

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, **named)

    watched, memory = recorder.watching(decide, Settings()), Memory()
    for second in range(2):
        _, memory = watched(state.snapshot(), configuration, now=NOW + second, memory=memory, observer=Taking())
        for plan in plans[second:]:
            assert state.assume(plan, 1.0) == []
    recorder.close()
    binds = [bind for plan in plans for bind in plan.binds]
    with (tmp_path / "record").open("rb") as lines:
        cycles = list(replay(lines))

    assert sorted(bind.annotations["slot"] for bind in binds) == ["1", "2", "3"]
    assert {(bind.annotations[COUNTED], bind.labels["placed"]) for bind in binds if bind.labels} == {
        ('{"cpu":"2"}', "yes")
    }
    assert [cycle.is_same for cycle in cycles] == [True, True]
    snapshot = state.snapshot()
    assert snapshot.nodes.state[snapshot.nodes.rows.used][0].sum() == 6000
