"""A hard topology that no plugin serves: such jobs wait, and no pod is evicted for them."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "proportion", "nodeorder"))
HARD = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}


@pytest.mark.parametrize("action", ["reclaim", "gangpreempt", "gangreclaim"])
def test_no_pod_is_evicted_for_a_job_without_topology(action: str) -> None:
    """Two nodes full of less important work of both queues; the job has the name of the missing plugin."""
    scenario = Scenario().priority_class("high", 9).queue("q1").queue("q2").node("n1", cpu=2).node("n2", cpu=2)
    scenario = scenario.running("own", on=["n1"], queue="q1", min_available=0).running(
        "other", on=["n1", "n2", "n2"], queue="q2", min_available=0
    )
    scenario = scenario.job("far", tasks=2, queue="q1", priority_class="high", group=HARD)
    outcome = scenario.run("enqueue", "allocate", action, plugins=PLUGINS, cycles=2)

    assert outcome.evictions == []
    assert "needs the plugin network-topology-aware" in outcome.why("far")


@pytest.mark.parametrize("actions", [("enqueue", "allocate", "backfill"), ("enqueue", "backfill")])
def test_tasks_that_ask_for_nothing_are_not_placed_anywhere(actions: tuple[str, ...]) -> None:
    """Two members without requests would fit on any node; no topology places them, so they wait."""
    scenario = Scenario().node("n1", pods=1).node("n2", pods=1).job("far", tasks=2, cpu=None, group=HARD)
    outcome = scenario.run(*actions, plugins=PLUGINS)

    assert outcome.bindings == {}
    assert "needs the plugin network-topology-aware" in outcome.why("far")


def test_tasks_that_ask_for_nothing_wait_for_a_tier_that_there_is() -> None:
    """The plugin is there, the tier that the job names is not."""
    group = {"networkTopology": {"mode": "hard", "highestTierName": "rack"}}
    scenario = Scenario().node("n1").job("far", tasks=2, cpu=None, group=group)
    outcome = scenario.run("enqueue", "backfill", plugins=(*PLUGINS, ("network-topology-aware",)))

    assert outcome.bindings == {}
    assert "names no tier of any HyperNode" in outcome.why("far")
