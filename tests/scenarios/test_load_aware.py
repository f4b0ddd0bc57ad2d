"""Clusters whose nodes are measured by Koordinator's agents: what is placed where, why not, and when that is over."""

from collections.abc import Mapping
from typing import Any

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.nodemetrics import node_metric

NOW = 1_800_000_000.0
PLUGINS = ("gang", "predicates", "load-aware")


def measured(name: str, cpu: float, *, age: float = 0) -> Mapping[str, Any]:
    """A node's load."""
    return node_metric(name, {"cpu": str(cpu), "memory": "1Gi"}, at=NOW - age)


ONE = Scenario().node("n1", cpu=10, memory="100Gi")
THREE = ONE.node("n2", cpu=10, memory="100Gi").node("n3", cpu=10, memory="100Gi")


def test_one_cycle_overloads_no_node() -> None:
    """Each idle node takes seven of sixteen pods, which makes 60 %; an eighth would make 68; the busy one has none."""
    there = THREE.add(measured("n1", 0), measured("n2", 0.1), measured("n3", 6)).job("j", tasks=16, min_available=1)

    outcome = there.run("allocate", plugins=PLUGINS, now=NOW)

    nodes = list(outcome.bindings.values())
    assert {name: nodes.count(name) for name in set(nodes)} == {"n1": 7, "n2": 7}


def test_the_least_loaded_goes_first() -> None:
    """Though all are equally empty by requests."""
    there = THREE.add(measured("n1", 4), measured("n2", 1), measured("n3", 2)).job("j", tasks=1)

    assert there.run("allocate", plugins=PLUGINS, now=NOW).bindings == {"j-0": "n2"}


def test_pending_pods_have_load_and_threshold_in_their_message() -> None:
    """The load of the node that comes nearest, beside the words; nodes of which nothing is known are counted apart."""
    there = THREE.add(measured("n1", 9), measured("n2", 6), measured("n3", 0, age=180)).job("j", tasks=1)

    outcome = there.run("allocate", plugins=PLUGINS, now=NOW)

    assert outcome.bindings == {}
    assert "2 node(s) cpu usage exceed threshold of 65%" in outcome.why("j")
    assert "1 node(s) nodeMetric expired" in outcome.why("j")
    assert outcome.refusals_of_pod("j-0")[0].amounts == {"cpu usage percent": (69_000, 65_000)}


def test_pending_pods_are_placed_after_lower_measurements() -> None:
    """What was refused is not remembered beyond that."""
    there = ONE.add(measured("n1", 9)).job("j", tasks=1)

    def bound(cycles: int) -> dict[str, str]:
        later = {3: there.add(measured("n1", 1))}
        return there.run("allocate", plugins=PLUGINS, now=NOW, cycles=cycles, later=later).bindings

    assert bound(2) == {}
    assert bound(3) == {"j-0": "n1"}


def test_another_load_is_no_news() -> None:
    """Conditions of pods and groups have no numbers that change with each measurement."""
    told = {
        THREE.add(*(measured(name, cpu) for name in ("n1", "n2", "n3")))
        .job("j", tasks=1)
        .run("allocate", plugins=PLUGINS, now=NOW)
        .why("j")
        for cpu in (7, 8, 9)
    }

    assert len(told) == 1


def test_no_pod_is_evicted_for_a_loaded_node() -> None:
    """What a victim uses would be measured for a while yet."""
    there = ONE.add(measured("n1", 9)).priority_class("high", 100)
    there = there.running("low", on=["n1"] * 2, min_available=0, cpu=4)
    there = there.job("high", tasks=1, cpu=4, priority_class="high")

    plugins = ("priority", "gang", "predicates", "load-aware")
    assert there.run("allocate", "preempt", plugins=plugins, now=NOW).evictions == []
    assert there.run("allocate", "preempt", plugins=plugins[:-1], now=NOW).evictions != []


def test_a_quiet_scheduler_wakes_when_a_measurement_grows_old() -> None:
    """Until then a cycle decides nothing; from then on the node takes pods, if configured."""
    objects = THREE.add(*(measured(name, 9, age=30) for name in ("n1", "n2", "n3"))).job("j", tasks=1).objects
    arguments = {"load-aware": {"enableScheduleWhenNodeMetricsExpired": True}}
    parsed, registry = configured(("allocate",), (PLUGINS,), arguments)
    cluster = cluster_of(objects, shard_mode="none", shard="volcano", warnings=[])

    def after(seconds: float, memory: Memory) -> tuple[int, Memory]:
        configuration, now = parsed.configuration, NOW + seconds
        report, left = run_cycle(cluster.snapshot(), configuration, registry=registry, now=now, memory=memory)
        cluster.settle((), report, now=now, recreate_evicted=False)
        return len(report.plans), left

    memory = Memory()
    for seconds in range(4):
        plans, memory = after(seconds, memory)
        assert plans == 0
    assert memory.quiet_until == NOW + 150
    assert after(149, memory)[0] == 0
    assert after(150, memory)[0] == 1
