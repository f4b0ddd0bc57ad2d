"""Preempt: plans that place a gang's minimum at the least cost, or nothing."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario

PLUGINS = (("conformance", "gang", "priority", "proportion", "predicates"),)
SPARED = {"volcano.sh/preemptable": "false"}

ONE_QUEUE = Scenario().queue("q1").priority_class("low", 10).priority_class("high", 100)


def preempt(scenario: Scenario, **arguments: Any) -> Outcome:
    """Run the action alone."""
    return scenario.run("preempt", plugins=PLUGINS, arguments={"preempt": arguments})


def low(scenario: Scenario, name: str, *, on: str = "n1", **more: Any) -> Scenario:
    """Add a pod of low priority that runs, in a group without a minimum."""
    return scenario.running(name, on=[on], queue="q1", priority_class="low", min_available=0, **more)


def high(scenario: Scenario, name: str = "high", **more: Any) -> Scenario:
    """Add a job of high priority that waits, past the gate."""
    return scenario.job(name, queue="q1", priority_class="high", phase="Inqueue", **more)


def test_nothing_goes_while_there_is_room() -> None:
    """Three free CPU take a gang of three; no pod is evicted."""
    outcome = preempt(high(low(ONE_QUEUE.node("n1", cpu=4), "v"), tasks=3))

    assert outcome.evictions == []
    assert len(outcome.pipelined) == 3


def test_a_job_with_its_minimum_evicts_no_pod() -> None:
    """One of two pods runs and is enough: the other one waits."""
    scenario = low(ONE_QUEUE.node("n1", cpu=2), "v")
    scenario = scenario.job(
        "high", tasks=2, min_available=1, queue="q1", priority_class="high", running_on=["n1"], phase="Running"
    )

    assert preempt(scenario).evictions == []


INSIDE = (({"name": "gang", "enableJobStarving": False}, "priority", "predicates"),)
"""A job with its minimum may want more."""


def mixed(waits: str) -> Scenario:
    """One server and two workers run, the server is the least important, and a pod of some role waits."""
    scenario = ONE_QUEUE.node("n1", cpu=3).job(
        "mixed", tasks=0, min_available=2, min_by_role={"server": 1, "worker": 1}, queue="q1", phase="Running"
    )
    for name, role, priority in (("old", "server", 0), ("w1", "worker", 5), ("w2", "worker", 5)):
        scenario = scenario.pod(name, job="mixed", role=role, node="n1", priority=priority)
    return scenario.pod("new", job="mixed", role=waits, priority=5)


def test_inside_a_job_a_role_may_change_hands() -> None:
    """The only server makes room for a more important one: the role has its minimum before and after."""
    outcome = mixed("server").run("preempt", plugins=INSIDE)

    assert outcome.evictions == ["old"]
    assert outcome.pipelined == {"new": "n1"}


def test_inside_a_job_another_role_loses_no_pod() -> None:
    """A worker does not take the place of the only server."""
    assert mixed("worker").run("preempt", plugins=INSIDE).evictions == []


def test_inside_a_job_no_pod_is_evicted_if_a_node_has_space() -> None:
    """Allocate runs later and binds the pod: no siblings are evicted."""
    scenario = ONE_QUEUE.node("n1", cpu=4).job("j", tasks=0, min_available=1, queue="q1", phase="Running")
    scenario = (
        scenario.pod("old-1", job="j", node="n1").pod("old-2", job="j", node="n1").pod("new", job="j", priority=5)
    )
    outcome = scenario.run(
        "preempt", "allocate", plugins=INSIDE, arguments={"preempt": {"enableTopologyAwarePreemption": True}}
    )

    assert (outcome.evictions, outcome.bindings) == ([], {"new": "n1"})


def test_a_pod_marked_not_preemptable_stays() -> None:
    """The permitted one of two equal pods is evicted."""
    scenario = low(low(ONE_QUEUE.node("n1", cpu=2), "a", annotations=SPARED), "b")

    assert preempt(high(scenario)).evictions == ["b-0"]


def test_as_many_go_as_are_needed() -> None:
    """Five CPU on a node of six need two of three pods; one of them may not go."""
    scenario = ONE_QUEUE.node("n1", cpu=6)
    scenario = low(low(low(scenario, "a", annotations=SPARED), "b"), "c")

    assert sorted(preempt(high(scenario, cpu=5)).evictions) == ["b-0", "c-0"]


@pytest.mark.parametrize(("capability", "evictions"), [(4, ["v-0"]), (6, [])])
def test_a_limit_of_the_queue_needs_room_too(capability: int, evictions: list[str]) -> None:
    """3 CPU run and 3 are requested, on 12: a capability of 4 makes the first go, one of 6 does not."""
    base = Scenario().queue("q1", capability={"cpu": capability}).priority_class("low", 10).priority_class("high", 100)
    scenario = low(base.node("n1", cpu=12), "v", cpu=3)

    assert preempt(high(scenario, cpu=3)).evictions == evictions


def test_a_job_that_can_never_fit_evicts_no_pod() -> None:
    """Its queue may have 3 CPU and it requests 4: the running pods stay, and it has the reason."""
    base = Scenario().queue("q1", capability={"cpu": 3}).priority_class("low", 10).priority_class("high", 100)
    outcome = preempt(high(low(low(base.node("n1", cpu=12), "a"), "b"), cpu=4))

    assert outcome.evictions == []
    assert (
        "preempt: no evictions free enough capacity: 1 node(s) on which evictions leave the queue at its limit"
        in outcome.why("high")
    )


def test_the_node_is_chosen_where_the_limit_is_kept() -> None:
    """The small pod of n1 leaves the queue over its limit; only the big one of n2 goes."""
    base = Scenario().queue("q1", capability={"cpu": 4}).priority_class("low", 10).priority_class("high", 100)
    scenario = low(low(base.node("n1", cpu=4).node("n2", cpu=4), "a", cpu=1), "b", on="n2", cpu=3)

    assert preempt(high(scenario, cpu=3)).evictions == ["b-0"]


def test_a_place_for_a_pod_is_room() -> None:
    """The node takes one pod: the one that asks for nothing goes."""
    scenario = low(ONE_QUEUE.node("n1", cpu=4, pods=1), "v", cpu=None)

    assert preempt(high(scenario)).evictions == ["v-0"]


def test_best_effort_evicts_best_effort() -> None:
    """One that asks for nothing takes the place of another one, and of nothing else."""
    full = ONE_QUEUE.node("n1", cpu=4, pods=1)

    assert preempt(high(low(full, "v", cpu=None), cpu=None)).evictions == ["v-0"]
    assert preempt(high(low(full, "v", cpu=1), cpu=None)).evictions == []


def test_preemption_policy_never_evicts_no_pod() -> None:
    """The pod waits."""
    scenario = high(low(ONE_QUEUE.node("n1", cpu=1), "v"), pod={"preemptionPolicy": "Never"})

    assert preempt(scenario).evictions == []


def test_a_gated_pod_evicts_no_pod() -> None:
    """A pod behind a scheduling gate waits for the gate."""
    scenario = high(low(ONE_QUEUE.node("n1", cpu=1), "v"), pod={"schedulingGates": [{"name": "quota"}]})

    assert preempt(scenario).evictions == []


def test_a_gang_that_fits_by_half_evicts_no_pod() -> None:
    """Two pods are needed, one pod may go: nothing is evicted, nothing is held."""
    scenario = low(low(ONE_QUEUE.node("n1", cpu=2), "a"), "b", annotations=SPARED)
    outcome = preempt(high(scenario, tasks=2))

    assert (outcome.evictions, outcome.pipelined) == ([], {})


def test_free_and_freed_room_are_taken_together() -> None:
    """One CPU is free, and one pod goes for the other member."""
    scenario = low(low(ONE_QUEUE.node("n1", cpu=3), "a"), "b")
    outcome = preempt(high(scenario, tasks=2))

    assert outcome.evictions == ["b-0"]
    assert outcome.pipelined == {"high-0": "n1", "high-1": "n1"}


def test_all_places_of_a_plan_are_promised() -> None:
    """The plan nominates the node for the member on free room too, so that the gang waits as one."""
    scenario = low(low(ONE_QUEUE.node("n1", cpu=3), "a"), "b")
    plans = preempt(high(scenario, tasks=2)).rounds[0].plans

    assert [sorted(each.name for each in plan.nominations) for plan in plans] == [["high-0", "high-1"]]


def test_a_victims_gang_keeps_its_minimum() -> None:
    """One of a gang of three with a minimum of two is evicted, the last one."""
    scenario = ONE_QUEUE.node("n1", cpu=3).running(
        "v", on=["n1"] * 3, min_available=2, queue="q1", priority_class="low"
    )

    assert preempt(high(scenario)).evictions == ["v-2"]
    assert preempt(high(scenario, tasks=2)).evictions == []


def test_a_gang_goes_whole_where_a_later_tier_permits_it() -> None:
    """The gang plugin spares all of the first tier; priority in the second lets them go, together."""
    scenario = high(
        ONE_QUEUE.node("n1", cpu=2).running("v", on=["n1"] * 2, min_available=2, queue="q1", priority_class="low")
    )
    outcome = scenario.run("preempt", plugins=(("gang",), ("priority", "predicates")))

    assert outcome.evictions == ["v-1", "v-0"]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_a_gang_of_which_a_part_is_elsewhere_stays(action: str) -> None:
    """A node has gone, or belongs to another scheduler now: the gang could not go whole. Others serve."""
    scenario = ONE_QUEUE.node("n1", cpu=1).node("n2", cpu=1)
    scenario = scenario.running("v", on=["n1", "elsewhere"], min_available=2, queue="q1", priority_class="low")
    plugins = (("gang",), ("priority", "predicates"))

    assert (
        high(scenario.running("w", on=["n2"], queue="q1", priority_class="high")).run(action, plugins=plugins).evictions
        == []
    )
    assert high(low(scenario, "w", on="n2")).run(action, plugins=plugins).evictions == ["w-0"]


def test_inside_a_job_of_which_a_part_is_elsewhere() -> None:
    """The pod on a node that is there makes way; the other one is no candidate."""
    scenario = ONE_QUEUE.node("n1", cpu=1).job("mixed", tasks=0, min_available=1, queue="q1", phase="Running")
    for name, node in (("near", "n1"), ("far", "elsewhere")):
        scenario = scenario.pod(name, job="mixed", node=node, priority=0)

    assert scenario.pod("new", job="mixed", priority=5).run("preempt", plugins=INSIDE).evictions == ["near"]


def test_a_gang_goes_whole_only_where_no_other_plan_exists() -> None:
    """The gang on n1 would have to go whole; the single pod on n2 goes instead."""
    scenario = ONE_QUEUE.node("n1", cpu=2).node("n2", cpu=1)
    scenario = scenario.running("v", on=["n1"] * 2, min_available=2, queue="q1", priority_class="low")
    scenario = high(low(scenario, "w", on="n2"))
    outcome = scenario.run("preempt", plugins=(("gang",), ("priority", "predicates")))

    assert outcome.evictions == ["w-0"]


def test_a_victim_that_is_not_needed_is_given_back() -> None:
    """A small pod of the least important job goes first, then a big one that alone makes the room: the small stays."""
    scenario = ONE_QUEUE.node("n1", cpu=5).priority_class("lowest", 1)
    scenario = low(
        scenario.running("small", on=["n1"], min_available=0, queue="q1", priority_class="lowest"), "big", cpu=4
    )

    assert preempt(high(scenario, cpu=4)).evictions == ["big-0"]


def test_a_minimum_of_roles_is_kept() -> None:
    """The gang can spare a worker, but not its only master, which would go first."""
    scenario = ONE_QUEUE.node("n1", cpu=3)
    scenario = scenario.job(
        "v",
        tasks=0,
        min_available=2,
        min_by_role={"master": 1, "worker": 1},
        queue="q1",
        priority_class="low",
        phase="Running",
    )
    for number, role in enumerate(("worker", "worker", "master")):
        scenario = scenario.pod(f"v-{number}", job="v", node="n1", role=role)

    outcome = high(scenario).run("preempt", plugins=(("priority", "predicates"),))

    assert outcome.evictions == ["v-1"]


def test_jobs_with_a_topology_are_left_alone() -> None:
    """They are for the gang actions."""
    topology = {"networkTopology": {"mode": "soft", "highestTierAllowed": 1}}

    assert preempt(high(low(ONE_QUEUE.node("n1", cpu=1), "v"), group=topology)).evictions == []


def test_queues_do_not_touch_each_other() -> None:
    """A pod of another queue stays, whatever its priority."""
    scenario = ONE_QUEUE.queue("q2").node("n1", cpu=1).running("v", on=["n1"], queue="q2", priority_class="low")

    assert preempt(high(scenario)).evictions == []


def test_critical_pods_stay_and_the_veto_is_shown() -> None:
    """Pods of the cluster itself are spared by conformance."""
    scenario = low(ONE_QUEUE.node("n1", cpu=1), "v", pod={"priorityClassName": "system-node-critical"})
    outcome = preempt(high(scenario))

    assert outcome.evictions == []
    assert outcome.vetoes("v-0") == ["conformance: protected by conformance"]


def test_inside_a_job_the_more_important_pod_takes_the_place() -> None:
    """One member above another one's priority takes its place, when the job starves."""
    scenario = ONE_QUEUE.node("n1", cpu=1).job(
        "j", tasks=0, min_available=2, queue="q1", priority_class="low", phase="Inqueue"
    )
    scenario = scenario.pod("j-0", job="j", node="n1", priority=1).pod("j-1", job="j", priority=5)
    outcome = scenario.run("preempt", plugins=(("priority", "predicates"),))

    assert outcome.evictions == ["j-0"]


