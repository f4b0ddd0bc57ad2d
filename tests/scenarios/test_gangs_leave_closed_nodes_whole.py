"""Gangs on revocable nodes whose window has closed keep their minimum, or are evicted with all their pods."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC).timestamp()
WINDOW = {"tdm.revocable-zone.rz1": "22:00-6:00"}
MAY_USE = {"volcano.sh/preemptable": "true"}
CLUSTER = Scenario().node("stays", cpu=8).node("night", cpu=8, labels={"volcano.sh/revocable-zone": "rz1"})
PLUGINS = (("priority", "gang", "pdb", "tdm"), ("predicates", "proportion"))


def decide(
    scenario: Scenario, *actions: str, cycles: int = 1, most: int = 0, arguments: Mapping[str, Any] | None = None
) -> Outcome:
    """Run cycles after the window has closed."""
    return scenario.run(
        *(actions or ("shuffle",)),
        plugins=PLUGINS,
        now=NOON,
        cycles=cycles,
        arguments={"tdm": {**WINDOW, **(arguments or {})}, "shuffle": {"maxEvictions": most}},
    )


def gang(*nodes: str, minimum: int = 3, annotations: Mapping[str, str] | None = None, **more: Any) -> Scenario:
    """Return a cluster with a gang on some nodes."""
    return CLUSTER.running(
        "a",
        on=nodes,
        min_available=minimum,
        annotations={**MAY_USE, **(annotations or {})},
        labels={"app": "a"},
        **more,
    )


def budget(allowed: int) -> dict[str, Any]:
    """Return a disruption budget of the gang."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_a_gang_that_cannot_spare_a_task_is_evicted_whole() -> None:
    """Also the pods on the node that stays: without the third one they hold capacity and do no work."""
    outcome = decide(gang("stays", "stays", "night"))

    assert outcome.evictions == ["a-2", "a-1", "a-0"]
    assert [each.message for plan in outcome.report.plans for each in plan.evictions] == [
        "evicted by shuffle: tdm, the window of zone rz1 is closed",
        "evicted by shuffle with a-2, which its gang cannot spare: tdm, the window of zone rz1 is closed",
        "evicted by shuffle with a-2, which its gang cannot spare: tdm, the window of zone rz1 is closed",
    ]
    assert [plan.together for plan in outcome.report.plans] == [True]


def test_a_gang_with_spare_tasks_loses_these_alone() -> None:
    """One in each period, down to the minimum. Then the rest is evicted together."""
    scenario = gang("stays", "stays", "night", "night", minimum=3)

    assert decide(scenario).evictions == ["a-3"]
    assert len(decide(scenario, cycles=2, arguments={"tdm.evict.period": "1s"}).evictions) == 4


@pytest.mark.parametrize(
    ("annotation", "evicted"),
    [
        ({"volcano.sh/jdb-max-unavailable": "1"}, ["a-2"]),
        ({"volcano.sh/jdb-min-available": "2"}, ["a-2"]),
        ({"volcano.sh/jdb-max-unavailable": "100%"}, ["a-2", "a-1", "a-0"]),
        ({"volcano.sh/jdb-max-unavailable": "many"}, ["a-2", "a-1", "a-0"]),
    ],
)
def test_a_budget_below_the_size_of_the_gang_permits_to_break_it(
    annotation: Mapping[str, str], evicted: list[str]
) -> None:
    """Its owner states how many pods may be missing. An unreadable budget states nothing."""
    assert decide(gang("stays", "stays", "night", annotations=annotation)).evictions == evicted


def test_the_rule_of_volcano_can_be_restored() -> None:
    """The task is evicted alone."""
    assert decide(gang("stays", "stays", "night"), arguments={"tdm.evict.wholeGangs": False}).evictions == ["a-2"]


@pytest.mark.parametrize(("allowed", "evicted"), [(2, []), (3, ["a-2", "a-1", "a-0"])])
def test_a_disruption_budget_permits_all_of_a_gang_or_none(allowed: int, evicted: list[str]) -> None:
    """Two of three would leave it incomplete."""
    assert decide(gang("stays", "stays", "night").add(budget(allowed))).evictions == evicted


def test_a_protected_task_protects_its_gang() -> None:
    """One pod on the node that stays may not be evicted."""
    scenario = CLUSTER.job("a", tasks=0, min_available=2, annotations=MAY_USE)
    scenario = scenario.pod("a-0", job="a", node="stays", annotations={"volcano.sh/preemptable": "false"})
    scenario = scenario.pod("a-1", job="a", node="night", annotations=MAY_USE)

    assert decide(scenario).evictions == []


def test_a_task_on_a_node_that_does_not_exist_protects_its_gang() -> None:
    """It cannot be evicted with the others."""
    assert decide(gang("gone", "stays", "night")).evictions == []


@pytest.mark.parametrize(("most", "evicted"), [(2, 0), (3, 3), (4, 3)])
def test_a_gang_that_exceeds_the_limit_of_a_cycle_stays(most: int, evicted: int) -> None:
    """The limit is never exceeded, and a part of the gang is never evicted."""
    assert len(decide(gang("stays", "stays", "night"), most=most).evictions) == evicted


def test_disruption_budgets_count_gangs_that_are_evicted_before() -> None:
    """The other job is proposed first. A budget of three leaves too little for the gang, one of four permits both."""
    scenario = gang("stays", "stays", "night").running(
        "b", on=["night"], annotations=MAY_USE, labels={"app": "a"}, min_available=1
    )

    assert decide(scenario.add(budget(3))).evictions == ["b-0"]
    assert decide(scenario.add(budget(4))).evictions == ["a-2", "a-1", "a-0", "b-0"]


def test_a_gang_that_lost_its_spare_task_to_preemption_is_not_broken() -> None:
    """Preempt takes the fourth pod, so that shuffle of the same cycle evicts the other three together."""
    scenario = gang("stays", "stays", "stays", "night", minimum=3, priority_class="low").priority_class("low", 1)
    scenario = scenario.priority_class("high", 9).job(
        "b", cpu=6, phase="Inqueue", priority_class="high", annotations={"volcano.sh/preemptable": "false"}
    )
    outcome = decide(scenario, "preempt", "shuffle")

    assert [(plan.action, len(plan.evictions)) for plan in outcome.report.plans] == [("preempt", 1), ("shuffle", 3)]
