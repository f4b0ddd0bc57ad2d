"""Shadow mode: what the answers of a shadow are compared with, and that nothing follows them."""

from typing import Any

import pytest

from pyroclast import Plugin, Session, contract
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension.contract import Change, Ledger
from pyroclast.framework.session.shadows.shadows import MOST_PLACEMENTS, Shadows
from pyroclast.model.refusals import Refusal
from pyroclast.model.snapshot import Snapshot
from pyroclast.scheduler.daemon.plugin_budgets import ClockBudgets
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured
from tests.shadowed import Refuser

NOW = 1.8e9
TIERS = ("gang", "priority", "predicates", "nodeorder", "proportion")
TWO_NODES = Scenario().node("n1", cpu=8).node("n2", cpu=4).job("a", tasks=2, cpu=2).job("b", cpu=1)


def snapshot_of(scenario: Scenario) -> Snapshot:
    """Return the cluster of a scenario."""
    (done,) = scenario.run("enqueue", plugins=TIERS).rounds
    return done.snapshot


def asked(shadow: Any, scenario: Scenario = TWO_NODES, *, actions: str = "enqueue allocate", **named: Any) -> Shadows:
    """Return the answers of a shadow in a cycle."""
    parsed, registry = configured(tuple(actions.split()), (*TIERS, {"name": shadow, "shadow": True}), {})
    shadows = Shadows()
    run_cycle(snapshot_of(scenario), parsed.configuration, registry=registry, now=NOW, shadows=shadows, **named)
    return shadows


def results(shadows: Shadows, point: str) -> dict[str, int]:
    """Return the number of answers at a point by result."""
    return {result: count for (_, where, result), count in shadows.answers.items() if where == point}


def test_a_shadow_that_refuses_everything_changes_no_decision() -> None:
    """The whole report is that of the configuration without it; without `shadow` nothing is placed."""
    snapshot = snapshot_of(TWO_NODES)

    def report(*more: Any) -> Any:
        parsed, registry = configured(("enqueue", "allocate"), (*TIERS, *more), {})
        return run_cycle(snapshot, parsed.configuration, registry=registry, now=NOW)

    decided = report()
    assert sum(len(plan.binds) for plan in decided[0].plans) == 3
    assert report({"name": Refuser, "shadow": True}) == decided
    assert report({"name": Refuser, "shadow": False})[0].plans == ()


def test_verdicts_that_differ_are_counted() -> None:
    """Each point at which the session was asked, and where the others permit what the shadow refuses."""
    shadows = asked(Refuser)

    assert results(shadows, "predicate") == {"differs": 3}
    for point in ("allocatable", "pre_predicate", "job_ready", "ledger"):
        assert set(results(shadows, point)) == {"differs"}, point
    assert set(results(shadows, "overused")) == {"agrees", "differs"}  # the queue has had enough at last
    assert shadows.failures == {}


def test_a_shadow_like_the_plugins_agrees() -> None:
    """A built-in plugin with the arguments that decide."""
    parsed, registry = configured(
        ("enqueue", "allocate"), (*TIERS, {"name": "predicates", "instance": "other", "shadow": True}), {}
    )
    shadows = Shadows()
    run_cycle(snapshot_of(TWO_NODES), parsed.configuration, registry=registry, now=NOW, shadows=shadows)

    assert results(shadows, "predicate") == {"agrees": 3}
    assert {result for _, _, result in shadows.answers} == {"agrees"}


class Preferring(Plugin):
    """Prefers one node."""

    name = "preferring"
    liked = "n1"

    def on_session_open(self, session: Session) -> None:
        """Register a score."""
        session.extensions.register(contract.NODE_ORDER, self.name, lambda _, node: float(node.name == self.liked))


class PreferringTheOther(Preferring):
    """Prefers the other node."""

    name = "preferring-the-other"
    liked = "n2"


def test_scores_are_compared_by_the_best_node() -> None:
    """Binpack's choice is the fuller node, which one of two shadows prefers."""
    one = Scenario().node("n1", cpu=8).node("n2", cpu=4).job("a", cpu=2)
    first, second = asked(Preferring, one), asked(PreferringTheOther, one)

    assert sorted([results(first, "node_order"), results(second, "node_order")], key=str) == [
        {"agrees": 1},
        {"differs": 1},
    ]


