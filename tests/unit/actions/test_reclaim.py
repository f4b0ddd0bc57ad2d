"""Reclaim: room goes back to queues that have less than they deserve, as plans or not at all."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario

PLUGINS = (("conformance", "gang"), ("proportion", "predicates"))
SPARED = {"volcano.sh/preemptable": "false"}


def reclaim(scenario: Scenario) -> Outcome:
    """Run the action alone."""
    return scenario.run("reclaim", plugins=PLUGINS)


def two_queues(cpu: int = 4, **rich: Any) -> Scenario:
    """Return a node and two queues of equal weight."""
    return Scenario().queue("q1", **rich).queue("q2").node("n1", cpu=cpu)


def waiting(scenario: Scenario, **more: Any) -> Scenario:
    """Add a job to the second queue that waits, past the gate."""
    return scenario.job("w", queue="q2", phase="Inqueue", **more)


def full(scenario: Scenario) -> Scenario:
    """Let the first queue fill the node."""
    return scenario.running("v", on=["n1"] * 4, queue="q1")


def test_a_queue_gets_what_it_deserves() -> None:
    """Two of four pods go, the last ones first."""
    assert reclaim(waiting(full(two_queues()), tasks=2)).evictions == ["v-3", "v-2"]


def test_a_queue_does_not_get_more_than_it_deserves() -> None:
    """A gang of three needs more than half: no pod is evicted, and the reason says so."""
    outcome = reclaim(waiting(full(two_queues()), tasks=3))

    assert outcome.evictions == []
    assert outcome.why("w")


def test_only_preemptable_pods_go() -> None:
    """The middle one of three pods may be evicted."""
    scenario = two_queues(cpu=3).running("a", on=["n1"], queue="q1", annotations=SPARED)
    scenario = scenario.running("b", on=["n1"], queue="q1").running("c", on=["n1"], queue="q1", annotations=SPARED)

    assert reclaim(waiting(scenario)).evictions == ["b-0"]


def test_a_queue_that_is_not_reclaimable_keeps_its_room() -> None:
    """Its pods stay."""
    assert reclaim(waiting(full(two_queues(reclaimable=False)), tasks=2)).evictions == []


def test_a_closed_queue_takes_nothing() -> None:
    """The beneficiary's queue is closing."""
    scenario = Scenario().queue("q1").queue("q2", state="Closing").node("n1", cpu=4)

    assert reclaim(waiting(full(scenario), tasks=2)).evictions == []


def test_the_queue_of_lower_priority_gives_first() -> None:
    """Both have more than they deserve; the one of priority 5 gives, not that of 10."""
    scenario = Scenario().queue("q5", priority=5).queue("q10", priority=10).queue("q2").node("n1", cpu=6)
    scenario = scenario.running("a", on=["n1"] * 3, queue="q10").running("b", on=["n1"] * 3, queue="q5")

    assert reclaim(waiting(scenario)).evictions == ["b-2"]


def test_preemption_policy_never_takes_nothing() -> None:
    """Another pod of the job that may preempt still does."""
    never = {"preemptionPolicy": "Never"}
    assert reclaim(waiting(full(two_queues()), pod=never)).evictions == []

    mixed = full(two_queues()).job("w", tasks=0, min_available=1, queue="q2", phase="Inqueue")
    mixed = mixed.pod("w-0", job="w", spec=never).pod("w-1", job="w")
    outcome = reclaim(mixed)

    assert outcome.evictions == ["v-3"]
    assert outcome.pipelined == {"w-1": "n1"}


def test_free_room_counts() -> None:
    """CPU is free and memory lacks for one: exactly one pod goes."""
    scenario = Scenario().queue("q1").queue("q2").node("n1", cpu=8, memory="4Gi")
    scenario = scenario.running("v", on=["n1"] * 4, queue="q1", memory="1Gi")

    assert reclaim(waiting(scenario, memory="1Gi")).evictions == ["v-3"]


def test_a_node_with_space_needs_no_victim() -> None:
    """The pod is held on the node, without evictions."""
    outcome = reclaim(waiting(two_queues().running("v", on=["n1"] * 3, queue="q1")))

    assert (outcome.evictions, outcome.pipelined) == ([], {"w-0": "n1"})


