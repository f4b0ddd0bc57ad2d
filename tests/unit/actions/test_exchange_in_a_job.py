"""A task that takes the place of one of its own job takes it on the best node, whatever the job can spare."""

from pyroclast.testing import Scenario


def test_a_job_below_its_minimum_exchanges_on_the_best_node() -> None:
    """Both nodes are full; on the worse one another job could spare a pod, which gives the better one no less room."""
    scenario = Scenario().priority_class("high", 9).node("n1", cpu=3, memory="4Gi").node("n2", cpu=1, memory="64Gi")
    scenario = scenario.running("a", on=["n1", "n2"], min_available=3, memory="1Gi")
    scenario = scenario.running("b", on=["n1"] * 2, memory="1Gi", min_available=1)
    scenario = scenario.pod("more", job="a", priority=9, memory="1Gi")
    outcome = scenario.run("preempt", plugins=(("priority", "predicates", "nodeorder"),))

    assert (outcome.evictions, outcome.pipelined) == (["a-1"], {"more": "n2"})
