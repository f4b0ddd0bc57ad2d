"""Load-aware: thresholds by kind of pod and of statistic, what nodes say themselves, and what of it cannot be read."""

import json
from typing import Any

import pytest

from pyroclast.model import wire
from tests.nodemetrics import pod_metric
from tests.unit.plugins.loads import metric, pod, refusals, world
from tests.unit.plugins.policies import World, node

THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
RAW = "node.koordinator.sh/raw-allocatable"
STATISTICS = {"5m": {"p95": {"cpu": "80"}, "p50": {"cpu": "10"}}, "10m": {"p95": {"cpu": "90"}}}


def hundred(name: str = "n1", **annotations: Any) -> wire.Node:
    """A node of a hundred CPUs; annotations are by the last word of their keys."""
    keys = {"thresholds": THRESHOLDS, "raw": RAW}
    texts = {keys[key]: each if isinstance(each, str) else json.dumps(each) for key, each in annotations.items()}
    return node(name, cpu="100", memory="100Gi", annotations=texts)


def light(name: str = "p", **more: Any) -> wire.Pod:
    """A pod of koord-prod that is estimated with a tenth of a CPU."""
    return pod(name, {"cpu": "100m"}, {"cpu": "100m"}, **{"priority": 9500, **more})


def aggregated(**more: Any) -> dict[str, Any]:
    """Thresholds of a statistic."""
    return {"usageThresholds": {"cpu": 70}, "usageAggregationType": "p95", **more}


def events(there: World) -> list[tuple[str, str, str]]:
    """Kind, name and message of events."""
    there.close()
    assert all((each.type, each.reason) == ("Warning", "InvalidLoadAnnotation") for each in there.session.report.events)
    return [(each.kind, each.name, each.message) for each in there.session.report.events]


def told(estimated: int, allowed: int) -> dict[str, str]:
    """The refusal of the first node."""
    return {"n1": f"node(s) cpu usage exceed threshold of {allowed}%: cpu usage percent {estimated}/{allowed}"}


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        ({}, told(90, 70)),
        ({"usageAggregatedDuration": "300s"}, told(80, 70)),
        ({"usageAggregationType": "p50"}, {}),
        ({"usageAggregationType": "p99"}, {}),
    ],
)
def test_statistics_take_the_place_of_averages(statistic: dict[str, Any], expected: dict[str, str]) -> None:
    """The longest period if none is named; without such a statistic the average counts."""
    there = world(hundred(), metric("n1", "20", statistics=STATISTICS), light(), aggregated=aggregated(**statistic))

    assert refusals(there) == expected


def test_a_statistic_of_a_period_that_is_not_reported() -> None:
    """What counts is what all pods of the node are taken to use, measured or not."""
    objects = (
        hundred(),
        metric("n1", "20", statistics=STATISTICS, pods=[pod_metric("old", {"cpu": "1"})]),
        pod("old", {"cpu": "60"}, on="n1"),
        pod("new", {"cpu": "40"}, on="n1", placed_ago=1),
        light(),
    )
    there = world(*objects, aggregated=aggregated(usageAggregatedDuration="1h"))

    assert refusals(there) == told(85, 70)


def test_scores_by_a_statistic() -> None:
    """Thresholds go by the average all the same."""
    arguments = {
        "aggregated": {"scoreAggregationType": "p95", "scoreAggregatedDuration": "5m"},
        "resourceWeights": {"cpu": 1},
    }
    there = world(hundred(), metric("n1", "20", statistics=STATISTICS), light(), **arguments)

    assert there.scores("p") == {"n1": 19}
    assert refusals(there) == {}


USES = [
    pod_metric("a", {"cpu": "30"}, priority="koord-prod"),
    pod_metric("b", {"cpu": "40"}, priority="koord-batch"),
    pod_metric("c", {"cpu": "50"}, priority="koord-batch"),
    pod_metric("gone", {"cpu": "60"}, priority="koord-prod"),
]
RUN = (
    pod("a", {"cpu": "90"}, on="n1", priority=9500),
    pod("b", {"cpu": "10"}, on="n1", priority=9500),
    pod("c", {"kubernetes.io/batch-cpu": "50000"}, on="n1", priority=5500),
    pod("d", {"cpu": "2"}, on="n1", priority=9500),
)


