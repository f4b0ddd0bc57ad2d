"""Load-aware: thresholds, scores, age of measurements, and what was placed since they were made."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from tests.nodemetrics import pod_metric
from tests.unit.plugins.loads import NOW, metric, pod, refusals, world
from tests.unit.plugins.policies import node

HUNDRED = node("n1", cpu="100", memory="100Gi")
OTHER = node("n2", cpu="100", memory="100Gi")


def eight(cpu: str) -> Any:
    """A pod with a limit that is its request, and little memory."""
    return pod("p", {"cpu": cpu, "memory": "1Gi"}, {"cpu": cpu, "memory": "1Gi"})


def test_worked_refusal() -> None:
    """60 of 100 CPUs in use, and 85 % of 8 to come: 66.8, which is 67, above 65."""
    there = world(HUNDRED, metric("n1", "60"), eight("8"))

    assert refusals(there) == {"n1": "node(s) cpu usage exceed threshold of 65%: cpu usage percent 67/65"}


def test_worked_score() -> None:
    """85 % of 5 is 4.25: 64.25 is 64, which is allowed; 35 is left of CPU, 99 of memory."""
    there = world(HUNDRED, metric("n1", "60"), eight("5"), resourceWeights={"cpu": 1})

    assert refusals(there) == {}
    assert there.scores("p") == {"n1": 35}
    assert world(HUNDRED, metric("n1", "60"), eight("5")).scores("p") == {"n1": (35 + 99) // 2}


def test_memory_has_its_threshold() -> None:
    """70 % of the request, and 95 % are allowed; the first resource by name is reported."""
    big = pod("p", {"cpu": "1", "memory": "10Gi"})
    there = world(
        HUNDRED,
        OTHER,
        node("n3", cpu="100", memory="100Gi"),
        big,
        metric("n1", memory="88Gi"),
        metric("n2", memory="89Gi"),
        metric("n3", "90", "99Gi"),
    )

    assert refusals(there) == {
        "n2": "node(s) memory usage exceed threshold of 95%: memory usage percent 96/95",
        "n3": "node(s) cpu usage exceed threshold of 65%: cpu usage percent 91/65",
    }
    assert not any(
        reason.resolvable
        for reason in there.session.candidates.answers.reasons_of(there.function(contract.PREDICATE), there.task("p"))
    )


@pytest.mark.parametrize(("used", "refuses"), [("65490m", False), ("65500m", True)])
def test_halves_are_rounded_up(used: str, refuses: bool) -> None:
    """A load of 65.5 % is 66; a thousandth of a CPU, of which one percent is taken, is nothing."""
    there = world(HUNDRED, metric("n1", used), pod("p", {"cpu": "1m"}), estimatedScalingFactors={"cpu": 1})

    assert ("n1" in refusals(there)) is refuses


def test_halves_are_exact() -> None:
    """57 of 200 are 28.5 %, whatever the nearest binary fraction is: 29."""
    there = world(
        node("n1", cpu="200", memory="100Gi"),
        metric("n1", "57"),
        pod("p", {"cpu": "1m"}),
        usageThresholds={"cpu": 28},
        estimatedScalingFactors={"cpu": 1},
    )

    assert refusals(there) == {"n1": "node(s) cpu usage exceed threshold of 28%: cpu usage percent 29/28"}


def test_a_threshold_of_nothing_is_none() -> None:
    """Resources that are not named are not limited either."""
    full = (HUNDRED, metric("n1", "100", "100Gi"), pod("p"))

    assert refusals(world(*full, usageThresholds={"cpu": 0, "memory": 0})) == {}
    assert refusals(world(*full, usageThresholds={"memory": 0, "example.com/slots": 1})) == {}
    assert set(refusals(world(*full, usageThresholds={"memory": 99}))) == {"n1"}


def test_pods_of_daemon_sets_go_anywhere() -> None:
    """They are scored all the same."""
    there = world(HUNDRED, metric("n1", "99"), pod("p", owner="DaemonSet"))

    assert there.function(contract.PREDICATE).function(there.task("p"), there.session.nodes.columns()) is None
    assert there.scores("p")["n1"] > 0


def test_nodes_without_measurements_accept_all_pods_and_score_nothing() -> None:
    """No NodeMetric, one that says nothing yet, one that cannot be read."""
    objects = (
        HUNDRED,
        OTHER,
        node("n3", cpu="100"),
        node("n4", cpu="100", memory="100Gi"),
        metric("n1", used=None),
        metric("n2", "x"),
        metric("n4"),
        pod("p", {"cpu": "1", "memory": "1Gi"}),
    )
    there = world(*objects)

    assert refusals(there) == {}
    assert there.scores("p") == {"n1": 0, "n2": 0, "n3": 0, "n4": 99}


def test_without_any_measurement_nothing_is_registered() -> None:
    """As if the plugin did not stand there."""
    there = world(HUNDRED, pod("p"))

    assert there.session.extensions.functions(contract.PREDICATE) == ()
    assert there.session.extensions.functions(contract.NODE_ORDER) == ()
    assert there.session.extensions.all_ledgers() == ()
    assert there.session.report.wakes is None


AGES = [(179, False), (180, True), (181, True)]


@pytest.mark.parametrize(("age", "is_old"), AGES)
def test_old_measurements_refuse_and_score_nothing(age: float, is_old: bool) -> None:
    """From the given age on, and if the age is unknown."""
    there = world(HUNDRED, OTHER, metric("n1", age=age), metric("n2", at=None), pod("p"))

    expired = "node(s) nodeMetric expired"
    assert refusals(there) == {"n2": expired, **({"n1": expired} if is_old else {})}
    assert (there.scores("p")["n1"] == 0) is is_old


def test_old_measurements_can_be_let_pass() -> None:
    """Whatever they say."""
    there = world(HUNDRED, metric("n1", "99", age=180), pod("p"), enableScheduleWhenNodeMetricsExpired=True)

    assert refusals(there) == {}
    assert there.scores("p") == {"n1": 0}


def test_old_measurements_can_count_as_new_ones() -> None:
    """For the thresholds; they score nothing all the same."""
    there = world(
        HUNDRED, OTHER, metric("n1", "99", age=1000), metric("n2", at=None), pod("p"), filterExpiredNodeMetrics=False
    )

    assert set(refusals(there)) == {"n1"}
    assert there.scores("p") == {"n1": 0, "n2": 0}
    assert there.session.report.wakes is None


def test_without_thresholds_age_does_not_matter() -> None:
    """There is nothing to be held against it."""
    there = world(HUNDRED, metric("n1", age=1000), pod("p"), usageThresholds={"cpu": 0})

    assert refusals(there) == {}


def test_the_scheduler_wakes_when_the_next_measurement_grows_old() -> None:
    """Not for those that are old already."""
    nodes = (HUNDRED, OTHER, node("n3"))
    there = world(
        *nodes, metric("n1", age=10), metric("n2", age=100), metric("n3", age=200), nodeMetricExpirationSeconds=150
    )

    assert there.session.report.wakes == NOW + 50


def placed(name: str = "young", cpu: str = "10", **more: Any) -> Any:
    """A pod on the first node."""
    return pod(name, {"cpu": cpu, "memory": "0"}, on="n1", **more)


def left(*objects: Any, **arguments: Any) -> float:
    """How much CPU is left of a hundred on the first node, for a pod that is estimated with one of them."""
    asks = pod("p", {"cpu": "1"}, {"cpu": "1"})
    there = world(
        HUNDRED, asks, *objects, resourceWeights={"cpu": 1}, **{"estimatedScalingFactors": {"cpu": 100}, **arguments}
    )
    return there.scores("p")["n1"] + 1


@pytest.mark.parametrize(
    ("pods", "measured", "expected"),
    [
        ([placed()], [], 90),
        ([placed(placed_ago=59)], [("young", "4")], 94),
        ([placed(placed_ago=59)], [("young", "14")], 100),
        ([placed(placed_ago=60)], [("young", "4")], 100),
        ([placed(placed_ago=None)], [("young", "4")], 94),
        ([placed(placed_ago=None, start="2001-09-09T01:00:00Z")], [("young", "4")], 100),
        ([placed(placed_ago=None, start="soon")], [("young", "4")], 94),
        ([placed(leaving=True)], [], 90),
        ([placed(), placed("other", "20")], [("other", "1")], 90),
    ],
)
def test_what_no_measurement_shows_counts_with_its_estimate(
    pods: list[Any], measured: list[tuple[str, str]], expected: int
) -> None:
    """Pods that nothing was measured of, and those placed less than an interval before, above what was measured."""
    shown = [pod_metric(name, {"cpu": cpu}) for name, cpu in measured]

    assert left(metric("n1", pods=shown), *pods) == expected


def test_the_interval_is_that_of_the_agent() -> None:
    """With reports every five minutes, a pod of four is not in them."""
    shown = [pod_metric("young", {"cpu": "1"})]

    assert left(metric("n1", pods=shown, interval=300), placed(placed_ago=240)) == 91
    assert left(metric("n1", pods=shown, interval=30), placed(placed_ago=40)) == 100


SCHEDULED, INITIALIZED = "estimatedSecondsAfterPodScheduled", "estimatedSecondsAfterInitialized"
OWN_SCHEDULED = "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled"
OWN_INITIALIZED = "scheduling.koordinator.sh/load-estimated-seconds-after-initialized"
OWN = {"allowCustomizeEstimation": True}


@pytest.mark.parametrize(
    ("annotations", "initialized", "arguments", "expected"),
    [
        ({}, False, {SCHEDULED: 301}, 91),
        ({}, False, {SCHEDULED: 300}, 100),
        ({}, True, {INITIALIZED: 201}, 91),
        ({}, True, {INITIALIZED: 200, SCHEDULED: 900}, 100),
        ({}, False, {INITIALIZED: 900, SCHEDULED: 301}, 91),
        ({OWN_SCHEDULED: "301"}, False, {}, 100),
        ({OWN_SCHEDULED: "301"}, False, OWN, 91),
        ({OWN_SCHEDULED: "0"}, False, {**OWN, SCHEDULED: 301}, 100),
        ({OWN_INITIALIZED: "201"}, True, OWN, 91),
    ],
)
def test_estimates_can_count_for_longer(
    annotations: dict[str, str], initialized: bool, arguments: dict[str, Any], expected: int
) -> None:
    """From binding on, or from the end of init containers on, which goes first; pods may say it where they are let."""
    shown = [pod_metric("young", {"cpu": "1"})]
    ready = [("Initialized", "True", 200.0)] if initialized else []
    young = placed(placed_ago=300, annotations=annotations, conditions=ready)

    assert left(metric("n1", pods=shown), young, **arguments) == expected


def test_placing_raises_the_load_and_undoing_restores_it() -> None:
    """Each placement counts at once, for thresholds as for scores; undoing is exact."""
    there = world(
        HUNDRED,
        metric("n1", "50"),
        pod("a", {"cpu": "10"}),
        pod("b", {"cpu": "10"}),
        pod("p", {"cpu": "1"}),
        resourceWeights={"cpu": 1},
    )
    before = there.scores("p")

    with there.session.statement() as statement:
        there.place(statement, "a", "n1")
        once, refused = there.scores("p"), refusals(there)
        there.place(statement, "b", "n1")
        assert refusals(there) == {"n1": "node(s) cpu usage exceed threshold of 65%: cpu usage percent 68/65"}

    assert (before["n1"], once["n1"], refused) == (49, 40, {})
    assert there.scores("p") == before


def test_one_that_goes_by_the_name_of_a_measured_pod_counts_with_what_is_beyond() -> None:
    """As a StatefulSet makes it."""
    shown = [pod_metric("a", {"cpu": "4"})]
    objects = (HUNDRED, metric("n1", "50", pods=shown), pod("a", {"cpu": "10"}), pod("p", {"cpu": "0"}))
    there = world(*objects, resourceWeights={"cpu": 1}, estimatedScalingFactors={"cpu": 100})

    with there.session.statement() as statement:
        there.place(statement, "a", "n1")
        assert there.scores("p")["n1"] == (100_000 - 56_250) // 1000


def test_promised_room_counts() -> None:
    """A place that waits for released room, too; undoing is exact."""
    there = world(HUNDRED, metric("n1", "50"), placed("old"), pod("a", {"cpu": "10"}), pod("p"))
    before, a = there.scores("p"), there.task("a")
    job = there.session.jobs.of(a)
    assert job is not None

    with there.session.statement() as statement:
        assert statement.pipeline(job, [a], [0]) is None
        assert there.scores("p")["n1"] < before["n1"]
    assert there.scores("p") == before


def test_evicting_changes_nothing() -> None:
    """What a pod uses is measured, and goes when it is gone."""
    there = world(HUNDRED, metric("n1", "50"), placed(), pod("p"))
    before = there.scores("p")

    with there.session.statement() as statement:
        there.evict(statement, "young")
        assert there.scores("p") == before
    assert there.scores("p") == before


SMALL = node("n1", cpu="10", memory="10Gi")


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        (pod("p", {}), (97, 98)),
        (pod("p", {"cpu": "1", "memory": "1Gi"}), (91, 92)),
        (pod("p", {"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "4Gi"}), (83, 72)),
        (pod("p", {"kubernetes.io/batch-cpu": "4000", "kubernetes.io/batch-memory": "2Gi"}, priority=5500), (66, 85)),
        (pod("p", {"cpu": "4"}, priority=5500), (97, 98)),
        (pod("p", {"kubernetes.io/mid-cpu": "4000"}, priority=7500), (66, 100)),
        (pod("p", {"cpu": "4", "memory": "4Gi"}, priority=3500), (100, 100)),
    ],
)
def test_what_a_pod_is_taken_to_use(asks: Any, expected: tuple[int, int]) -> None:
    """A part of limit or request, something of nothing, and what its class asks for under other names.

    Bytes are rounded, and what is left is cut to whole percent: of 93 but for a fraction of a byte it is 92.
    """
    got = [world(SMALL, metric("n1"), asks, resourceWeights={name: 1}).scores("p")["n1"] for name in ("cpu", "memory")]

    assert tuple(got) == expected


def test_no_more_than_the_limit() -> None:
    """A pod may say that it is estimated beyond what it asks for; its limit holds."""
    factors = {"scheduling.koordinator.sh/load-estimated-scaling-factors": '{"cpu": 300}'}
    free, bound = (pod("p", {"cpu": "1"}, limits, annotations=factors) for limits in ({}, {"cpu": "2"}))

    def cpu(asks: Any, **arguments: Any) -> float:
        return world(SMALL, metric("n1"), asks, resourceWeights={"cpu": 1}, **arguments).scores("p")["n1"]

    assert cpu(free, allowCustomizeEstimation=True) == 70
    assert cpu(bound, allowCustomizeEstimation=True) == 80
    assert cpu(free) == 91


def test_the_scarcest_resource_counts_once_more() -> None:
    """With a weight of its own, beside which no others need stand; what a node does not have is scarcest of all."""
    objects = (SMALL, metric("n1", "4", "2Gi"), pod("p", {"cpu": "1", "memory": "1Gi"}))

    def scored(**arguments: Any) -> float:
        return world(*objects, **arguments).scores("p")["n1"]

    assert scored() == (51 + 72) // 2
    assert scored(dominantResourceWeight=2, resourceWeights={"cpu": 1, "memory": 1}) == (51 + 72 + 2 * 51) // 4
    assert scored(dominantResourceWeight=2) == 51
    assert scored(dominantResourceWeight=1, supportedResources=["example.com/slots"]) == 0
    assert scored(weight=3) == 3 * 61


def test_beyond_capacity_nothing_is_left() -> None:
    """Expired measurements of one resource; the other counts."""
    there = world(SMALL, metric("n1", "11", "0"), pod("p", {"cpu": "1", "memory": "1Gi"}))

    assert there.scores("p") == {"n1": (0 + 92) // 2}


def test_a_weight_of_nothing_scores_nothing() -> None:
    """The thresholds hold."""
    there = world(HUNDRED, metric("n1", "99"), pod("p"), weight=0)

    assert there.session.extensions.functions(contract.NODE_ORDER) == ()
    assert set(refusals(there)) == {"n1"}
