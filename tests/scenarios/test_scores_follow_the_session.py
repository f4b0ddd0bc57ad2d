"""Scores follow what the session has placed, whichever plugins are configured."""

import pytest

from pyroclast.testing import Scenario


@pytest.mark.parametrize("plugins", [("gang", "nodeorder"), ("gang", "predicates", "nodeorder")])
def test_used_room_counts_without_predicates_too(plugins: tuple[str, ...]) -> None:
    """The one of two equal nodes with the first pod is fuller for the second."""
    scenario = Scenario().node("n1", cpu=4).node("n2", cpu=4).job("j", tasks=2, min_available=1)

    assert set(scenario.run("allocate", plugins=plugins).bindings.values()) == {"n1", "n2"}


def test_preferences_of_pods_placed_a_moment_before_count() -> None:
    """A pod that does not like another's company keeps it off its node, though it would be the freest."""
    term = {"labelSelector": {"matchLabels": {"app": "loud"}}, "topologyKey": "kubernetes.io/hostname"}
    shy = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
    scenario = Scenario().node("n1", cpu=64).node("n2", cpu=4)
    scenario = scenario.job("shy", pod={"affinity": {"podAntiAffinity": shy}})
    scenario = scenario.job("loud", labels={"app": "loud"})

    assert scenario.run("allocate", plugins=("gang", "predicates", "nodeorder")).bindings == {
        "shy-0": "n1",
        "loud-0": "n2",
    }