def test_a_conflicting_pod_goes_although_there_is_room() -> None:
    """The waiting pod must not stand beside pods of its app: the one that runs goes, in both modes."""
    apart = {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
                ]
            }
        }
    }
    base = ONE_QUEUE.node("n1", cpu=8, labels={"kubernetes.io/hostname": "n1"})
    scenario = high(low(low(base, "a", labels={"app": "x"}), "b"), labels={"app": "x"}, pod=apart)

    assert preempt(scenario).evictions == ["a-0"]
    assert preempt(scenario, enableTopologyAwarePreemption=True).evictions == ["a-0"]


def test_topology_aware_mode_takes_the_node_of_least_harm() -> None:
    """On n1 a pod of priority 5 would go, on n2 one of priority 1: the latter goes."""
    scenario = low(low(ONE_QUEUE.node("n1", cpu=1).node("n2", cpu=1), "a", priority=5), "b", on="n2", priority=1)

    assert preempt(high(scenario), enableTopologyAwarePreemption=True).evictions == ["b-0"]


def test_a_hard_shard_keeps_victims_inside() -> None:
    """The node outside of this scheduler's shard is not touched."""
    scenario = low(low(ONE_QUEUE.node("n1", cpu=1).node("n2", cpu=1), "a"), "b", on="n2")

    assert preempt(high(scenario).sharded("hard", "n2")).evictions == ["b-0"]


