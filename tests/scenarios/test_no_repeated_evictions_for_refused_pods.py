"""No pod is evicted again and again for work that could not run afterwards (Volcano issue 1464)."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))
LIMITED = (("priority", "gang", "conformance"), ("drf", "predicates", "capacity", "nodeorder"))
ACTIONS = ("enqueue", "allocate", "preempt", "reclaim", "gangpreempt", "gangreclaim", "backfill")


def full() -> Scenario:
    """Return two nodes full of unimportant work of queue b."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 100).node("n1", cpu=4).node("n2", cpu=4)
    return scenario.running("low", on=["n1", "n2"] * 4, queue="b", priority=1, priority_class="low")


@pytest.mark.parametrize("queue", ["a", "b"])
def test_a_pod_that_is_larger_than_any_node(queue: str) -> None:
    """It asks for 5 CPU, of which no node has more than 4."""
    scenario = full().queue("a").queue("b").job("high", cpu=5, queue=queue, priority=100, priority_class="high")
    outcome = scenario.run(*ACTIONS, plugins=PLUGINS, cycles=20, recreate_evicted=True)

    assert outcome.evictions == []
    assert outcome.why("high")


@pytest.mark.parametrize("queue", ["a", "b"])
def test_a_gang_that_needs_more_than_the_cluster(queue: str) -> None:
    """Eight of its nine pods could run."""
    scenario = full().queue("a").queue("b").job("high", tasks=9, queue=queue, priority=100, priority_class="high")
    outcome = scenario.run(*ACTIONS, plugins=PLUGINS, cycles=20, recreate_evicted=True)

    assert outcome.evictions == []
    assert outcome.why("high")


def test_a_gang_beyond_what_its_queue_may_have() -> None:
    """Queue a may have 2 CPU, the gang needs 3 (Volcano issue 5048: reclaim went beyond the capability)."""
    scenario = full().queue("a", deserved={"cpu": 2}, capability={"cpu": 2}).queue("b", deserved={"cpu": 4})
    scenario = scenario.job("high", tasks=3, queue="a", priority=100, priority_class="high")
    outcome = scenario.run(*ACTIONS, plugins=LIMITED, cycles=20, recreate_evicted=True)

    assert outcome.evictions == []
    assert outcome.why("high")
