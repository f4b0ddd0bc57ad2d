"""Usage: the worked examples of docs/plugins/usage.md, limits, and load that is not measured yet."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.model import wire
from pyroclast.model.limits import pod_limits
from pyroclast.model.usage import NodeUsage
from pyroclast.plugins.usage import UsageArgs
from pyroclast.plugins.usage.arithmetic import PARTS, Weights, estimate, part_used_of_one, score_of_one
from tests.unit.plugins.policies import GIB, MIB, World, opened, pod

NOW = 1_000_000_000.0
"""2001-09-09T01:46:40Z."""
STALE = NOW - 300.5


def machine(name: str, cpu: str = "8", memory: str = "16Gi") -> wire.Node:
    """A node whose capacity is what it offers."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    return wire.Node(
        metadata=wire.ObjectMeta(name=name, uid=name), status=wire.NodeStatus(allocatable=amounts, capacity=amounts)
    )


def used(cpu: float, memory: float, measured: float = NOW) -> NodeUsage:
    """A measurement."""
    return NodeUsage(cpu_percent=cpu, memory_percent=memory, measured=measured)


def world(*objects: Any, usage: dict[str, NodeUsage], interval: Any = "30s", **arguments: Any) -> World:
    """A session with usage alone."""
    nodes = [machine(name) for name in sorted({"n1", "n2", *usage})]
    metrics = {"type": "prometheus_adaptor", "interval": interval}
    option = {"name": "usage", "arguments": arguments}
    return opened(*nodes, *objects, plugins=[option], usage=usage, metrics=metrics, now=NOW)


def started(name: str, seconds_ago: float, on: str = "n1", **more: Any) -> wire.Pod:
    """A running pod with the moment at which it started."""
    made = pod(name, on=on, **more)
    text = wire.time_text(NOW - seconds_ago)
    return wire.Pod(metadata=made.metadata, spec=made.spec, status=wire.PodStatus(phase="Running", start_time=text))


def refusals(there: World) -> dict[str, str]:
    """The reason of each node that refuses the task."""
    each = there.function(contract.PREDICATE)
    answer = each.function(there.task("p"), there.session.nodes.columns())
    names = there.session.nodes.table.names
    return {str(names[at]): each.reasons[answer[at] - 1].text for at in np.flatnonzero(answer)}


def ratios(request: str = "0.7", burst: str = "0", risk: str = "1") -> dict[str, Fraction]:
    """Ratios of estimates."""
    return {"request_ratio": Fraction(request), "burst_ratio": Fraction(burst), "risk_factor": Fraction(risk)}


@pytest.mark.parametrize(
    ("cpu", "memory", "weights", "expected"),
    [(0.3, 0.5, (1, 1, 5), 300), (0.6, 0.5, (2, 8, 5), 240), (0.0, 0.0, (1, 1, 1), 100), (0.1, 0.1, (0, 0, 5), 0)],
)
def test_worked_scores(cpu: float, memory: float, weights: tuple[int, int, int], expected: float) -> None:
    """What is not in use counts, by importance; without importance nothing does."""
    of = Weights(cpu=weights[0], memory=weights[1], usage=weights[2])

    assert score_of_one(cpu, memory, of) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("request_", "limit", "with_", "expected"),
    [
        (500, 2000, ratios("0.5", "0.2"), 550),
        (500, 600, ratios(risk="1.2"), 420),
        (500, 0, ratios("1", risk="1.2"), 500),
        (500, 400, ratios("1", "1"), 500),
    ],
)
def test_worked_estimates(request_: int, limit: int, with_: dict[str, Fraction], expected: int) -> None:
    """Parts of the request and of what is above it, never beyond the limit; a limit below the request is none."""
    assert estimate(request_, limit, **with_) == expected * PARTS


def test_worked_composite() -> None:
    """Half of 8000 in use and 2000 to come is three quarters; a node without capacity is idle."""
    assert part_used_of_one(50.0, 2000 * PARTS, 8000) == 0.75
    assert part_used_of_one(90.0, 8000 * PARTS, 8000) == 1.0
    assert part_used_of_one(50.0, 2000 * PARTS, 0) == 0.0


def test_worked_node() -> None:
    """8 CPUs half in use, memory at 40 percent, one CPU just asked for: 253.125."""
    there = world(started("young", 10, cpu="1", memory=""), pod("p"), usage={"n1": used(50, 40)})

    assert there.scores("p") == {"n1": pytest.approx(253.125), "n2": 0}


