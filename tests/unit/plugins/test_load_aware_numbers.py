"""Load-aware: clusters whose scores and refusals are known from Koordinator, on a node of 96 CPUs and 512 GiB."""

from collections.abc import Sequence
from typing import Any

import pytest

from pyroclast.model import wire
from tests.nodemetrics import pod_metric
from tests.unit.plugins.loads import metric, pod, refusals, world
from tests.unit.plugins.policies import node

NODE = node("n1", cpu="96", memory="512Gi")
PROD = 9999
LARGE = {"cpu": "16", "memory": "32Gi"}
PERIOD = {"scoreAggregationType": "p95", "scoreAggregatedDuration": "5m"}
STATISTICS = {"5m": {"p95": {"cpu": "32", "memory": "10Gi"}, "p99": {"cpu": "50", "memory": "70Gi"}}}


def asks(name: str, amounts: dict[str, str], *, on: str = "", **more: Any) -> wire.Pod:
    """A pod that may use no more than it asks for."""
    return pod(name, amounts, amounts, on=on, **more)


@pytest.mark.parametrize(
    ("there", "placed", "to_come", "arguments", "expected"),
    [
        (metric("n1", age=180), (), asks("p", LARGE), {}, 0),
        (metric("n1"), (), asks("p", LARGE), {}, 90),
        (metric("n1", "32", "10Gi"), (), asks("p", LARGE), {}, 72),
        (metric("n1", statistics=STATISTICS), (), asks("p", LARGE), {"aggregated": PERIOD}, 72),
        (metric("n1"), (), asks("p", LARGE), {"aggregated": PERIOD}, 90),
        (
            metric("n1", pods=[pod_metric("old", {"cpu": "1", "memory": "1Gi"})]),
            (asks("old", LARGE, on="n1", placed_ago=600),),
            asks("p", LARGE),
            {"aggregated": PERIOD},
            81,
        ),
        (metric("n1", "32", "10Gi"), (asks("new", LARGE, on="n1", placed_ago=0),), asks("p", LARGE), {}, 63),
        (metric("n1", "32", "10Gi", age=10), (asks("new", LARGE, on="n1", placed_ago=0),), asks("p", LARGE), {}, 63),
        (metric("n1", "32", "10Gi"), (asks("new", LARGE, on="n1", placed_ago=10),), asks("p", LARGE), {}, 63),
        (
            metric("n1"),
            (),
            asks("p", {"kubernetes.io/batch-cpu": "16000", "kubernetes.io/batch-memory": "32Gi"}, priority=5000),
            {},
            90,
        ),
        (
            metric("n1", pods=[pod_metric("new", {"cpu": "30", "memory": "100Gi"}, priority="koord-prod")]),
            (asks("new", LARGE, on="n1", placed_ago=0, priority=PROD),),
            asks("p", {"cpu": "16000", "memory": "32Gi"}, priority=PROD),
            {"scoreAccordingProdUsage": True},
            38,
        ),
        (metric("n1"), (), pod("p", {"cpu": "8", "memory": "16Gi"}, LARGE), {}, 90),
        (metric("n1"), (), asks("p", LARGE), {"dominantResourceWeight": 10}, 85),
        (metric("n1"), (), pod("p", {}), {}, 99),
    ],
)
def test_scores(
    there: wire.NodeMetric, placed: Sequence[wire.Pod], to_come: wire.Pod, arguments: dict[str, Any], expected: int
) -> None:
    """Filtered by usage, statistics, estimates, and the usage of pods of koord-prod."""
    assert world(NODE, there, *placed, to_come, **arguments).scores("p") == {"n1": expected}


MID_LARGE = {"kubernetes.io/mid-cpu": "20k", "kubernetes.io/mid-memory": "200Gi"}
BOTH = {"usageThresholds": {"cpu": 65, "memory": 85}, "prodUsageThresholds": {"cpu": 60, "memory": 70}}
PROD_USE = pod_metric("prod", {"cpu": "30", "memory": "100Gi"}, priority="koord-prod")
PROD_POD = pod("prod", {}, on="n1", priority=PROD)


@pytest.mark.parametrize(
    ("there", "placed", "to_come", "arguments", "resource"),
    [
        (metric("n1", "60", "256Gi"), (), pod("p", {}), {}, ""),
        (metric("n1", "70", "256Gi"), (), pod("p", {}), {}, "cpu"),
        (metric("n1", "30", "500Gi"), (), pod("p", {}), {}, "memory"),
        (metric("n1", "30", "500Gi"), (), pod("p", {}), {"usageThresholds": {"memory": 0}}, ""),
        (
            metric("n1", "53", "300Gi", pods=[PROD_USE]),
            (PROD_POD, pod("other", {"cpu": "1", "memory": "200Gi"}, on="n1", priority=PROD, placed_ago=0)),
            pod("p", {"cpu": "1", "memory": "200Gi"}, priority=PROD),
            BOTH,
            "memory",
        ),
        (
            metric("n1", "33", "110Gi", pods=[PROD_USE]),
            (PROD_POD, pod("mid", MID_LARGE, on="n1", priority=7500, placed_ago=0)),
            pod("p", MID_LARGE, priority=7500),
            BOTH,
            "cpu",
        ),
    ],
)
def test_refusals(
    there: wire.NodeMetric, placed: Sequence[wire.Pod], to_come: wire.Pod, arguments: dict[str, Any], resource: str
) -> None:
    """Filtered by usage, estimates of recent placements, and the usage of pods of koord-prod; the resource is named."""
    found = refusals(world(NODE, there, *placed, to_come, **arguments))

    assert list(found) == (["n1"] if resource else [])
    assert all(text.startswith(f"node(s) {resource} usage exceed threshold") for text in found.values())