def test_evictions_name_their_reason() -> None:
    """A plan names the action that evicts, and the preemptor."""
    (plan,) = preempt(high(low(ONE_QUEUE.node("n1", cpu=1), "v"))).rounds[0].plans

    assert (plan.action, plan.job) == ("preempt", "default/high")
    assert [(each.reason, each.message) for each in plan.evictions] == [
        ("preempt", "evicted by preempt to make room for default/high of queue q1")
    ]


def test_a_gang_that_needs_a_best_effort_member_evicts_no_pod_unless_that_fits_too() -> None:
    """Two places for pods: a victim makes one, but then none is left for the member that asks for nothing."""
    scenario = ONE_QUEUE.node("n1", cpu=4, pods=2)
    scenario = scenario.running("v", on=["n1"] * 2, queue="q1", priority_class="low", priority=10)
    scenario = high(scenario, "p", tasks=0, min_available=2)
    scenario = scenario.pod("p-0", job="p", priority=100).pod("p-1", job="p", cpu=None, priority=100)

    assert preempt(scenario).evictions == []


def test_members_without_requests_are_part_of_the_plan() -> None:
    """One place for a pod is free: it is for the member that asks for nothing, the victim's for the other."""
    scenario = ONE_QUEUE.node("n1", cpu=2, pods=3)
    scenario = scenario.running("v", on=["n1"] * 2, queue="q1", priority_class="low", priority=10)
    scenario = high(scenario, "p", tasks=0, min_available=2)
    scenario = scenario.pod("p-0", job="p", priority=100).pod("p-1", job="p", cpu=None, priority=100)
    outcome = preempt(scenario)

    assert outcome.evictions == ["v-1"]
    assert set(outcome.pipelined) == {"p-0", "p-1"}