def test_thresholds_of_what_pods_of_koord_prod_use() -> None:
    """30 measured of one; 8.5 and 1.7 of one that the agent takes for another, and one not measured; 0.1 to come."""
    there = world(
        hundred(),
        metric("n1", "20", pods=USES, system={"cpu": "5"}),
        *RUN,
        light(),
        light("q", priority=5500),
        prodUsageThresholds={"cpu": 39},
    )

    assert refusals(there) == told(40, 39)
    assert refusals(there, "q") == {}


def test_the_system_can_count_to_it() -> None:
    """Five more."""
    objects = (hundred(), metric("n1", "20", pods=USES, system={"cpu": "5"}), *RUN, light())
    there = world(*objects, prodUsageThresholds={"cpu": 39}, prodUsageIncludeSys=True)

    assert refusals(there) == told(45, 39)


def test_what_is_placed_counts_for_its_kind() -> None:
    """A pod of koord-prod to both, a batch pod to the whole node alone."""
    objects = (
        hundred(),
        metric("n1", "20"),
        light(),
        pod("big", {"cpu": "20"}, priority=9500),
        pod("batch", {"kubernetes.io/batch-cpu": "60000"}, priority=5500),
        light("q", priority=5500),
    )
    there = world(*objects, prodUsageThresholds={"cpu": 10})

    with there.session.statement() as statement:
        there.place(statement, "batch", "n1")
        assert (set(refusals(there)), set(refusals(there, "q"))) == (set(), {"n1"})
    with there.session.statement() as statement:
        there.place(statement, "big", "n1")
        assert (set(refusals(there)), set(refusals(there, "q"))) == ({"n1"}, set())
    assert refusals(there) == {}


def test_scores_of_what_pods_of_koord_prod_use() -> None:
    """For such pods alone; young ones count with what they are taken to use where that is more."""
    young = pod("a", {"cpu": "40"}, on="n1", priority=9500, placed_ago=1)
    objects = (hundred(), metric("n1", "60", pods=USES), young, light(), light("q", priority=5500))
    arguments = {"resourceWeights": {"cpu": 1}, "scoreAccordingProdUsage": True}

    assert world(*objects, **arguments).scores("p") == {"n1": 65}
    assert world(*objects, **arguments).scores("q") == {"n1": 35}


@pytest.mark.parametrize(
    ("own", "refuses"),
    [
        ({"usageThresholds": {"cpu": 40}}, True),
        ({"usageThresholds": {"cpu": 60}}, False),
        ({"usageThresholds": {"cpu": 0}}, False),
        ({"usageThresholds": {"memory": 10}}, False),
        ({"usageThresholds": {}}, True),
        ({"prodUsageThresholds": {"cpu": 10}}, False),
        ({"prodUsageThresholds": {"cpu": 0}}, True),
        ({"aggregatedUsage": {"usageThresholds": {"cpu": 70}, "usageAggregationType": "p95"}}, True),
        (
            {
                "aggregatedUsage": {
                    "usageThresholds": {"cpu": 85},
                    "usageAggregationType": "p95",
                    "usageAggregatedDuration": "5m0s",
                }
            },
            False,
        ),
        ({"aggregatedUsage": {"usageThresholds": {"cpu": 1}}}, True),
        ({"aggregatedUsage": None, "usageThresholds": {"cpu": 60}, "more": 1}, False),
        ({}, True),
    ],
)
def test_nodes_say_their_thresholds_themselves(own: Any, refuses: bool) -> None:
    """In place of those of the arguments, kind by kind; what they do not say stays. Half is in use, 45 are allowed."""
    there = world(
        hundred(thresholds=own), metric("n1", "50", statistics=STATISTICS), light(), usageThresholds={"cpu": 45}
    )

    assert set(refusals(there)) == ({"n1"} if refuses else set())
    assert events(there) == []