def test_best_effort_pods_are_taken_to_use_something() -> None:
    """A best-effort pod takes 250m of 8 CPUs at 80 percent, times the risk factor: 300m."""
    there = world(started("young", 10, cpu="", memory=""), pod("p"), usage={"n1": used(80, 80)}, **{"memory.weight": 0})

    assert there.scores("p")["n1"] == pytest.approx((1 - 0.8 - 300 / 8000) * 500)


def test_loads_above_the_limits_refuse() -> None:
    """The limit itself is still allowed; CPU is named before memory; evicting does not help."""
    usage = {"n1": used(80, 80), "n2": used(80.1, 99), "n3": used(0, 80.1)}
    there = world(pod("p"), usage=usage)

    assert refusals(there) == {
        "n2": "the CPU load of the node exceeds the upper limit.",
        "n3": "the memory load of the node exceeds the upper limit.",
    }
    assert not any(reason.resolvable for reason in there.function(contract.PREDICATE).reasons)


def test_limits_are_arguments() -> None:
    """Thresholds stand in a mapping of their own."""
    there = world(pod("p"), usage={"n1": used(50, 0), "n2": used(51, 0)}, thresholds={"cpu": 50, "mem": 100})

    assert set(refusals(there)) == {"n2"}


def test_old_measurements_say_nothing() -> None:
    """Older than five minutes, a measurement neither refuses nor scores; at five minutes it still does."""
    there = world(pod("p"), usage={"n1": used(99, 99, STALE), "n2": used(0, 0, NOW - 300)})

    assert there.scores("p") == {"n1": 0, "n2": 500}
    assert there.session.extensions.functions(contract.PREDICATE) == ()


def test_without_measurements_nothing_is_registered() -> None:
    """An outage of the source looks like no plugin at all, not like an idle cluster."""
    there = world(pod("p"), usage={"n1": used(99, 99, STALE)})

    assert there.session.extensions.functions(contract.PREDICATE) == ()
    assert there.session.extensions.functions(contract.NODE_ORDER) == ()


@pytest.mark.parametrize(("seconds_ago", "counts"), [(29, True), (30, False), (31, False)])
def test_young_pods_count_until_the_next_measurement(seconds_ago: float, counts: bool) -> None:
    """A pod that started less than an interval ago is not in the measurement."""
    there = world(started("young", seconds_ago), pod("p"), usage={"n1": used(0, 0), "n2": used(0, 0)})

    assert (there.scores("p")["n1"] < 500) is counts


def test_the_interval_is_that_of_the_source() -> None:
    """With measurements every two minutes, a pod of a minute is young."""
    there = world(started("young", 60), pod("p"), usage={"n1": used(0, 0)}, interval="2m")

    assert there.scores("p")["n1"] < 500


@pytest.mark.parametrize("start", ["", "soon"])
def test_pods_without_a_start_time_count(start: str) -> None:
    """Their use may not be measured yet."""
    made = pod("young", on="n1")
    young = wire.Pod(metadata=made.metadata, spec=made.spec, status=wire.PodStatus(phase="Running", start_time=start))
    there = world(young, pod("p"), usage={"n1": used(0, 0)})

    assert there.scores("p")["n1"] < 500


def test_times_in_another_form_are_read() -> None:
    """A start with a fraction and an offset is a moment like any other."""
    made = pod("young", on="n1")
    status = wire.PodStatus(phase="Running", start_time="2001-09-09T03:46:15.5+02:00")
    young = wire.Pod(metadata=made.metadata, spec=made.spec, status=status)

    assert world(young, pod("p"), usage={"n1": used(0, 0)}).scores("p")["n1"] < 500
    assert world(young, pod("p"), usage={"n1": used(0, 0)}, interval="24s").scores("p")["n1"] == 500


def test_placing_raises_the_load_and_undoing_restores_it() -> None:
    """Each placement is counted at once, with the risk factor where the node has become loaded; undoing is exact."""
    there = world(pod("a", cpu="4"), pod("b", cpu="4"), pod("p"), usage={"n1": used(40, 0)}, **{"memory.weight": 0})
    before = there.scores("p")

    with there.session.statement() as statement:
        there.place(statement, "a", "n1")
        once = there.scores("p")
        there.place(statement, "b", "n1")
        twice = there.scores("p")

    assert once["n1"] == pytest.approx((1 - 0.4 - 2800 / 8000) * 500)
    assert twice["n1"] == pytest.approx(0)
    assert there.scores("p") == before