def test_a_too_large_pod_is_reported_once_and_first() -> None:
    """Its queue has too little as well, and no eviction helps: both follow from the size of the nodes."""
    outcome = (
        ONE_QUEUE.node("n1", cpu=2).job("p", cpu=3, queue="q1").run("enqueue", "allocate", "preempt", plugins=PLUGINS)
    )
    message = outcome.conditions("p")["Unschedulable"].message

    cause = "0/1 nodes are unavailable: 1 Insufficient cpu. It can never run: the largest node has 2 cpu."
    assert message.endswith(f"Origin reason is p-0: {cause}")
    assert [(each.reason, each.action) for each in outcome.refusals("p")] == [
        ("NotEnoughResources", ""),
    ]


def test_a_member_that_its_role_needs_is_no_surplus() -> None:
    """Four run and three are needed, one ps of them: the ps would go first by priority, but a worker goes."""
    scenario = ONE_QUEUE.node("n1", cpu=4).job(
        "low",
        tasks=0,
        min_available=3,
        min_by_role={"ps": 1, "worker": 2},
        queue="q1",
        priority_class="low",
        phase="Running",
    )
    scenario = scenario.pod("ps", job="low", role="ps", node="n1", cpu=1, priority=-5, phase="Running")
    for number in range(3):
        scenario = scenario.pod(
            f"w{number}", job="low", role="worker", node="n1", cpu=1, priority=number, phase="Running"
        )

    assert preempt(high(scenario)).evictions == ["w0"]


ROLES = (("priority", "gang", "predicates"),)


@pytest.mark.parametrize("action", ["preempt", "gangpreempt", "reclaim", "gangreclaim"])
@pytest.mark.parametrize("cpu", [2, 4])
def test_room_is_made_for_those_that_roles_need(action: str, cpu: int) -> None:
    """Three workers come before the server that their gang of two cannot do without: it gets room, and one of them."""
    scenario = ONE_QUEUE.queue("q2", weight=3).node("n1", cpu=cpu)
    queue = "q2" if "reclaim" in action else "q1"
    scenario = scenario.running("v", on=["n1"] * cpu, queue="q1", priority_class="low", min_available=0)
    scenario = scenario.job(
        "gang",
        tasks=0,
        min_available=2,
        min_by_role={"worker": 1, "server": 1},
        queue=queue,
        priority_class="high",
        phase="Inqueue",
    )
    for number, role in enumerate(("worker", "worker", "worker", "server")):
        scenario = scenario.pod(f"gang-{number}", job="gang", role=role, priority=5)

    outcome = scenario.run(action, plugins=ROLES)

    assert (len(outcome.evictions), sorted(outcome.pipelined)) == (2, ["gang-0", "gang-3"])
