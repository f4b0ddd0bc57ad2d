"""Runs of equal tasks are placed at once, and never where one of them has to be looked at by itself."""

from typing import Any

from pyroclast.testing import Scenario

PLUGINS = (("gang",), ("predicates", "nodeorder"))
SHUNS_WEB: dict[str, Any] = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
}


def gang_of(labels: list[dict[str, str]], minimum: int) -> Scenario:
    """Return a roomy node that shuns `web`, a small one, and a gang whose pods differ in their labels alone."""
    scenario = Scenario().node("big", cpu=64).node("small", cpu=2)
    scenario = scenario.running("shunning", on=["big"], pod=SHUNS_WEB)
    scenario = scenario.job("gang", tasks=0, min_available=minimum)
    for number, each in enumerate(labels):
        scenario = scenario.pod(f"gang-{number}", job="gang", labels=each)
    return scenario


def test_a_later_task_of_a_run_is_asked_about() -> None:
    """Tasks of one template may differ in labels that pods on nodes shun."""
    outcome = gang_of([{}, {}, {"app": "web"}, {}], 4).run("allocate", plugins=PLUGINS)

    assert outcome.bindings["gang-2"] == "small"
    assert set(outcome.bindings) == {"gang-0", "gang-1", "gang-2", "gang-3"}


def test_equal_tasks_without_capacity_have_the_same_message() -> None:
    """Each of many equal tasks without a node has the reason, and a different one has its own reason."""
    scenario = gang_of([{"app": "web"}, {}, {}], 1)
    full = scenario.running("filling", on=["big", "small"], cpu=2).running("more", on=["big"], cpu=61)
    outcome = full.run("allocate", plugins=PLUGINS)

    assert outcome.bindings == {}
    assert (
        outcome.why_pod("gang-1")
        == outcome.why_pod("gang-2")
        == "resources: " + ("0/2 nodes are unavailable: 2 Insufficient cpu.")
    )


def test_a_run_does_not_carry_along_a_role_that_has_failed() -> None:
    """A worker found no node, so no other worker is placed, though it is the equal of the server before it."""
    scenario = Scenario().node("n", cpu=4).job("mixed", tasks=0, min_available=3)
    scenario = scenario.pod("mixed-w-0", job="mixed", role="worker", spec={"nodeSelector": {"zone": "a"}})
    scenario = scenario.pod("mixed-w-1", job="mixed", role="server").pod("mixed-w-2", job="mixed", role="worker")
    scenario = scenario.pod("mixed-w-3", job="mixed", role="worker", spec={"nodeSelector": {"zone": "a"}})
    outcome = scenario.run("allocate", plugins=("gang", "predicates"))

    assert outcome.bindings == {}
    assert "another task of role worker was refused" in outcome.why_pod("mixed-w-2")


def test_a_role_whose_queue_had_no_room_is_still_tried() -> None:
    """Only a task that found no node speaks for its role: a smaller one may fit what the queue deserves."""
    scenario = Scenario().node("n", cpu=4).queue("red", weight=1).queue("green", weight=1)
    scenario = scenario.job("other", queue="green", tasks=4, min_available=1)
    scenario = scenario.job("mixed", queue="red", tasks=0, min_available=1)
    scenario = scenario.pod("mixed-0", job="mixed", role="worker", cpu=3).pod(
        "mixed-1", job="mixed", role="worker", cpu=1
    )
    outcome = scenario.run("allocate", plugins=(("gang",), ("predicates", "proportion")))

    assert "mixed-0" not in outcome.bindings
    assert outcome.bindings["mixed-1"] == "n"