def test_evicting_takes_off_what_was_counted() -> None:
    """A young pod that leaves takes its estimate along; undoing brings it back; a measured one changes nothing."""
    there = world(started("young", 1), started("old", 100), pod("p"), usage={"n1": used(40, 40), "n2": used(0, 0)})
    before = there.scores("p")["n1"]

    def evicted(statement: Statement, name: str) -> float:
        there.evict(statement, name)
        return there.scores("p")["n1"]

    with there.session.statement() as statement:
        assert evicted(statement, "old") == before
        assert evicted(statement, "young") == pytest.approx(300)

    assert there.scores("p")["n1"] == before


def test_the_filter_can_be_switched_off() -> None:
    """`enablePredicate: false` keeps the score."""
    option = {"name": "usage", "enablePredicate": False}
    there = opened(machine("n1"), pod("p"), plugins=[option], usage={"n1": used(90, 90)}, now=NOW)

    assert there.session.extensions.functions(contract.PREDICATE) == ()
    assert there.scores("p")["n1"] == pytest.approx(50)


@pytest.mark.parametrize("weights", [{"usage.weight": 0}, {"cpu.weight": 0, "memory.weight": 0}])
def test_weights_of_nothing_score_nothing(weights: dict[str, int]) -> None:
    """The filter stays."""
    there = world(pod("p"), usage={"n1": used(90, 90)}, **weights)

    assert there.session.extensions.functions(contract.NODE_ORDER) == ()
    assert set(refusals(there)) == {"n1"}


def test_a_wrong_value_keeps_its_default_and_is_reported() -> None:
    """One wrong value inside a mapping leaves the others alone; quoted numbers are numbers."""
    raw = {
        "usage.weight": -1,
        "thresholds": {"cpu": 101, "mem": "70", "disk": 1},
        "estimator": {"request_ratio": 0.5, "risk_factor": 0.9, "be_cpu": "much", "be_mem": 100},
    }
    args, warnings = decode(UsageArgs, raw, "arguments")

    assert (args.weight, args.thresholds.cpu, args.thresholds.mem) == (5, 80, 70)
    assert (args.estimator.request_ratio, args.estimator.risk_factor) == (Fraction(1, 2), Fraction(6, 5))
    assert (args.estimator.be_cpu, args.estimator.be_mem) == (250, Fraction(100))
    assert sorted(warning.split(":")[0] for warning in warnings) == [
        "arguments.estimator.be_cpu",
        "arguments.estimator.risk_factor",
        "arguments.thresholds.cpu",
        "arguments.thresholds.disk",
        "arguments.usage.weight",
    ]


def test_estimates_of_best_effort_pods_may_be_quantities() -> None:
    """`500m` and `1Gi`."""
    args, warnings = decode(UsageArgs, {"estimator": {"be_cpu": "500m", "be_mem": "1Gi"}}, "arguments")

    assert (args.estimator.be_cpu, args.estimator.be_mem, warnings) == (500, Fraction(1024), [])


def test_a_mapping_that_is_none_keeps_the_defaults() -> None:
    """`thresholds: 80` is reported."""
    args, warnings = decode(UsageArgs, {"thresholds": 80}, "arguments")

    assert args == UsageArgs()
    assert len(warnings) == 1


def test_limits_of_pods_add_up_as_requests_do() -> None:
    """Containers and sidecars side by side, starting at its most, overhead on top of what is limited."""

    def container(cpu: str, memory: str = "", *, sidecar: bool = False) -> wire.Container:
        limits = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
        resources = wire.ResourceRequirements(limits=limits)
        return wire.Container(resources=resources, restart_policy="Always" if sidecar else "")

    spec = wire.PodSpec(
        containers=(container("1"), container("500m", "1Gi")),
        init_containers=(container("100m", sidecar=True), container("2"), container("no")),
        overhead={"cpu": "10m", "memory": "1Mi"},
    )

    assert pod_limits(spec) == (2110, GIB + MIB)
    assert pod_limits(wire.PodSpec(containers=(container(""),), overhead={"cpu": "1"})) == (0, 0)
    assert pod_limits(
        wire.PodSpec(containers=(container("1"),), resources=wire.ResourceRequirements(limits={"cpu": "3"}))
    ) == (3000, 0)
