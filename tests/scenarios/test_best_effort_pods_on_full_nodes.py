"""Pods that ask for nothing go where one more pod has a place, whatever else the node lacks."""

import pytest

from pyroclast.testing import Scenario


@pytest.mark.parametrize("plugins", [("gang", "nodeorder"), ("gang", "predicates", "nodeorder")])
def test_a_node_that_is_full_of_pods_is_not_chosen(plugins: tuple[str, ...]) -> None:
    """The larger node is liked better; where it takes no more pods the smaller one gets the pod."""
    chosen = {}
    for pods in (1, 2):
        scenario = Scenario().node("large", cpu=64, pods=pods).node("small", cpu=2)
        scenario = scenario.running("old", on=["large", "small"]).job("light", cpu=None)
        chosen[pods] = scenario.run("allocate", "backfill", plugins=plugins).bindings

    assert chosen == {1: {"light-0": "small"}, 2: {"light-0": "large"}}


@pytest.mark.parametrize("plugins", [("gang", "nodeorder"), ("gang", "predicates", "nodeorder")])
def test_a_node_that_is_over_its_cpu_takes_them(plugins: tuple[str, ...]) -> None:
    """Others have put more on it than it has; a pod that asks for none of it makes that no worse."""
    scenario = Scenario().node("n", cpu=2).running("old", on=["n", "n"])
    scenario = scenario.pod("alone", node="n", scheduler="default-scheduler").job("light", cpu=None).job("heavy")

    assert scenario.run("allocate", "backfill", plugins=plugins).bindings == {"light-0": "n"}
