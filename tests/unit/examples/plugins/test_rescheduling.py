"""The example of docs/plugins/rescheduling.md."""

from pyroclast.model.usage import NodeUsage
from pyroclast.plugins.rescheduling.arguments import Marks, Params, Strategy
from pyroclast.plugins.rescheduling.low_node_utilization import room_of
from pyroclast.plugins.rescheduling.plugin import loads_of, moves_of
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import node, opened, pod

NOW = 1_800_000_000.0
LOW, HIGH, CPUS, ASKED = 30, 60, 10, 2
USED = {"n1": (90, 50), "n2": (20, 20)}


def test_the_page() -> None:
    """Pods leave until the idle node is full."""
    marks = Params(thresholds=Marks(cpu=LOW, memory=LOW), target_thresholds=Marks(cpu=HIGH, memory=HIGH))
    usage = {
        name: NodeUsage(cpu_percent=cpu, memory_percent=memory, measured=NOW) for name, (cpu, memory) in USED.items()
    }
    pods = (pod(f"p{i}", on="n1", cpu=str(ASKED), memory="", spec={"priority": i}) for i in (1, 2, 3))
    there = opened(*(node(name, cpu=str(CPUS)) for name in USED), *pods, plugins=["rescheduling"], usage=usage, now=NOW)
    loads = loads_of(there.session, {task.id for task in there.tasks("p1", "p2", "p3")}, is_measured=True)
    gone = [move.task.name for move in moves_of(Strategy(name="lowNodeUtilization", params=marks), loads)]
    budget = room_of([load for load in loads if load.name == "n2"], (HIGH, HIGH))[0]
    left = [USED["n1"][0] - 100 * ASKED * number // CPUS for number in range(1, len(gone) + 1)]
    assert (gone, budget - len(gone) * ASKED * 1000) == (["p1", "p2"], 0)

    assert_tells(
        "plugins/rescheduling",
        f"Thresholds {LOW}, targets {HIGH}; `n1` has {CPUS} CPUs, {USED['n1'][0]}% and {USED['n1'][1]}% in use, "
        f"`n2` {CPUS} CPUs, {USED['n2'][0]}% and {USED['n2'][1]}%.",
        f"The budget is {CPUS * 10 * HIGH:,}m - {CPUS * 10 * USED['n2'][0]:,}m = {budget:,}m.",
        f"Each pod of `n1` has {ASKED} CPUs: `{gone[0]}` is evicted ({left[0]}% left) "
        f"and `{gone[1]}` ({left[1]}% left, the budget is 0); `p3` stays.",
    )
