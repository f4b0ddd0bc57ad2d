"""Why evicting did not help: each action that evicts says it to each job that waits, behind what the job lacks."""

from typing import Any

import pytest

from pyroclast.model.refusals import Refusal
from pyroclast.testing import Outcome, Scenario

PLUGINS = (("priority", "gang", "conformance", "predicates", "capacity", "nodeorder"),)
SPACE = Scenario().node("out-of-service", cpu=64, unschedulable=True)
"""Room for queues on paper."""
BASE = Scenario().queue("q").priority_class("low", 1).priority_class("high", 9)
NEVER = {"preemptionPolicy": "Never"}
ONE_RACK = {"networkTopology": {"mode": "soft"}}


def decided(scenario: Scenario, *actions: str, cycles: int = 1) -> Outcome:
    """Run actions that evict after allocate."""
    return scenario.run("enqueue", "allocate", *actions, plugins=PLUGINS, cycles=cycles)


def high(scenario: Scenario, **more: Any) -> Scenario:
    """Add an important job."""
    return scenario.job("p", queue="q", priority=9, priority_class="high", **more)


def told(outcome: Outcome, job: str = "p") -> Refusal:
    """Return the only reason why no pods are evicted for a job; what it lacks comes before it."""
    reasons = outcome.refusals(job)
    assert [bool(each.action) for each in reasons] == sorted(bool(each.action) for each in reasons)
    (reason,) = (each for each in reasons if each.action)
    return reason


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_nodes_without_victims_are_counted(action: str) -> None:
    """The running pods are of another queue, or of no job: each node counts once."""
    scenario = BASE.queue("other").node("n1", cpu=2).node("n2", cpu=2).node("n3", cpu=2, unschedulable=True)
    scenario = scenario.running("v", on=["n1"] * 2, queue="other").pod("loose", node="n2", cpu=2)
    reason = told(decided(high(scenario), action))

    assert (reason.action, reason.reason) == (action, "NoEvictionHelps")
    assert "node(s) without pods to evict" in reason.message
    if action == "preempt":
        assert reason.counts == {"node(s) without pods to evict": 2, "node(s) that evictions cannot make suitable": 1}


def test_no_node_is_large_enough() -> None:
    """2 of 3 CPU are used, by any pod."""
    outcome = decided(high(BASE.node("n1", cpu=2), cpu=3), "preempt")

    assert (
        outcome.condition_message("p-0")
        == "0/1 nodes are unavailable: 1 Insufficient cpu. It can never run: the largest node has 2 cpu."
    )
    assert [each.action for each in outcome.refusals("p")] == [""]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_what_it_names_is_not_there(action: str) -> None:
    """The claim is missing: that there is too little room for as many as may go is not what it waits for."""
    scenario = BASE.node("n1", cpu=2).running("v", on=["n1"] * 2, queue="q", priority_class="low")
    pod = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]}
    reason = told(decided(high(scenario, pod=pod), action))

    assert (reason.plugin, reason.reason) == ("predicates", "NodeVolumeLimitsFailed")
    assert '"gone" not found' in reason.message


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_no_node_permits_it(action: str) -> None:
    """There are large ones, but none of its kind."""
    scenario = BASE.node("n1", cpu=2).running("v", on=["n1"] * 2, queue="q", priority_class="low")
    outcome = decided(high(scenario, pod={"nodeSelector": {"disk": "ssd"}}), action)

    assert (
        outcome.condition_message("p-0")
        == "0/1 nodes are unavailable: 1 node(s) didn't match Pod's node affinity/selector."
    )
    assert [each.action for each in outcome.refusals("p")] == [""]


def test_its_queue_takes_no_work() -> None:
    """It was closed after the job had been admitted; actions that evict do not repeat it."""
    scenario = BASE.queue("shut", state="Closed").node("n1", cpu=2).running("v", on=["n1"] * 2, queue="shut")
    scenario = scenario.job("p", queue="shut", priority=9, priority_class="high", phase="Inqueue")
    outcome = decided(scenario, "preempt", "gangpreempt")

    assert [each.reason for each in outcome.refusals("p") if each.action] == []
    assert outcome.conditions("p")["Unschedulable"].message.endswith("Origin reason is p-0: queue shut is Closed")


def test_all_together_are_too_little() -> None:
    """The node has 4 CPU, one of them is the victim's, and a pod without a job has three."""
    scenario = BASE.node("n1", cpu=4).running("v", on=["n1"], queue="q", priority_class="low")
    reason = told(decided(high(scenario.pod("loose", node="n1", cpu=3), cpu=4), "preempt"))

    assert reason.counts == {"node(s) on which all pods that could be evicted free too little": 1}


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_plugins_spare_all(action: str) -> None:
    """Protected by name: here pods of system components."""
    scenario = BASE.node("n1", cpu=2)
    scenario = scenario.running("v", on=["n1"] * 2, queue="q", pod={"priorityClassName": "system-node-critical"})
    reason = told(decided(high(scenario), action))

    count = "1 " * (action == "preempt")
    assert reason.message.startswith(
        f"no evictions free enough capacity: {count}node(s) on which all pods are protected; of 2 pods"
    )
    assert "protected by conformance" in reason.message
    if action == "preempt":
        assert reason.counts == {"node(s) on which all pods are protected": 1}


