"""Vetoes of actions: pods that are protected without a plugin have a veto, as a value that `simulate` shows."""

import pytest

from pyroclast.testing import Outcome, Scenario

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "proportion", "nodeorder"))
SPARED = {"volcano.sh/preemptable": "false"}
BASE = Scenario().priority_class("low", 1).priority_class("high", 9).node("n1", cpu=2)
ACTIONS = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
WITHIN = ("preempt", "gangpreempt")
BETWEEN = ("reclaim", "gangreclaim")


def decided(scenario: Scenario, action: str) -> Outcome:
    """Run one action that evicts, after allocate."""
    return scenario.run("enqueue", "allocate", action, plugins=PLUGINS)


def reasons(outcome: Outcome, pod: str, action: str) -> list[str]:
    """Return why an action itself protected a pod, and from which preemptor."""
    (task,) = (task for task, name in outcome.rounds[-1].pod_names.items() if name == f"default/{pod}")
    vetoes = outcome.report.vetoes.get(task, ())
    return [refusal.reason for _, refusal in vetoes if refusal.plugin == action]


def against(scenario: Scenario, action: str, **more: object) -> Scenario:
    """Add an important job that waits, in the queue of the victims or in another."""
    queue = "mine" if action in WITHIN else "other"
    return scenario.queue("other").job("p", queue=queue, priority=9, priority_class="high", **more)  # type: ignore[arg-type]  # as for `job`


@pytest.mark.parametrize("action", ACTIONS)
def test_pods_that_are_marked(action: str) -> None:
    """No other pod runs there, so no plugin is asked."""
    scenario = BASE.running("v", on=["n1"] * 2, queue="mine", priority_class="low", annotations=SPARED)
    outcome = decided(against(scenario, action), action)

    assert outcome.evictions == []
    assert reasons(outcome, "v-0", action) == reasons(outcome, "v-1", action) == ["NotPreemptable"]


@pytest.mark.parametrize("action", ["gangpreempt", "gangreclaim"])
def test_pods_of_a_group_that_is_marked(action: str) -> None:
    """The pods say themselves that they may go; their PodGroup says that they may not."""
    scenario = BASE.job("v", tasks=0, min_available=1, queue="mine", priority_class="low", annotations=SPARED)
    scenario = scenario.pod("v-0", job="v", node="n1", cpu=2, annotations={"volcano.sh/preemptable": "true"})
    outcome = decided(against(scenario, action), action)

    assert outcome.evictions == []
    assert reasons(outcome, "v-0", action) == ["GroupNotPreemptable"]


def test_pods_of_a_job_that_is_no_less_important() -> None:
    """Gangpreempt looks at classes alone."""
    scenario = BASE.running("v", on=["n1"] * 2, queue="mine", priority_class="high")
    outcome = decided(against(scenario, "gangpreempt"), "gangpreempt")

    assert outcome.evictions == []
    assert reasons(outcome, "v-0", "gangpreempt") == ["NotLessImportant"]


@pytest.mark.parametrize("action", BETWEEN)
def test_pods_of_a_queue_that_gives_nothing(action: str) -> None:
    """One of two queues above its share gives, and the other answers that it does not."""
    scenario = BASE.queue("mine", reclaimable=False).queue("lent").node("n2", cpu=2)
    scenario = scenario.running("v", on=["n1"] * 2, queue="mine").running("w", on=["n2"] * 2, queue="lent")
    outcome = decided(against(scenario, action), action)

    assert outcome.evictions == ["w-1"]
    assert reasons(outcome, "v-0", action) == reasons(outcome, "v-1", action) == ["QueueNotReclaimable"]


@pytest.mark.parametrize("action", BETWEEN)
def test_pods_that_do_not_run_yet(action: str) -> None:
    """Between queues those that run go; one that waits on its node for an image does not."""
    scenario = BASE.job("v", tasks=0, min_available=0, queue="mine", phase="Running")
    for number in range(2):
        scenario = scenario.pod(f"v-{number}", job="v", node="n1", phase="Pending")
    outcome = decided(against(scenario, action), action)

    assert outcome.evictions == []
    assert reasons(outcome, "v-0", action) == reasons(outcome, "v-1", action) == ["NotRunning"]


def test_pods_that_ask_for_something_where_nothing_is_asked_for() -> None:
    """The node is full of pods: one that asks for nothing takes the place of its like alone."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9).node("n1", cpu=8, pods=1)
    scenario = scenario.running("v", on=["n1"], queue="mine", priority_class="low")
    outcome = decided(against(scenario, "preempt", cpu=None), "preempt")

    assert outcome.evictions == []
    assert reasons(outcome, "v-0", "preempt") == ["AsksForMore"]


@pytest.mark.parametrize("action", ACTIONS)
def test_one_member_that_is_marked_spares_its_gang(action: str) -> None:
    """The member that is marked gets the reason."""
    scenario = BASE.job("v", tasks=0, min_available=2, queue="mine", priority_class="low", phase="Running")
    scenario = scenario.pod("v-0", job="v", node="n1", annotations=SPARED).pod("v-1", job="v", node="n1")
    outcome = decided(against(scenario, action), action)

    assert outcome.evictions == []
    assert reasons(outcome, "v-0", action) == ["NotPreemptable"]