def test_what_allocate_can_bind_is_left_to_it() -> None:
    """With allocate behind it, reclaim does not hold free room: the pod is bound in the same cycle."""
    scenario = waiting(two_queues().running("v", on=["n1"] * 3, queue="q1"))
    outcome = scenario.run("reclaim", "allocate", plugins=PLUGINS)

    assert outcome.bindings == {"w-0": "n1"}


@pytest.mark.parametrize(("others", "evictions"), [(0, ["g-2", "g-1", "g-0"]), (1, ["v-0"])])
def test_a_gang_is_one_victim(others: int, evictions: list[str]) -> None:
    """Its queue has one more than it deserves and would be left with nothing; but not where another pod is enough."""
    scenario = two_queues(cpu=4 + others).running("g", on=["n1"] * 3, queue="q1", min_available=3)
    scenario = scenario.running("v", on=["n1"] * others, queue="q1", min_available=0) if others else scenario

    assert reclaim(waiting(scenario, tasks=2)).evictions == evictions


def test_a_gang_that_went_whole_does_not_come_back_so() -> None:
    """What drove it out has what it deserves and no more: the gang, made again, waits."""
    scenario = two_queues().running("w", on=["n1"] * 2, queue="q2", min_available=2)
    outcome = reclaim(scenario.job("g", tasks=3, queue="q1", phase="Inqueue"))

    assert (outcome.evictions, outcome.pipelined) == ([], {})


def test_a_victim_gang_goes_whole_or_keeps_its_minimum() -> None:
    """Gangs of two whose minimum is two: one goes whole for a gang of two, and none for less in part."""
    scenario = two_queues().running("a", on=["n1"] * 2, queue="q1", min_available=2)
    scenario = scenario.running("b", on=["n1"] * 2, queue="q1", min_available=2)
    outcome = reclaim(waiting(scenario, tasks=2))

    assert outcome.evictions == ["b-1", "b-0"]


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_input_does_not_matter(order: int) -> None:
    """The same objects in reverse order give the same evictions."""
    scenario = waiting(full(two_queues()), tasks=2)
    turned = Scenario().add(*scenario.objects[::order])

    assert reclaim(turned).evictions == ["v-3", "v-2"]


def test_a_task_beyond_what_its_queue_deserves_does_not_hold_back_its_siblings() -> None:
    """The larger pod of a job with a minimum of one is not permitted, the smaller one is: two of its victims go."""
    scenario = Scenario().queue("q1", deserved={"cpu": 5}).queue("q2", deserved={"cpu": 5}).node("n1", cpu=10)
    scenario = waiting(scenario.running("v", on=["n1"] * 10, queue="q1"), tasks=0, min_available=1)
    scenario = scenario.pod("great", job="w", cpu=6, priority=10).pod("small", job="w", cpu=2)
    outcome = scenario.run("reclaim", plugins=(("priority", "conformance", "gang"), ("capacity", "predicates")))

    assert outcome.evictions == ["v-9", "v-8"]
    assert set(outcome.pipelined) == {"small"}


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_a_queue_that_lost_pods_goes_before_one_that_has_more(action: str) -> None:
    """The last CPU is for the queue that lost two to the poor one, and has less of its share than the other."""
    scenario = Scenario().node("n1", cpu=8)
    for queue, deserved in (("poor", 2), ("middle", 4), ("rich", 3)):
        scenario = scenario.queue(queue, deserved={"cpu": deserved})
    scenario = scenario.running("rich", on=["n1"] * 2, cpu=2, queue="rich")
    scenario = scenario.running("middle", on=["n1"] * 3, queue="middle")
    scenario = scenario.job("new", tasks=1, cpu=2, queue="poor", phase="Inqueue")
    for queue in ("middle", "rich"):
        scenario = scenario.job(f"more-{queue}", tasks=1, queue=queue, phase="Inqueue")

    outcome = scenario.run(action, plugins=(("gang", "predicates", "capacity"),))

    assert outcome.evictions == ["rich-1"]
    assert outcome.pipelined.keys() == {"new-0", "more-rich-0"}