def test_there_are_too_few_possible_victims() -> None:
    """Two CPU are requested; one of the two pods is critical."""
    scenario = BASE.node("n1", cpu=2).running("v", on=["n1"], queue="q", min_available=0, priority_class="low")
    critical = {"priorityClassName": "system-node-critical"}
    scenario = scenario.running("w", on=["n1"], queue="q", min_available=0, priority_class="low", pod=critical)
    reason = told(decided(high(scenario, cpu=2), "preempt"))

    assert reason.counts == {"node(s) on which the pods that are not protected free too little": 1}
    assert reason.message.endswith("; of 2 pods considered: 1 protected by conformance")


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_pods_with_preemption_policy_never_evict_no_pod(action: str) -> None:
    """Protected by their own policy."""
    scenario = BASE.queue("other").node("n1", cpu=2).running("v", on=["n1"] * 2, queue="other", priority_class="low")

    assert told(decided(high(scenario, pod=NEVER), action)).reason == "PreemptionPolicyNever"


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_too_few_of_its_pods_may_have_others_evicted(action: str) -> None:
    """One of a gang of two may be evicted, and the other alone is useless."""
    scenario = BASE.node("n1", cpu=2).running("v", on=["n1"] * 2, queue="q", priority_class="low")
    scenario = scenario.job("p", tasks=1, min_available=2, queue="q", priority=9, priority_class="high")
    scenario = scenario.pod("p-1", job="p", priority=9, spec=NEVER)

    assert told(decided(scenario, action)).reason == "TooFewTasks"


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_its_minimum_runs(action: str) -> None:
    """No pods are evicted beyond the minimum; this reason comes before that of an overused queue."""
    scenario = SPACE.queue("q").node("n1", cpu=2)
    scenario = scenario.job("p", tasks=2, min_available=1, queue="q", cpu=2, running_on=["n1"])
    reason = told(decided(scenario, action))

    assert reason.reason == ("HasMinimum" if action.endswith("preempt") else "QueueOverDeserved")


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_a_role_that_lost_its_pod_is_served(action: str) -> None:
    """Two workers run, and two are the minimum; the gang does no work without its server."""
    scenario = BASE.node("n1", cpu=3).running("v", on=["n1"], queue="q", min_available=0, priority_class="low")
    scenario = high(
        scenario, tasks=2, min_available=2, min_by_role={"worker": 1, "server": 1}, role="worker", running_on=["n1"] * 2
    )
    scenario = scenario.pod("p-2", job="p", role="server", priority=9)
    outcome = decided(scenario, action)

    assert outcome.evictions == ["v-0"]


@pytest.mark.parametrize(
    ("actions", "told_by"), [(("preempt",), ["preempt"]), (("preempt", "gangpreempt"), ["gangpreempt"])]
)
def test_it_is_left_to_an_action_that_is_off(actions: tuple[str, ...], told_by: list[str]) -> None:
    """A job with a topology is left to gangpreempt, which has its own reason if it is configured."""
    full = BASE.node("n1", cpu=2).pod("loose", node="n1", cpu=2)
    outcome = decided(high(full, tasks=2, group=ONE_RACK), *actions)

    assert [each.action for each in outcome.refusals("p") if each.action] == told_by
    if told_by == ["preempt"]:
        assert told(outcome).reason == "LeftToOthers"


def test_a_queue_without_deserved_amount_gets_no_event() -> None:
    """Not of an empty list."""
    reason = told(decided(high(SPACE.queue("q").priority_class("high", 9).node("n1", cpu=1), cpu=2), "reclaim"))

    assert reason.message == "queue q would exceed its deserved amount of every requested resource (cpu 0)"


def test_pods_and_groups_get_messages() -> None:
    """What the node lacks comes first, then why no pods are evicted."""
    outcome = decided(high(BASE.node("n1", cpu=1).pod("loose", node="n1")), "preempt")
    lacks = "0/1 nodes are unavailable: 1 Insufficient cpu."
    words = f"{lacks} preempt: no evictions free enough capacity: 1 node(s) without pods to evict"

    assert outcome.condition_message("p-0") == words
    assert outcome.conditions("p")["Unschedulable"].message.endswith(words)


def test_an_unchanged_job_gets_the_change_of_its_queue() -> None:
    """It is skipped, and its refusals by nodes stay; but its queue has got more, which is reported."""
    scenario = SPACE.queue("q", deserved={"cpu": 1}).priority_class("low", 1).node("n1", cpu=4)
    scenario = scenario.running("v", on=["n1"], queue="q", cpu=2)
    scenario = scenario.job("big", queue="q", cpu=3).job("small", queue="q", cpu=1)
    outcome = decided(scenario, "reclaim", cycles=3)
    reason = told(outcome, "big")

    assert outcome.bindings == {"small-0": "n1"}
    assert reason.amounts == {"cpu": (6000, 1000)}
    assert [each.counts for each in outcome.refusals_of_pod("big-0")] == [
        {"Insufficient cpu": 1, "node(s) were unschedulable": 1}
    ]
    assert outcome.refusals_of_pod("big-0")[0].amounts == {"cpu": (3000, 1000)}
    assert outcome.is_at_rest
