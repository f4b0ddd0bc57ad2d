"""Reclaim asks more than amounts of a victim's node: predicates and the queue's limit, as if the victims were gone."""

from typing import Any

from pyroclast.testing import Outcome, Scenario

APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "batch"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
}


def reclaim(
    taints: Any = (), minimum: int = 1, capability: Any = None, *, protects: bool = True, **poor: Any
) -> Outcome:
    """A queue that runs 4 pods of 1 CPU on the node, some of which must stay, and a gang of 2 that needs the node."""
    scenario = Scenario().node("n", cpu=4, taints=taints).queue("rich").queue("poor", capability=capability)
    scenario = scenario.running("batch", on=["n"] * 4, queue="rich", min_available=minimum, labels={"app": "batch"})
    scenario = scenario.job("gang", tasks=2, queue="poor", phase="Inqueue", **poor)
    return scenario.run(
        "reclaim",
        plugins=(("priority", "gang", "conformance"), ("predicates", "proportion")),
        arguments={"reclaim": {"protectDeserved": protects}},
    )


def test_two_go_where_nothing_stands_in_the_way() -> None:
    """The rule for the others."""
    assert reclaim().evictions == ["batch-3", "batch-2"]


def test_a_taint_keeps_victims_alive() -> None:
    """The gang does not tolerate it."""
    taint = {"key": "maintenance", "value": "", "effect": "NoSchedule"}

    assert reclaim(taints=[taint]).evictions == []


def test_a_pod_that_stays_and_is_shunned_keeps_victims_alive() -> None:
    """Three of four may go, but the gang shuns the fourth."""
    assert reclaim(pod=APART).evictions == []


def test_pods_that_are_shunned_go() -> None:
    """All four may go where their queue is not protected: with them no pod is left that the gang shuns."""
    outcome = reclaim(minimum=0, pod=APART, protects=False)

    assert (len(outcome.evictions), outcome.pipelined) == (4, {"gang-0": "n", "gang-1": "n"})


def test_a_limit_of_the_queue_keeps_victims_alive() -> None:
    """It may have one CPU, the gang needs two."""
    assert reclaim(capability={"cpu": 1}).evictions == []
