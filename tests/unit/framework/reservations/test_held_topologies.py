"""Held room: promised places keep to the topology of their job as it is now, and to gates."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import hyper_node

RACKS = (
    Scenario()
    .add(hyper_node("left", 1, "Node", ["n1", "n2"]), hyper_node("right", 1, "Node", ["n3", "n4"]))
    .node("n1", cpu=1)
    .node("n2", cpu=1)
    .node("n3", cpu=1)
    .node("n4", cpu=1)
)
PLUGINS = ("gang", "predicates")
AWARE = (*PLUGINS, "network-topology-aware")
ONE_RACK = {"mode": "hard", "highestTierAllowed": 1}
ACROSS = {"g-0": "n1", "g-1": "n3"}


def nominated(scenario: Scenario, nodes: Mapping[str, str], plugins: tuple[str, ...]) -> Outcome:
    """Decide as after a restart: what was promised is read from the pods."""
    objects: list[Mapping[str, Any]] = []
    for each in scenario.objects:
        node = nodes.get(each["metadata"]["name"])
        objects.append({**each, "status": {**each["status"], "nominatedNodeName": node}} if node else each)
    return replace(scenario, objects=tuple(objects)).run("allocate", "backfill", plugins=plugins)


def pair(**spec: Any) -> Scenario:
    """A gang of two pods for two nodes."""
    return RACKS.job("g", tasks=2, phase="Inqueue", group=spec)


def test_promised_places_are_taken() -> None:
    """On any nodes, without a topology."""
    assert nominated(pair(), ACROSS, AWARE).bindings == ACROSS


def test_places_in_two_racks_are_given_up() -> None:
    """HyperNodes may have changed since: the gang is placed anew, in one rack."""
    assert nominated(pair(networkTopology=ONE_RACK), ACROSS, AWARE).bindings == {"g-0": "n1", "g-1": "n2"}


def test_parts_keep_to_their_own_topology() -> None:
    """The job may lie anywhere, its one sub-group in one rack."""
    part = {"name": "part", "labelSelector": {}, "subGroupSize": 2, "minSubGroups": 1, "networkTopology": ONE_RACK}
    outcome = nominated(pair(subGroupPolicy=[part]), ACROSS, AWARE)

    assert {outcome.bindings[name] for name in ACROSS} in ({"n1", "n2"}, {"n3", "n4"})


def test_what_runs_counts() -> None:
    """One pod runs on the left; the other was promised a place on the right."""
    there = RACKS.job("g", tasks=2, running_on=["n1"], group={"networkTopology": ONE_RACK})

    assert nominated(there, {"g-1": "n3"}, AWARE).bindings["g-1"] == "n2"


@pytest.mark.parametrize(
    ("topology", "plugins", "why"),
    [
        (ONE_RACK, PLUGINS, "needs the plugin network-topology-aware"),
        ({"mode": "hard", "highestTierName": "rack"}, AWARE, "names no tier of any HyperNode"),
    ],
)
def test_an_unserved_topology_keeps_the_job_pending(topology: Any, plugins: tuple[str, ...], why: str) -> None:
    """The plugin, or the tier, is not there any more."""
    outcome = nominated(pair(networkTopology=topology), ACROSS, plugins)

    assert outcome.bindings == {}
    assert why in outcome.why("g")


def test_pods_behind_gates_are_not_bound() -> None:
    """Another scheduler wrote a node into their status."""
    there = RACKS.job("g", tasks=2, phase="Inqueue", pod={"schedulingGates": [{"name": "wait"}]})

    assert nominated(there, ACROSS, PLUGINS).bindings == {}
