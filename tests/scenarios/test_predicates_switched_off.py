"""`enablePredicate: false` of predicates switches off its refusals; who is placed, and at whose cost, goes on."""

import pytest

from pyroclast.testing import Outcome, Scenario

OFF = {"name": "predicates", "enablePredicate": False}


def decided(scenario: Scenario, *actions: str) -> Outcome:
    """Run a cycle without its refusals, with scores."""
    return scenario.run(*actions, plugins=(("priority", "gang"), (OFF, "proportion", "nodeorder")))


@pytest.mark.parametrize("cpu", [1, None])
@pytest.mark.parametrize("nodes", [["a"], ["a", "b"]])
def test_pods_are_placed(nodes: list[str], cpu: int | None) -> None:
    """With one node and with a choice, also for best-effort pods; labels are not read."""
    scenario = Scenario().job("picky", cpu=cpu, pod={"nodeSelector": {"disk": "none"}})
    for name in nodes:
        scenario = scenario.node(name)

    assert decided(scenario, "allocate", "backfill").bindings == {"picky-0": "a"}


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_less_important_pods_are_evicted(action: str) -> None:
    """The plan of evictions has a place for the preemptor."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9).node("a", cpu=2)
    scenario = scenario.running("low", on=["a", "a"], priority=1, priority_class="low")
    outcome = decided(scenario.job("high", priority=9, priority_class="high"), "allocate", action)

    assert (outcome.evictions, outcome.pipelined) == (["low-1"], {"high-0": "a"})


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_a_queue_gets_back_what_it_deserves(action: str) -> None:
    """So it does across queues."""
    scenario = Scenario().queue("rich").queue("poor").node("a", cpu=2).running("rich", on=["a", "a"], queue="rich")
    outcome = decided(scenario.job("poor", queue="poor"), "allocate", action)

    assert (outcome.evictions, outcome.pipelined) == (["rich-1"], {"poor-0": "a"})
