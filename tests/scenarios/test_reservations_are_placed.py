"""Reservations of Koordinator are placed as pods are, and keep their capacity (R13 to R17)."""

import json
from typing import Any

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.model.plan import Plan
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.elastic_quotas import elastic_quota
from tests.reservations import PLUGINS, outcome_of, reservation

TWO = Scenario().queue("default").node("n1", cpu=4).node("n2", cpu=8)


def test_a_reservation_gets_a_node() -> None:
    """All plugins look for it as for a pod, and the plan names the Reservation."""
    outcome = outcome_of(TWO.add(reservation("r", cpu=6)))

    (plan,) = outcome.report.plans
    (bind,) = plan.binds
    assert (bind.reservation, bind.node, bind.task) == ("r", "n2", "uid-r")


def test_other_pods_get_what_is_left() -> None:
    """A pod without an owner's labels cannot use the reserved capacity."""
    scenario = Scenario().queue("default").node("n1", cpu=4).add(reservation("r", cpu=3, node="n1"))
    outcome = outcome_of(scenario.job("a", tasks=2, min_available=1, cpu=1))

    assert len(outcome.bindings) == 1


def test_the_node_of_the_template_is_the_only_one() -> None:
    """The node that the template names is required."""
    outcome = outcome_of(TWO.add(reservation("r", cpu=1, template={"nodeName": "n1"})))
    refused = outcome_of(TWO.add(reservation("r", cpu=6, template={"nodeName": "n1"})))

    assert [bind.node for plan in outcome.report.plans for bind in plan.binds] == ["n1"]
    assert refused.report.plans == ()
    (refusals,) = refused.report.task_refusals.values()
    assert "1 node(s) didn't match the nodeName specified by reservation" in refusals[0].message


def test_reservations_of_other_schedulers_are_not_placed() -> None:
    """A template without a scheduler's name is for the default scheduler. Its capacity counts once it is Available."""
    other = reservation("r", cpu=1, template={"schedulerName": ""})
    full = reservation("r", cpu=8, node="n2", template={"schedulerName": ""})

    assert outcome_of(TWO.add(other)).report.plans == ()
    outcome = outcome_of(TWO.add(full).job("a", cpu=1))
    assert outcome.bindings == {"a-0": "n1"}


def test_objects_that_are_not_valid_are_ignored() -> None:
    """Without owners or a template nothing is reserved (V1)."""
    assert outcome_of(TWO.add(reservation("r", owners=()))).report.plans == ()


def test_reservations_with_and_without_a_policy_do_not_share_a_node() -> None:
    """The reason is Koordinator's (R12)."""
    scenario = Scenario().queue("default").node("n1", cpu=8).add(reservation("x", cpu=1, node="n1"))
    outcome = outcome_of(scenario.add(reservation("r", cpu=1, allocatePolicy="Aligned")))

    assert outcome.report.plans == ()
    (refusals,) = outcome.report.task_refusals.values()
    assert "1 node(s) reservation allocate policy conflict" in refusals[0].message


def test_reservations_placed_in_one_session_conflict_too() -> None:
    """The second one finds no node."""
    scenario = Scenario().queue("default").node("n1", cpu=8)
    scenario = scenario.add(reservation("r", cpu=1), reservation("s", cpu=1, allocatePolicy="Restricted"))
    outcome = outcome_of(scenario)

    assert len([bind for plan in outcome.report.plans for bind in plan.binds]) == 1


def test_a_reservation_that_was_bound_a_moment_ago_conflicts_too() -> None:
    """Its status does not show the node yet (R12)."""
    there = Scenario().queue("default").node("n1", cpu=8).add(reservation("r", cpu=1, allocatePolicy="Restricted"))
    cluster = cluster_of(there.objects, shard_mode="", shard="", warnings=[])
    parsed, registry = configured(("enqueue", "allocate"), PLUGINS, {})

    def plans() -> tuple[Plan, ...]:
        return run_cycle(cluster.snapshot(), parsed.configuration, registry=registry, now=1_800_000_000.0)[0].plans

    (plan,) = plans()
    assert cluster.assume(plan, 0.0) == []
    cluster.add([reservation("s", cpu=1)])
    assert plans() == ()
    cluster.add([reservation("t", cpu=1, allocatePolicy="Aligned")])
    assert [bind.reservation for plan in plans() for bind in plan.binds] == ["t"]


def test_a_reservation_without_a_node_has_the_reason() -> None:
    """The reason is that of a pod."""
    outcome = outcome_of(TWO.add(reservation("r", cpu=9)))

    (refusals,) = outcome.report.task_refusals.values()
    assert "2 Insufficient cpu" in refusals[0].message


def test_the_next_cycle_finds_it_available() -> None:
    """Its owner uses it then, and the binding names it."""
    scenario = Scenario().queue("default").node("n1", cpu=4).add(reservation("r", cpu=4))
    outcome = outcome_of(scenario.job("a", cpu=4, labels={"app": "a"}), cycles=3)

    assert outcome.bindings["a-0"] == "n1"
    bind = next(b for r in outcome.rounds for p in r.plans for b in p.binds if b.name == "a-0")
    named = json.loads(bind.annotations["scheduling.koordinator.sh/reservation-allocated"])
    assert named == {"name": "r", "uid": "uid-r"}