def test_reasons_contain_the_nearest_node() -> None:
    """The one that misses its threshold by least; words tell which thresholds there are."""
    nodes = (hundred("n1"), hundred("n2", thresholds={"usageThresholds": {"cpu": 10}}), hundred("n3"))
    there = world(*nodes, metric("n1", "90"), metric("n2", "20"), metric("n3", "30"), light())

    text = "node(s) cpu usage exceed threshold of 10% to 65%: cpu usage percent 20/10"
    assert refusals(there) == {"n1": text, "n2": text}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"usageThresholds": {"cpu": "40"}}',
        '{"usageThresholds": {"cpu": -1}}',
        '{"usageThresholds": {"cpu": 101}}',
        '{"usageThresholds": {"cpu": 9999999999999999999}}',
        '{"prodUsageThresholds": {"cpu": -1}}',
        '{"aggregatedUsage": {"usageThresholds": {"cpu": -1}, "usageAggregationType": "p95"}}',
        '{"aggregatedUsage": {"usageThresholds": {"cpu": 1}, "usageAggregationType": "p42"}}',
        '{"aggregatedUsage": {"usageAggregatedDuration": "5"}}',
        '{"aggregatedUsage": {"usageAggregatedDuration": "-5m"}}',
    ],
)
def test_unreadable_thresholds_of_nodes_are_reported(text: str) -> None:
    """Those of the arguments apply."""
    there = world(hundred(thresholds=text), metric("n1", "50"), light(), usageThresholds={"cpu": 45})

    assert set(refusals(there)) == {"n1"}
    ((kind, name, message),) = events(there)
    assert (kind, name) == ("Node", "n1")
    assert message.startswith(f"{THRESHOLDS}: ")
    assert message.endswith("; the arguments apply")


def test_amounts_before_they_were_amplified_count() -> None:
    """Thresholds of the resources that the annotation names."""
    raw = hundred(raw={"cpu": "50", "memory": 107374182400})
    there = world(raw, metric("n1", "25"), light(), usageThresholds={"cpu": 49}, resourceWeights={"cpu": 1})

    assert refusals(there) == told(50, 49)
    assert there.scores("p") == {"n1": 49}


@pytest.mark.parametrize("text", ["{", '{"cpu": "many"}', '{"cpu": -1}', '{"cpu": true}'])
def test_unreadable_amounts_are_reported(text: str) -> None:
    """What is allocatable holds."""
    there = world(hundred(raw=text), metric("n1", "25"), light(), usageThresholds={"cpu": 49})

    assert refusals(there) == {}
    ((kind, name, message),) = events(there)
    assert (kind, name) == ("Node", "n1")
    assert message.startswith(f"{RAW}: ")
    assert message.endswith("; status.allocatable applies")


FACTORS = "scheduling.koordinator.sh/load-estimated-scaling-factors"
AFTER = "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled"


@pytest.mark.parametrize("text", ["{", '{"cpu": -1}', '{"cpu": "50"}', "50", "x" * 300])
def test_unreadable_scaling_factors_of_pods_are_reported(text: str) -> None:
    """To each pod that has them, where annotations count at all; those of the arguments apply."""
    objects = (
        hundred(),
        metric("n1"),
        pod("p", {"cpu": "100"}, annotations={FACTORS: text}),
        pod("q", {"cpu": "100"}, annotations={FACTORS: text}),
    )
    there = world(*objects, allowCustomizeEstimation=True, resourceWeights={"cpu": 1})

    assert there.scores("p") == {"n1": 15}
    told = events(there)
    assert [(kind, name) for kind, name, _ in told] == [("Pod", "p"), ("Pod", "q")]
    assert told[0][2].startswith(f"{FACTORS}: got {text[:20]!r}"[:-1])
    assert len(told[0][2]) < 400
    assert events(world(*objects)) == []


@pytest.mark.parametrize("text", ["soon", "-1", "1.5", "9" * 30])
def test_unreadable_seconds_of_pods_are_reported(text: str) -> None:
    """Those of the arguments apply."""
    young = pod("young", {"cpu": "10"}, on="n1", placed_ago=300, annotations={AFTER: text})
    objects = (hundred(), metric("n1", pods=[pod_metric("young", {"cpu": "1"})]), young, light())
    arguments = {
        "allowCustomizeEstimation": True,
        "estimatedSecondsAfterPodScheduled": 301,
        "resourceWeights": {"cpu": 1},
    }
    there = world(*objects, **arguments)

    assert there.scores("p") == {"n1": 92}
    assert events(there) == [
        ("Pod", "young", f"{AFTER}: got {text!r}, expected a whole number of at least 0; the arguments apply")
    ]


def test_a_reported_fault_is_not_reported_again() -> None:
    """In one session, and in later ones while it stays."""
    there = world(hundred(thresholds="{"), metric("n1"), light())
    assert len(events(there)) == 1

    assert len(events(there)) == 1
