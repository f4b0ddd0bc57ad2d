"""How elastic quotas stand, in gauges of Koordinator's names; from a real cycle on objects."""

from typing import Any

import msgspec

from pyroclast.cache.files.objects import state_from_objects
from pyroclast.framework.cycle import run_cycle
from pyroclast.model.elastic.names import UNSCHEDULABLE_RESOURCE
from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.monitoring.cycle_metrics import set_cycle_metrics
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.registry import load_registry
from pyroclast.testing import Scenario
from tests.elastic_quotas import elastic_quota, uses

CONFIGURATION = "actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: elastic-quota}]\n"
QUOTA = elastic_quota("q", least={"cpu": "1500m"}, most={"cpu": 4, "memory": "8Gi"})


def seen(*quotas: dict[str, Any]) -> Seen:
    """A cycle on a cluster with quotas and one pod that runs."""
    scenario = Scenario().queue("default").node("n").running("a", on=["n"], cpu=2, memory="1Gi", labels=uses("q"))
    state = state_from_objects([*scenario.add(*quotas).objects])
    registry = load_registry()
    parsed = read_configuration(CONFIGURATION, registry, strict=False, generation=1)
    report, _ = run_cycle(state.snapshot(), parsed.configuration, registry=registry, now=1.0)
    return Seen(snapshot=state.snapshot(), report=report)


def value(metrics: Metrics, kind: str, resource: str, field: str) -> float | None:
    """One value of the quota."""
    labels = ("q", resource, "", "false", "koordinator-root-quota", field)
    return metrics.value(f"scheduler_elastic_quota_{kind}", *labels)


def test_the_root_of_a_tree_shows_its_amounts() -> None:
    """All of it, and the part on nodes that take no pods."""
    annotations = {UNSCHEDULABLE_RESOURCE: '{"cpu": "1500m"}'}
    metrics = Metrics()
    root = elastic_quota("q", most={"cpu": 9}, tree="t", total={"cpu": 8}, annotations=annotations)
    set_cycle_metrics(seen(root), metrics)
    for field, expected in (("total-resource", 8000), ("unschedulable-resource", 1500)):
        labels = ("q", "cpu", "t", "false", "koordinator-root-quota", field)
        assert metrics.value("scheduler_elastic_quota_status", *labels) == expected


def test_quotas_are_measured_until_they_go() -> None:
    """CPU in thousandths, memory in bytes; a cycle that decides nothing anew leaves them there."""
    metrics, with_quota = Metrics(), seen(QUOTA)
    set_cycle_metrics(with_quota, metrics)
    assert value(metrics, "spec", "cpu", "min") == 1500
    assert value(metrics, "spec", "memory", "max") == 8 * 1024**3
    assert value(metrics, "status", "cpu", "used") == 2000
    assert value(metrics, "status", "memory", "used") == 1024**3
    assert value(metrics, "status", "cpu", "runtime") == 2000

    quiet = Seen(snapshot=with_quota.snapshot, report=msgspec.structs.replace(with_quota.report, quotas=()))
    set_cycle_metrics(quiet, metrics)
    assert value(metrics, "status", "cpu", "used") == 2000

    set_cycle_metrics(seen(), metrics)
    assert value(metrics, "status", "cpu", "used") is None
    assert value(metrics, "spec", "cpu", "min") is None
