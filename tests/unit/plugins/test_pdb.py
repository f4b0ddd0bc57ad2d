"""Disruption budgets: the worked examples of docs/plugins/pdb.md."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.model import wire
from pyroclast.plugins.pdb import budgets_by_namespace, within_budgets
from pyroclast.testing import Scenario
from tests.unit.plugins.policies import node, opened, pod

LABELS = {"app": "job-1"}


def budget(
    name: str,
    *,
    allowed: int,
    labels: Mapping[str, str] | None = None,
    namespace: str = "ns",
    disrupted: Mapping[str, str] | None = None,
) -> wire.PodDisruptionBudget:
    """Return a budget for the pods of the job."""
    return wire.PodDisruptionBudget(
        metadata=wire.ObjectMeta(name=name, namespace=namespace, uid=name),
        spec=wire.PodDisruptionBudgetSpec(
            selector=wire.LabelSelector(match_labels=LABELS if labels is None else labels)
        ),
        status=wire.PodDisruptionBudgetStatus(disruptions_allowed=allowed, disrupted_pods=dict(disrupted or {})),
    )


def left(*budgets: wire.PodDisruptionBudget, labels: Mapping[str, str] = LABELS) -> list[str]:
    """Return which of two pods may go."""
    there = opened(node("n"), pod("a", on="n", labels=labels), pod("b", on="n", labels=labels))
    return [task.name for task in within_budgets(there.tasks("a", "b"), budgets_by_namespace(budgets))]


@pytest.mark.parametrize(("allowed", "permitted"), [(0, []), (1, ["a"]), (2, ["a", "b"])])
def test_as_many_go_as_the_budget_allows(allowed: int, permitted: list[str]) -> None:
    """The first ones."""
    assert left(budget("a", allowed=allowed)) == permitted


def test_without_a_budget_all_may_go() -> None:
    """None, one of another namespace, one for other labels, and one that selects everything."""
    others = budget("x", allowed=0, namespace="other"), budget("y", allowed=0, labels={"app": "z"})

    assert left() == ["a", "b"]
    assert left(*others, budget("z", allowed=0, labels={})) == ["a", "b"]


def test_a_pod_without_labels_may_go() -> None:
    """No budget can cover it."""
    assert left(budget("a", allowed=0), labels={}) == ["a", "b"]


def test_a_pod_that_another_budget_spares_is_counted() -> None:
    """Under A, which allows one, and B, which spares the first pod alone: A is used up by it."""
    there = opened(
        node("n"), pod("a", on="n", labels={**LABELS, "part": "1"}), pod("b", on="n", labels=LABELS), plugins=["pdb"]
    )
    budgets = budgets_by_namespace([budget("A", allowed=1), budget("B", allowed=0, labels={"part": "1"})])

    assert within_budgets(there.tasks("a", "b"), budgets) == []


def test_a_pod_whose_eviction_is_under_way_is_not_counted_again() -> None:
    """It is in the status already."""
    assert left(budget("a", allowed=1, disrupted={"a": "2026-01-01T00:00:00Z"})) == ["a", "b"]


@pytest.mark.parametrize("point", [contract.PREEMPTABLE, contract.RECLAIMABLE], ids=lambda point: str(point.name))
def test_it_is_asked_about_victims(point: contract.Point[Any]) -> None:
    """The snapshot carries the budgets."""
    there = opened(
        node("n"),
        pod("a", on="n", labels=LABELS),
        pod("b", on="n", labels=LABELS),
        budget("x", allowed=1),
        plugins=["pdb"],
    )
    victims, vote = there.function(point).function(there.task("a"), there.tasks("a", "b"))

    assert ([task.name for task in victims], vote) == (["a"], contract.Vote.PERMIT)


def test_it_selects_no_task_to_shuffle() -> None:
    """It limits alone."""
    there = opened(node("n"), pod("a", on="n", labels=LABELS), plugins=["pdb"])

    assert there.session.evictions.moves(there.tasks("a")) == []


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_evictions_of_one_cycle_share_a_budget(action: str) -> None:
    """Two more important jobs want a place each, one pod may go: one job gets its place, the other waits."""
    plugins = (("priority", "gang", "conformance", "pdb", "predicates", "nodeorder"),)
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9).node("n1", cpu=4)
    scenario = scenario.running("v", on=["n1"] * 4, min_available=0, priority=1, priority_class="low", labels=LABELS)
    scenario = scenario.add(
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "v"},
            "spec": {"selector": {"matchLabels": LABELS}},
            "status": {"disruptionsAllowed": 1},
        }
    )
    scenario = scenario.job("p", priority=9, priority_class="high").job("q", priority=9, priority_class="high")
    outcome = scenario.run("enqueue", "allocate", action, "backfill", plugins=plugins)

    assert outcome.evictions == ["v-3"]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize(("allowed", "evicted"), [(3, []), (4, ["v-3", "v-2", "v-1", "v-0"])])
def test_a_gang_that_goes_whole_uses_up_a_budget_for_each_member(action: str, allowed: int, evicted: list[str]) -> None:
    """Four are evicted, or none: a budget that permits three protects all."""
    # to gangpreempt gang permits everybody, so there it must not stand behind those who spare
    first, second = ("gang",) * (action == "gangpreempt"), ("gang",) * (action == "preempt")
    plugins = (("priority", "conformance", "pdb", *first), (*second, "predicates", "nodeorder"))
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9).node("n1", cpu=4)
    scenario = scenario.running("v", on=["n1"] * 4, min_available=4, priority=1, priority_class="low", labels=LABELS)
    scenario = scenario.add(
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "v"},
            "spec": {"selector": {"matchLabels": LABELS}},
            "status": {"disruptionsAllowed": allowed},
        }
    )
    outcome = scenario.job("p", priority=9, priority_class="high").run(
        "enqueue", "allocate", action, "backfill", plugins=plugins
    )

    assert outcome.evictions == evicted
