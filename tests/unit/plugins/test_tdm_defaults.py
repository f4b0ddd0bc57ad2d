"""What says nothing of preemption: a pod may be evicted, and its group counts as one that may not be."""

from pyroclast.testing import Scenario


def test_a_group_that_says_nothing_goes_before_one_that_may_be_preempted() -> None:
    """Though it is younger."""
    scenario = Scenario().node("n", cpu=1)
    scenario = scenario.job("old", annotations={"volcano.sh/preemptable": "true"}).job("young")

    assert scenario.run("allocate", plugins=("gang", "tdm", "predicates")).bindings == {"young-0": "n"}


def test_a_pod_that_says_nothing_may_be_evicted() -> None:
    """For a more important one."""
    scenario = Scenario().priority_class("high", 9).node("n", cpu=1).running("low", on=["n"], min_available=0)
    scenario = scenario.job("high", priority_class="high", phase="Inqueue")

    assert scenario.run("preempt", plugins=("priority", "gang", "predicates")).evictions == ["low-0"]
