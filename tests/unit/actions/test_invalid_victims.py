"""Victims in odd company: cases in which a plain search for victims once found a better plan."""

from typing import Any

from pyroclast.testing import Scenario

QUEUE = Scenario().queue("q").priority_class("high", 10)


def test_a_light_pod_that_had_no_place_counts_once_evictions_made_one() -> None:
    """Backfill finds no node for a pod that asks for nothing; reclaim makes room for it among the pods of one."""
    scenario = Scenario().queue("poor").queue("rich").node("n1", pods=1).running("old", on=["n1"], queue="rich")
    scenario = scenario.job("light", tasks=1, queue="poor", cpu=None, phase="Inqueue")

    outcome = scenario.run("allocate", "backfill", "reclaim", plugins=(("gang",), ("conformance", "predicates")))

    assert outcome.evictions == ["old-0"]
    assert outcome.pipelined == {"light-0": "n1"}


def test_scores_are_compared_among_all_nodes_that_permit_the_pod() -> None:
    """A node of pods that stay shifts the scale of taints, so that the wish for another node weighs more."""
    avoided = [{"key": f"k{number}", "value": "", "effect": "PreferNoSchedule"} for number in range(4)]
    scenario = (
        QUEUE.node("liked", cpu=1, labels={"disk": "ssd"}, taints=avoided[:1])
        .node("plain", cpu=1)
        .node("worst", cpu=1, taints=avoided)
        .running("a", on=["liked"], queue="q")
        .running("b", on=["plain"], queue="q")
        .running("c", on=["worst"], queue="q", annotations={"volcano.sh/preemptable": "false"})
    )
    wish = {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    scenario = scenario.job(
        "high", tasks=1, queue="q", priority_class="high", phase="Inqueue", pod={"affinity": affinity}
    )

    outcome = scenario.run("preempt", plugins=(("priority", "predicates", "nodeorder"),))

    assert outcome.pipelined == {"high-0": "liked"}


def test_the_last_pod_of_a_gang_may_go_while_another_one_leaves() -> None:
    """One of two is being deleted already, so what is left does no work and needs no company to be evicted."""
    leaving: Any = {
        "metadata": {"name": "old-1", "namespace": "default", "deletionTimestamp": "2026-01-01T01:00:00Z"}
        | {"annotations": {"scheduling.k8s.io/group-name": "old"}},
    }
    scenario = QUEUE.node("n1", cpu=1).node("n2", cpu=1, unschedulable=True).node("n3", cpu=1)
    scenario = scenario.running("other", on=["n3"], queue="q")
    scenario = scenario.job("old", tasks=1, running_on=["n1"], min_available=2, queue="q", phase="Running")
    pod = scenario.pod("old-1", job="old", node="n2").objects[-1]
    scenario = scenario.add({**pod, "metadata": {**pod["metadata"], **leaving["metadata"]}})
    scenario = scenario.job("high", tasks=1, queue="q", priority_class="high", phase="Inqueue")

    outcome = scenario.run("preempt", plugins=(("priority", "predicates"),))

    assert outcome.evictions == ["old-0"]


def test_a_victim_is_given_back_though_its_job_lacks_another_role() -> None:
    """Two of four workers can go; the job has no server, whatever is evicted, and keeps the unneeded worker."""
    scenario = QUEUE.node("n1", cpu=3).node("n2", cpu=1, labels={"here": "yes"})
    scenario = scenario.job(
        "low",
        tasks=4,
        role="worker",
        running_on=["n1", "n1", "n2", "n1"],
        min_available=2,
        min_by_role={"worker": 1, "server": 1},
        queue="q",
    )
    scenario = scenario.job(
        "high", tasks=1, queue="q", priority_class="high", phase="Inqueue", pod={"nodeSelector": {"here": "yes"}}
    )

    outcome = scenario.run("gangpreempt", plugins=(("priority", "gang", "predicates"),))

    assert outcome.evictions == ["low-2"]


def test_a_job_may_evict_what_its_like_could_not() -> None:
    """Two jobs hold the same: the first finds no victim, as the second can spare none; the second finds the first."""
    scenario = QUEUE.node("n1", cpu=6)
    for name, minimum in (("first", 1), ("second", 3)):
        scenario = scenario.job(name, tasks=4, min_available=minimum, running_on=["n1"] * 3, queue="q", phase="Running")

    outcome = scenario.run("preempt", plugins=(("priority", "predicates"), ("gang",)))

    assert outcome.evictions[0] == "first-2"
    assert outcome.pipelined["second-3"] == "n1"