def test_no_queue_pays_for_a_reservation() -> None:
    """Its queue checks it while it waits (D6); once it is Available its queue has all its room."""
    queue = Scenario().queue("default").queue("q", capability={"cpu": 2}).node("n1", cpu=8)
    of_queue = {"annotations": {"scheduling.volcano.sh/queue-name": "q"}}
    plugins = ("gang", "predicates", "capacity", "reservation")
    large = outcome_of(queue.add(reservation("r", cpu=3, template_metadata=of_queue)), plugins=plugins)
    held = queue.add(reservation("r", cpu=2, node="n1", template_metadata=of_queue)).job("b", queue="q", cpu=2)

    assert large.report.plans == ()
    assert outcome_of(held, plugins=plugins).bindings == {"b-0": "n1"}


def test_no_pod_is_evicted_for_a_reservation() -> None:
    """Its priority is the highest, and it waits (R45)."""
    scenario = Scenario().queue("default").node("n1", cpu=4).job("low", cpu=4, min_available=0, running_on=["n1"])
    outcome = scenario.add(reservation("r", cpu=4)).run(
        "enqueue", "allocate", "preempt", "reclaim", plugins=("priority", "gang", "predicates", "reservation")
    )

    assert outcome.evictions == []
    assert "enablePreemption of the plugin reservation is false" in outcome.why("podgroup-uid-r")


def test_a_reservation_is_never_evicted() -> None:
    """Neither by preemption nor by reclaiming, whatever the rank of the pods that wait (R45)."""
    scenario = Scenario().queue("default").priority_class("high", 9).node("n1", cpu=4)
    scenario = scenario.add(reservation("r", cpu=4, node="n1")).job("top", cpu=4, priority_class="high")
    outcome = scenario.run(
        "enqueue", "allocate", "preempt", "reclaim", plugins=("priority", "gang", "predicates", "reservation")
    )

    assert outcome.evictions == []
    assert outcome.bindings == {}


def test_pods_are_evicted_for_a_reservation_if_configured() -> None:
    """A pod of a lower priority leaves, and the Reservation gets its place (R16, R45)."""
    scenario = Scenario().queue("default").node("n1", cpu=2).priority_class("low", 1)
    scenario = scenario.job("low", running_on=["n1"], cpu=2, min_available=0, priority_class="low")
    scenario = scenario.add(reservation("r", cpu=2, template={"priority": 10}))
    outcome = scenario.run(
        "enqueue",
        "allocate",
        "preempt",
        plugins=("priority", "gang", "predicates", "reservation"),
        arguments={"reservation": {"enablePreemption": True}},
        cycles=3,
    )

    assert outcome.evictions == ["low-0"]
    assert outcome.bindings == {"uid-r": "n1"}


def test_only_pods_of_a_lower_priority_are_evicted_for_a_reservation() -> None:
    """The pod has the priority of the Reservation."""
    scenario = Scenario().queue("default").node("n1", cpu=2).priority_class("low", 10)
    scenario = scenario.job("low", running_on=["n1"], cpu=2, min_available=0, priority_class="low")
    scenario = scenario.add(reservation("r", cpu=2, template={"priority": 10}))
    outcome = scenario.run(
        "enqueue",
        "allocate",
        "preempt",
        plugins=("priority", "gang", "predicates", "reservation"),
        arguments={"reservation": {"enablePreemption": True}},
        cycles=2,
    )

    assert outcome.evictions == []


def test_a_reservation_that_must_take_over_pods_but_may_not_is_refused() -> None:
    """It has the label, and `preAllocation` is false (R34)."""
    required = {"scheduling.koordinator.sh/pre-allocation-required": "true"}
    outcome = outcome_of(TWO.add(reservation("r", cpu=1, labels=required)))

    assert outcome.report.plans == ()
    (refusals,) = outcome.report.task_refusals.values()
    assert "no pod match reservation with pre allocation required" in refusals[0].message


def test_no_elastic_quota_pays_for_a_reservation() -> None:
    """Its quota checks it while it waits; an owner is checked and charged on its own (R14, D6)."""
    quota = elastic_quota("a", most={"cpu": 2})
    labels = {"quota.scheduling.koordinator.sh/name": "a"}
    base = Scenario().queue("default").node("n1", cpu=8).add(quota)
    plugins = ("gang", "predicates", "elastic-quota", "reservation")
    large = base.add(reservation("r", cpu=3, template_metadata={"labels": labels}))
    held = base.add(reservation("r", cpu=2, node="n1", template_metadata={"labels": labels}))

    assert outcome_of(large, plugins=plugins).report.plans == ()
    assert outcome_of(held.job("b", cpu=2, labels=labels), plugins=plugins).bindings == {"b-0": "n1"}
    assert outcome_of(held.job("b", cpu=3, labels=labels), plugins=plugins).bindings == {}


@pytest.mark.parametrize("life", [{"ttl": "1s"}, {"ttl": "24h", "expires": "2026-01-01T00:00:01Z"}])
def test_a_reservation_that_has_expired_gets_no_node(life: dict[str, Any]) -> None:
    """Also before a controller has written its phase, and no pod is evicted for it (R38)."""
    outcome = outcome_of(Scenario().queue("default").node("n1", cpu=4).add(reservation("r", **life)))

    assert outcome.bindings == {}
    assert "the reservation has expired" in outcome.why_pod("reservations/r")


def test_a_reservation_that_is_being_deleted_gets_no_node() -> None:
    """A finalizer keeps the object. One that has a node keeps its capacity until it is gone (R6)."""
    there = Scenario().queue("default").node("n1", cpu=4)
    for node, expected in (("", {"b-0": "n1"}), ("n1", {})):
        leaving = reservation("r", cpu=4, node=node)
        leaving["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:01Z", "finalizers": ["example.com/keep"]}
        assert outcome_of(there.add(leaving).job("b", cpu=4), cycles=2).bindings == expected
