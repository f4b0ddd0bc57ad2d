"""A policy with a label selector alone makes one sub-group of the pods that it selects."""

from pyroclast.testing import Outcome, Scenario

POLICY = {
    "name": "workers",
    "labelSelector": {"matchLabels": {"app": "worker"}},
    "subGroupSize": 2,
    "minSubGroups": 1,
}


def decided(cpu: int) -> Outcome:
    """Run a job of two workers and another pod, on a node of so much CPU."""
    scenario = Scenario().node("n", cpu=cpu)
    scenario = scenario.job("j", tasks=0, min_available=1, group={"subGroupPolicy": [POLICY]}).pod("other", job="j")
    for number in range(2):
        scenario = scenario.pod(f"worker-{number}", job="j", labels={"app": "worker"})
    return scenario.run("enqueue", "allocate", "backfill", plugins=("gang", "predicates"))


def test_the_job_runs_with_it() -> None:
    """There is the one sub-group that it needs."""
    assert decided(cpu=3).bindings == {"worker-0": "n", "worker-1": "n", "other": "n"}


def test_the_sub_group_is_whole_or_absent() -> None:
    """One CPU is enough for the minimum of the job, but not for both workers."""
    assert decided(cpu=1).bindings == {}
