"""Rescheduling: the worked example of docs/plugins/rescheduling.md."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.model.tasks import Task
from pyroclast.model.usage import NodeUsage
from pyroclast.plugins.rescheduling import ReschedulingArgs
from pyroclast.plugins.rescheduling.arguments import Marks, Params, Strategy
from pyroclast.plugins.rescheduling.plugin import loads_of, moves_of, qos_rank
from tests.unit.plugins.policies import World, node, opened, pod

NOW = 1_800_000_000.0
STRATEGY = Strategy(
    name="lowNodeUtilization",
    params=Params(thresholds=Marks(cpu=30, memory=30), target_thresholds=Marks(cpu=60, memory=60)),
)


def there(
    busy: tuple[float, float] = (90, 50),
    idle: tuple[float, float] = (20, 20),
    *,
    measured: float = NOW,
    last_run: float | None = None,
    **arguments: Any,
) -> World:
    """Open the example."""
    pods = [pod(f"p{number}", on="n1", cpu="2", memory="", spec={"priority": number}) for number in (3, 1, 2)]
    usage = {
        name: NodeUsage(cpu_percent=cpu, memory_percent=memory, measured=measured)
        for name, (cpu, memory) in (("n1", busy), ("n2", idle))
    }
    configured = {"name": "rescheduling", "arguments": arguments}
    nodes = node("n1", cpu="10"), node("n2", cpu="10")
    runs = None if last_run is None else {"rescheduling": last_run}
    return opened(*nodes, *pods, plugins=[configured], usage=usage, now=NOW, runs=runs)


def named(world: World, *names: str, is_measured: bool = True) -> list[str]:
    """Return which pods the strategy names, asked about some of them."""
    loads = loads_of(world.session, {task.id for task in world.tasks(*names)}, is_measured=is_measured)
    return [move.task.name for move in moves_of(STRATEGY, loads)]


def is_due(session: Session) -> bool:
    """Return whether the plugin takes part in a session."""
    return bool(session.extensions.functions(contract.VICTIM_TASKS))


def test_pods_leave_until_the_idle_node_is_full() -> None:
    """The budget is 4,000m of CPU: two pods of low priority."""
    assert named(there(), "p1", "p2", "p3") == ["p1", "p2"]


def test_pods_leave_until_the_busy_node_is_below_its_marks() -> None:
    """From 75% one pod brings it to 55%."""
    assert named(there(busy=(75, 50)), "p1", "p2", "p3") == ["p1"]


def test_pods_that_shuffle_does_not_ask_about_are_passed_over() -> None:
    """They take nothing off the node."""
    assert named(there(), "p2", "p3") == ["p2", "p3"]


def test_nothing_moves_without_idle_or_without_busy_nodes() -> None:
    """Marks are strict: at 30% a node is not idle, at 60% not busy."""
    assert named(there(idle=(30, 20)), "p1") == []
    assert named(there(busy=(60, 60)), "p1") == []


def test_without_measurements_nothing_moves() -> None:
    """Every node counts as unused."""
    assert named(there(), "p1", is_measured=False) == []


def test_a_move_says_what_bounds_it() -> None:
    """Strategy and marks."""
    world = there()
    move = moves_of(STRATEGY, loads_of(world.session, {world.task("p1").id}, is_measured=True))[0]

    assert (move.strategy, move.budget) == ("lowNodeUtilization", "to fill idle nodes to cpu 60%, memory 60%")


def test_the_first_cycle_only_begins_to_count() -> None:
    """Nothing runs, and the moment is remembered."""
    session = there().session

    assert not session.extensions.functions(contract.VICTIM_TASKS)
    assert session.report.runs == {"rescheduling": NOW}


def test_a_run_is_due_after_the_interval() -> None:
    """Five minutes and more; the moment of the run is remembered."""
    session = there(last_run=NOW - 301).session

    assert is_due(session)
    assert session.report.runs == {"rescheduling": NOW}


def test_a_run_is_not_due_at_the_interval() -> None:
    """It has to be over."""
    assert not is_due(there(last_run=NOW - 300).session)


def test_an_expired_measurement_evicts_no_pod() -> None:
    """Five minutes later the usage of both nodes is unknown."""
    old = there(measured=NOW - 301)

    assert named(there(measured=NOW - 300), "p1", "p2", "p3") == ["p1", "p2"]
    assert named(old, "p1", "p2", "p3") == []
    assert loads_of(old.session, set(), is_measured=True) == []


def test_an_empty_list_of_strategies_is_the_default() -> None:
    """As in Volcano."""
    args, warnings = decode(ReschedulingArgs, {"strategies": [], "metricsPeriod": "10m"}, "arguments")

    assert args.in_force == ReschedulingArgs().strategies
    assert warnings == []


@pytest.mark.parametrize(
    ("requests", "limits", "written", "rank"),
    [
        ({}, {}, "", 0),
        ({"cpu": "1"}, {}, "", 1),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, "", 2),
        ({}, {"cpu": "1", "memory": "1Gi"}, "", 2),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}, "", 1),
        ({}, {}, "Guaranteed", 2),
    ],
)
def test_quality_of_service(requests: dict[str, str], limits: dict[str, str], written: str, rank: int) -> None:
    """As the server wrote it; of pods in files that do not say it, by what they ask for."""
    resources = wire.ResourceRequirements(requests=requests, limits=limits)
    spec = wire.PodSpec(containers=(wire.Container(name="c", resources=resources),))
    task = SimpleNamespace(
        pod=wire.Pod(metadata=wire.ObjectMeta(name="p"), spec=spec, status=wire.PodStatus(qos_class=written))
    )

    assert qos_rank(cast("Task", task)) == rank
