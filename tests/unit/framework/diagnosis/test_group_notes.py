"""Fields of a PodGroup without the intended effect are reported to its owner, once each."""

from typing import Any

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

PLUGINS = (("gang",), ("predicates",))
NODES = Scenario().node("n1", cpu=4)
BY_PART = {"name": "s", "matchLabelKeys": ["part"]}


def told(scenario: Scenario) -> list[tuple[str, str]]:
    """Events on PodGroups about their fields, with their reasons, in three cycles of one scheduler."""
    parsed, registry = configured(("enqueue", "allocate"), PLUGINS, {})
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    settled, memory, events = Settled(), Memory(), []
    for now in range(3):
        report, memory = run_cycle(
            cluster.snapshot(), parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        events += [each for each in report.events if each.kind == "PodGroup" and each.message.startswith("spec.")]
        cluster.settle(report.plans, report, now=now + 0.5, recreate_evicted=False)
    return [(each.reason, each.message) for each in events]


@pytest.mark.parametrize(
    ("group", "reason", "words"),
    [
        (
            {"networkTopology": {"mode": "hard"}},
            "TopologyWithoutTier",
            "spec.networkTopology: has no effect without highestTierAllowed",
        ),
        (
            {"networkTopology": {"mode": "firm", "highestTierAllowed": 1}},
            "UnknownTopologyMode",
            "spec.networkTopology.mode: 'firm' is neither hard nor soft; it counts as hard",
        ),
        (
            {
                "subGroupPolicy": [
                    {"name": "s", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}
                ]
            },
            "UnreadableSelector",
            "spec.subGroupPolicy[0].labelSelector.matchExpressions[0].operator: 'Is' is none of",
        ),
        (
            {"subGroupPolicy": [{"name": "s", "labelSelector": {"matchLabels": {"part": "c"}}}]},
            "SelectsNoPod",
            "spec.subGroupPolicy[0]: none of 2 pods is in a sub-group of 's'",
        ),
        ({"subGroupPolicy": [BY_PART]}, "NoSubGroup", "spec.subGroupPolicy: 1 of 2 pods are in no sub-group"),
    ],
)
def test_unusual_values_are_reported(group: dict[str, Any], reason: str, words: str) -> None:
    """Once, with its path, whether the job runs or not."""
    scenario = NODES.job("p", tasks=0, min_available=2, group=group)
    scenario = scenario.pod("p-0", job="p", labels={"part": "a"}).pod("p-1", job="p", cpu=9)
    (message,) = (message for known, message in told(scenario) if known == reason)

    assert message.startswith(words)


def test_a_missing_priority_class_is_reported() -> None:
    """With the priority that counts instead, once; where no class is known at all they are not followed."""
    misspelt = NODES.job("p", tasks=2, priority_class="hihg")
    classes = misspelt.priority_class("high", 1000).priority_class("usual", 5, global_default=True)

    assert told(classes) == [
        ("NoPriorityClass", "spec.priorityClassName: there is no PriorityClass 'hihg'; the priority is 5")
    ]
    assert told(classes.priority_class("hihg", 0)) == []
    assert told(misspelt) == []


def test_valid_values_are_not_reported() -> None:
    """Nor are pods reported before they all exist."""
    sound = {"networkTopology": {"mode": "soft"}, "subGroupPolicy": [BY_PART]}

    assert told(NODES.job("p", tasks=2).priority_class("high", 1000)) == []
    assert told(NODES.job("p", tasks=2, group=sound, labels={"part": "a"})) == []
    assert told(NODES.job("p", tasks=1, min_available=2, group=sound)) == []
