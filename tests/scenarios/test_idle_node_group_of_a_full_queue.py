"""S8: work is served on the nodes that it can use, however full others are (Volcano issues 3670, 3520)."""

from typing import Any

from pyroclast.testing import Scenario

ACTIONS = ("enqueue", "allocate", "backfill")
PLUGINS = (("priority", "gang", "conformance"), ("overcommit", "drf", "predicates", "proportion", "nodeorder"))
LOW_JOBS = 1000


def on(node: str) -> dict[str, Any]:
    """Return a node affinity to one node."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def test_a_queue_whose_nodes_are_idle_is_served_beside_one_whose_nodes_are_full() -> None:
    """In one cycle four of a thousand low jobs fill n1, and the high job, submitted last, gets n2."""
    scenario = Scenario().queue("low", weight=1).queue("high", weight=100).node("n1", cpu=4).node("n2", cpu=4)
    scenario = scenario.priority_class("low", 10).priority_class("high", 100)
    for number in range(LOW_JOBS):
        scenario = scenario.job(f"low{number}", queue="low", priority_class="low", pod=on("n1"))
    scenario = scenario.job("high", queue="high", priority_class="high", pod=on("n2"))
    outcome = scenario.run(*ACTIONS, plugins=PLUGINS)

    assert outcome.bindings["high-0"] == "n2"
    assert sorted(outcome.bindings.values()) == ["n1"] * 4 + ["n2"]
    waiting = [f"low{number}-0" for number in range(LOW_JOBS) if f"low{number}-0" not in outcome.bindings]
    assert len(waiting) == LOW_JOBS - 4
    for pod in waiting:
        (refusal,) = outcome.refusals_of_pod(pod)
        assert refusal.counts == {"Insufficient cpu": 1, "node(s) didn't match Pod's node affinity/selector": 1}
        assert refusal.amounts == {"cpu": (1000, 0)}


def test_a_job_is_admitted_whose_resources_are_there_whatever_others_ask_for() -> None:
    """Admitted jobs request more GPUs than exist; one that requests only CPU is admitted and runs."""
    scenario = Scenario().queue("low").queue("high").node("n1", cpu=4, gpu=1).node("n2", cpu=4)
    for number in range(5):
        scenario = scenario.job(
            f"gpu{number}", queue="low", gpu=1, phase="Inqueue", min_resources={"nvidia.com/gpu": 1}
        )
    scenario = scenario.job("cpu", queue="high", min_resources={"cpu": 1})
    outcome = scenario.run(*ACTIONS, plugins=PLUGINS)

    assert "cpu-0" in outcome.bindings
