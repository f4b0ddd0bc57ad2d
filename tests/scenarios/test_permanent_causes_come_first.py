"""What no eviction and no end of a pod changes is said before what keeps a pod now; one fault is said once."""

from typing import Any

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "capacity", "nodeorder"))
SSD = {"nodeSelector": {"disk": "ssd"}}
NO_SSD = "node(s) didn't match Pod's node affinity/selector"


def decided(scenario: Scenario, *actions: str, **more: Any) -> Outcome:
    """Run actions after allocate."""
    return scenario.run("enqueue", "allocate", *actions, plugins=PLUGINS, **more)


def twenty(full: int) -> Scenario:
    """Return twenty nodes, some of them full."""
    scenario = Scenario()
    for number in range(20):
        scenario = scenario.node(f"n{number:02d}", cpu=4)
    return scenario.running("busy", on=[f"n{number:02d}" for number in range(full)], cpu=4)


def test_a_label_that_all_nodes_lack_is_the_cause_where_most_are_full() -> None:
    """All twenty lack it, and nineteen are full as well."""
    outcome = decided(twenty(full=19).job("p", pod=SSD))

    assert outcome.condition_message("p-0") == f"0/20 nodes are unavailable: 20 {NO_SSD}."
    assert not outcome.refusals_of_pod("p-0")[0].resolvable


def test_nodes_that_could_take_it_later_count_as_full() -> None:
    """One node has the label, and is full: there alone room is missing."""
    scenario = Scenario().node("n1", cpu=4, labels={"disk": "ssd"}).node("n2", cpu=4).node("n3", cpu=4)
    outcome = decided(scenario.running("busy", on=["n1", "n2"], cpu=4).job("p", pod=SSD))

    assert outcome.refusals_of_pod("p-0")[0].counts == {NO_SSD: 2, "Insufficient cpu": 1}
    assert outcome.refusals_of_pod("p-0")[0].resolvable


def test_the_largest_node_is_named_where_none_is_large_enough() -> None:
    """Also of several resources, and of one that no node has."""
    scenario = Scenario().node("n1", cpu=32, memory="64Gi").node("n2", cpu=8, memory="64Gi")
    there = scenario.running("busy", on=["n1"], cpu=30)

    assert (
        decided(there.job("p", cpu=33))
        .condition_message("p-0")
        .endswith("2 Insufficient cpu. It can never run: the largest node has 32 cpu.")
    )
    assert (
        decided(there.job("p", gpu=1))
        .condition_message("p-0")
        .endswith("2 Insufficient nvidia.com/gpu. It can never run: no node has nvidia.com/gpu.")
    )
    assert (
        decided(there.job("p", cpu=33, gpu=1))
        .condition_message("p-0")
        .endswith(". It can never run: the largest node has 32 cpu, no node has nvidia.com/gpu.")
    )


def test_a_member_that_fits_nowhere_is_the_cause_though_others_wait_for_room() -> None:
    """The first pod waits for room and the second for a node that does not exist; allocate stops at the first."""
    scenario = Scenario().node("n1", cpu=4).running("busy", on=["n1"], cpu=4)
    scenario = scenario.job("g", tasks=0, min_available=2).pod("g-0", job="g", cpu=2).pod("g-1", job="g", cpu=9)
    outcome = decided(scenario)

    cause = "g-1: 0/1 nodes are unavailable: 1 Insufficient cpu. It can never run: the largest node has 4 cpu."
    assert outcome.conditions("g")["Unschedulable"].message.endswith(f"Origin reason is {cause}")
    assert outcome.condition_message("g-0").startswith(cause)
    assert outcome.condition_message("g-1") == cause.removeprefix("g-1: ")


def test_a_gang_of_which_too_few_fit_the_empty_nodes_says_so() -> None:
    """Each member fits a node; three do not fit two nodes that hold one each."""
    scenario = Scenario().node("n1", cpu=4).node("n2", cpu=4).running("busy", on=["n1"], cpu=4)
    outcome = decided(scenario.job("g", tasks=3, cpu=3), "preempt")

    cause = "only 2 of the 3 pods that the job needs would fit if all nodes were empty: Insufficient cpu"
    assert outcome.conditions("g")["Unschedulable"].message.endswith(f"Origin reason is {cause}")
    assert outcome.condition_message("g-2").startswith(cause)
    assert [(each.reason, each.resolvable) for each in outcome.refusals("g")] == [("NotEnoughResources", False)]


def test_a_gang_above_the_capability_of_its_queue_or_one_above_says_so() -> None:
    """Its minimum would never be within the limit, whatever ends."""
    tree = Scenario().queue("top", capability={"cpu": 4}).queue("leaf", parent="top").node("n1", cpu=16)
    plugins = ("gang", "predicates", {"name": "capacity", "enableHierarchy": True})
    outcome = tree.job("g", tasks=3, cpu=2, queue="leaf").run("enqueue", "allocate", plugins=plugins)

    cause = "the job needs at least 6 cpu, and the limit of queue top is 4 cpu"
    assert outcome.conditions("g")["Unschedulable"].message.endswith(f"Origin reason is {cause}")


