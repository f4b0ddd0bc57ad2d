"""Loads of nodes: each object is read once per version, and each fault is reported once."""

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest

from pyroclast.cache.files.dump import take_dump
from pyroclast.cache.files.objects import decoded, state_from_objects
from pyroclast.cache.state import ClusterState
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.load import NANOSECONDS, NodeLoad, PodLoad
from pyroclast.model.tasks import Task, TaskStatus
from tests.nodemetrics import node_metric, pod_metric

N1, N2 = NodeName("n1"), NodeName("n2")
GIB = 2**30
NOW = 1_000_000_000.0


def apply(state: ClusterState, *objects: Mapping[str, Any]) -> None:
    """Apply objects to a cluster state."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def read(metric: Mapping[str, Any]) -> tuple[NodeLoad | None, list[tuple[str, str]]]:
    """Return the load of an object, and path and message of each fault."""
    faults: list[ObjectError] = []
    state = ClusterState(report=faults.append)
    apply(state, metric)
    load = state.snapshot().loads[N1]
    assert all((fault.kind, fault.name) == ("NodeMetric", "n1") for fault in faults)
    return load, [(fault.path, fault.message) for fault in faults]


def test_all_fields_are_read() -> None:
    """CPU is in thousandths, other resources in whole units, rounded up. Pods without amounts are not measured."""
    load, faults = read(
        node_metric(
            "n1",
            {"cpu": "1500m", "memory": "2Gi", "example.com/slots": "1500m"},
            at=NOW,
            system={"cpu": "0.1"},
            pods=[pod_metric("a", {"cpu": "1"}, priority="koord-prod"), pod_metric("b", {})],
            statistics={"5m0s": {"p95": {"cpu": "2"}, "p50": {}}, "1h": {"p95": {"cpu": "3"}}},
            interval=30,
        )
    )

    assert faults == []
    assert load is not None
    assert (load.measured, load.interval_seconds) == (NOW, 30)
    assert load.usage == {"cpu": 1500, "memory": 2 * GIB, "example.com/slots": 2}
    assert load.system == {"cpu": 100}
    assert load.pods == {"ns/a": PodLoad({"cpu": 1000}, is_prod=True)}
    assert load.statistic("p95", 300 * NANOSECONDS) == {"cpu": 2000}
    assert load.statistic("p95", 0) == {"cpu": 3000}
    assert load.statistic("p95", 60 * NANOSECONDS) is None
    assert load.statistic("p50", 0) == load.usage


def test_an_empty_object_has_no_usage() -> None:
    """It has no time and no usage, and the default interval of one minute."""
    load, faults = read({"kind": "NodeMetric", "metadata": {"name": "n1"}})

    assert faults == []
    assert load is not None
    assert (load.measured, load.interval_seconds, load.usage, load.pods) == (None, 60, None, {})


@pytest.mark.parametrize("amount", ["much", "-1"])
def test_a_node_with_unreadable_usage_is_unknown(amount: str) -> None:
    """The fault names the field."""
    load, faults = read(node_metric("n1", {"cpu": amount}, at=NOW))

    assert load is None
    assert faults == [
        (
            "status.nodeMetric.nodeUsage.resources.cpu",
            "'much' is not a quantity" if amount == "much" else "-1 is negative",
        )
    ]


def test_other_unreadable_fields_are_ignored() -> None:
    """The other fields count: a time, an interval, a statistic, a period, a pod, the system."""
    load, faults = read(
        node_metric(
            "n1",
            {"cpu": "1"},
            at="yesterday",
            system={"cpu": "x"},
            pods=[pod_metric("a", {"cpu": "-2"}), pod_metric("b", {"cpu": "2"})],
            statistics={
                "soon": {"p95": {"cpu": "1"}},
                "-5m": {"p95": {"cpu": "1"}},
                "5m": {"p90": {"cpu": "?"}, "p95": {"cpu": "2"}},
            },
            interval=-1,
        )
    )

    assert load is not None
    assert (load.measured, load.interval_seconds, load.usage, load.system) == (None, 60, {"cpu": 1000}, {})
    assert list(load.pods) == ["ns/b"]
    assert list(load.aggregated) == [("p95", 300 * NANOSECONDS)]
    assert [path for path, _ in faults] == [
        "status.nodeMetric.systemUsage.resources.cpu",
        "status.updateTime",
        "spec.metricCollectPolicy.reportIntervalSeconds",
        "status.nodeMetric.aggregatedNodeUsages[0].duration",
        "status.nodeMetric.aggregatedNodeUsages[1].duration",
        "status.nodeMetric.aggregatedNodeUsages[2].usage.p90.resources.cpu",
        "status.podsMetric[0].podUsage.resources.cpu",
    ]


def test_an_object_is_read_once_per_version() -> None:
    """The result is the same object until the next version. Faults are reported once per version."""
    faults: list[ObjectError] = []
    state = ClusterState(report=faults.append)
    apply(state, node_metric("n1", {"cpu": "x"}, at=NOW), node_metric("n2", {"cpu": "1"}, at=NOW))
    first = state.snapshot().loads

    apply(state, {"kind": "Queue", "metadata": {"name": "q"}})
    assert state.snapshot().loads is first
    apply(state, node_metric("n3", {"cpu": "1"}, at=NOW))
    assert state.snapshot().loads[N2] is first[N2]
    assert len(faults) == 1


def test_a_deleted_object_is_forgotten() -> None:
    """The node has no measurement."""
    state = ClusterState()
    ((kind, metric),) = decoded([node_metric("n1", {"cpu": "1"}, at=NOW)])
    state.apply(kind, metric)
    assert set(state.snapshot().loads) == {"n1"}

    state.remove(kind, metric)

    assert state.snapshot().loads == {}


def test_a_dump_has_loads() -> None:
    """The loads read from the dump equal the original ones."""
    metric = node_metric(
        "n1", {"cpu": "1"}, at=NOW, pods=[pod_metric("a", {"cpu": "1"})], statistics={"5m": {"avg": {"cpu": "1"}}}
    )
    dumped = json.loads(take_dump(state_from_objects([metric]), NOW).encode())

    load, again = (state_from_objects(each).snapshot().loads[N1] for each in ([metric], [dumped]))

    assert load is not None
    assert again is not None
    assert (load.measured, load.usage, load.pods, load.aggregated) == (
        again.measured,
        again.usage,
        again.pods,
        again.aggregated,
    )


def test_estimates_are_cached_while_the_node_has_the_same_tasks() -> None:
    """A copy of the tasks has the same result. Another task or another state of a task has not."""
    load, _ = read(node_metric("n1", {"cpu": "1"}, at=NOW))
    state = ClusterState()
    apply(state, {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n1", "containers": []}})
    (task,) = state._pods.tasks.values()
    assert load is not None
    times = count(1)

    def derived(tasks: dict[TaskId, Task]) -> tuple[int, ...]:
        return load.derive("key", tasks, lambda: (next(times),))

    first = {task.id: task}
    moved = {task.id: task.moved(TaskStatus.RELEASING, task.node)}
    assert [derived(tasks) for tasks in (first, first, dict(first), moved, {})] == [(1,), (1,), (1,), (2,), (3,)]