class Counting(Plugin):
    """Counts what its ledger sees."""

    name = "counting"
    seen: list[str] = []  # noqa: RUF012  # one for all instances

    def on_session_open(self, session: Session) -> None:
        """Register a ledger."""

        class Seeing(Ledger):
            def apply(self, change: Change) -> Refusal | None:
                Counting.seen.append(change.verb.name)
                return None

            def revert(self, change: Change) -> None:
                Counting.seen.remove(change.verb.name)

        session.extensions.register_ledger(self.name, Seeing())


def test_a_ledger_of_a_shadow_sees_the_placements() -> None:
    """Two changes, one for each job. Those of trials are undone and not counted."""
    Counting.seen.clear()
    shadows = asked(Counting)

    assert results(shadows, "ledger") == {"agrees": 2}
    assert Counting.seen == ["ALLOCATE", "ALLOCATE"]


class Failing(Plugin):
    """Raises whatever it is asked."""

    name = "failing"

    def on_session_open(self, session: Session) -> None:
        """Register a predicate that fails."""

        def fail(*_: Any) -> Any:
            raise RuntimeError("out of order")

        session.extensions.register(contract.PREDICATE, self.name, fail)
        session.extensions.register(contract.JOB_READY, self.name, fail)


class NotOpening(Plugin):
    """Cannot be opened."""

    name = "not-opening"

    def on_session_open(self, session: Session) -> None:  # noqa: ARG002  # the shape of a plugin
        """Fail."""
        raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("plugin", "points"), [(Failing, {"predicate", "job_ready"}), (NotOpening, {"on_session_open"})]
)
def test_failures_are_counted_and_close_nothing(plugin: Any, points: set[str]) -> None:
    """The report of the deciding cycle has no failure, and all pods are placed."""
    parsed, registry = configured(("enqueue", "allocate"), (*TIERS, {"name": plugin, "shadow": True}), {})
    report, _ = run_cycle(snapshot_of(TWO_NODES), parsed.configuration, registry=registry, now=NOW)
    shadows = asked(plugin)

    assert (sum(len(plan.binds) for plan in report.plans), dict(report.failures)) == (3, {})
    assert {(point, result) for _, point, result in shadows.answers} == {(point, "failed") for point in points}
    assert "out of order" in shadows.failures[plugin.name].message


def test_a_slow_shadow_is_left_out_for_the_rest_of_the_cycle() -> None:
    """It has a time budget as other external plugins have, and its further answers count as failed."""
    moments = iter(range(100_000))
    shadows = asked(Refuser, budgets=ClockBudgets(lambda name: 5.5 * (name == "refuser"), lambda: float(next(moments))))

    assert shadows.over_budget == ("refuser",)
    assert sum(count for (_, _, result), count in shadows.answers.items() if result == "failed") > 0


def test_orders_are_compared_for_subjects_in_succession() -> None:
    """The shadow puts the jobs the other way round."""
    assert results(asked(Refuser), "job_order").keys() == {"differs"}


@pytest.mark.parametrize(("action", "deciding"), [("preempt", "gang"), ("gangpreempt", "priority")])
def test_victims_are_compared_as_sets(action: str, deciding: str) -> None:
    """A shadow that protects all pods differs; one with the rule that decides agrees."""
    full = Scenario().node("n1", cpu=4).priority_class("high", 100).running("old", on=("n1", "n1"), cpu=2)
    scenario = full.job("new", cpu=2, priority=100, priority_class="high")
    point = "preemptable" if action == "preempt" else "unified_evictable"
    actions = f"enqueue allocate {action}"

    assert results(asked(Refuser, scenario, actions=actions), point).keys() == {"differs"}
    parsed, registry = configured(
        tuple(actions.split()), (*TIERS, {"name": deciding, "instance": "other", "shadow": True}), {}
    )
    alike = Shadows()
    run_cycle(snapshot_of(scenario), parsed.configuration, registry=registry, now=NOW, shadows=alike)
    assert results(alike, point).keys() == {"agrees"}


def test_the_number_of_compared_placements_is_bounded() -> None:
    """Further placements are not compared."""
    shadows = Shadows()

    assert sum(shadows.may_compare_place() for _ in range(MOST_PLACEMENTS + 5)) == MOST_PLACEMENTS