def test_members_beyond_the_minimum_are_no_permanent_cause() -> None:
    """Two of three fit, and two are enough: the third, which never fits, stops nothing."""
    scenario = Scenario().node("n1", cpu=4).running("busy", on=["n1"], cpu=4)
    outcome = decided(scenario.job("g", tasks=3, min_available=1, cpu=4))

    assert all(each.resolvable for each in outcome.refusals("g"))


@pytest.mark.parametrize("grows", ["node", "queue"])
def test_a_permanent_cause_ends_with_its_reason(grows: str) -> None:
    """A queue that may have more, or a further node, is seen in the next cycle though there is no room yet."""
    small = {"cpu": 4} if grows == "queue" else None
    scenario = Scenario().queue("q", capability=small).node("n1", cpu=4).running("busy", on=["n1"], cpu=4)
    scenario = scenario.job("g", tasks=2, cpu=3, queue="q")
    more = Scenario(objects=scenario.objects).node("n2", cpu=4).running("more", on=["n2"], cpu=4)
    first = decided(scenario)
    last = decided(scenario, later={1: more}, cycles=3)

    assert not first.refusals("g")[0].resolvable
    assert last.refusals("g")[0].resolvable is (grows == "node")


def test_what_keeps_a_job_is_not_repeated_by_actions_that_evict() -> None:
    """The queue is at its limit, which reclaim and gangreclaim find as well."""
    scenario = Scenario().queue("q", capability={"cpu": 2}).node("n1", cpu=4).running("v", on=["n1"] * 2, queue="q")
    outcome = decided(scenario.job("p", queue="q", cpu=1), "reclaim", "gangreclaim")

    message = outcome.conditions("p")["Unschedulable"].message
    assert message.count("queue q would exceed") == 1


def test_a_plan_that_is_given_up_promises_no_room() -> None:
    """Two of three members would have places if the victim went; the third has none, so nothing is released."""
    scenario = Scenario().queue("q").priority_class("low", 1).priority_class("high", 9).node("n1", cpu=4)
    scenario = scenario.pod("loose", node="n1", cpu=2).running("v", on=["n1"] * 2, queue="q", priority_class="low")
    outcome = decided(scenario.job("g", tasks=3, queue="q", priority=9, priority_class="high"), "preempt")

    assert outcome.evictions == []
    assert [
        outcome.condition_message(f"g-{number}")
        for number in range(3)
        if "once resources are released" in outcome.condition_message(f"g-{number}")
    ] == []
    assert "0/1 nodes are unavailable: 1 Insufficient cpu." in outcome.condition_message("g-0")


def test_a_queue_that_may_have_more_ends_a_permanent_cause() -> None:
    """The message changes although pods are refused in the same words: other jobs use what the queue may have."""

    def there(limit: int) -> Scenario:
        scenario = Scenario().queue("q", capability={"cpu": limit}).node("n1", cpu=32)
        scenario = scenario.running("busy", on=["n1"] * 2, cpu=2, queue="q")
        return scenario.job("g", tasks=3, cpu=2, queue="q", phase="Inqueue")

    parsed, registry = configured(("allocate",), (("gang", "predicates", "capacity"),), {})
    cluster = cluster_of(there(4).objects, shard_mode="none", shard="volcano", warnings=[])
    settled, memory, told = Settled(), Memory(), []
    for now, limit in enumerate((4, 4, 6)):
        cluster.add([each for each in there(limit).objects if each["kind"] == "Queue"])
        report, memory = run_cycle(
            cluster.snapshot(), parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        told.append(
            [
                each.message
                for status in report.group_statuses
                for each in status.conditions
                if each.type == "Unschedulable"
            ]
        )
        cluster.settle([], report, now=now + 0.5, recreate_evicted=False)

    assert [[text.rpartition("Origin reason is ")[2] for text in texts] for texts in told] == [
        ["the job needs at least 6 cpu, and the limit of queue q is 4 cpu"],
        [],
        [
            (
                "g-1: queue q would exceed its capability of cpu. q: 6 of 6 cpu used; requested 2; "
                "fits when default/busy ends"
            )
        ],
    ]


def test_a_large_node_that_a_permanent_cause_refuses_is_not_denied() -> None:
    """A cordon can be lifted: the message is about the other nodes, and does not call the pod impossible."""
    scenario = Scenario().node("n1", cpu=4).node("n2", cpu=64, gpu=8, unschedulable=True)

    assert (
        decided(scenario.job("p", cpu=8, gpu=1))
        .condition_message("p-0")
        .endswith(
            "1 Insufficient cpu, 1 node(s) were unschedulable."
            " The largest of the other nodes has 4 cpu, none of the other nodes has nvidia.com/gpu."
        )
    )
