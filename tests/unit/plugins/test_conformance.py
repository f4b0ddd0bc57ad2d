"""Conformance: what the cluster itself needs is spared."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Point, Vote
from pyroclast.model import wire
from tests.unit.plugins.policies import World, group, node, opened, pod

EVICTING = [contract.PREEMPTABLE, contract.RECLAIMABLE, contract.UNIFIED_EVICTABLE]


def world() -> World:
    """A system pod, a pod of each critical class, and two others."""
    return opened(
        node("n"),
        group("system", namespace="kube-system"),
        pod("a", job="system", namespace="kube-system", on="n"),
        pod("b", on="n", spec={"priority_class_name": "system-node-critical"}),
        pod("c", on="n", spec={"priority_class_name": "system-cluster-critical"}),
        pod("d", on="n", spec={"priority_class_name": "important"}),
        pod("e", on="n"),
        plugins=["conformance"],
    )


@pytest.mark.parametrize("point", EVICTING)
def test_critical_pods_are_spared_the_rest_keeps_its_order(point: Point[Any]) -> None:
    """At all three points, with a permitting vote."""
    there = world()
    victims, vote = there.function(point).function(there.task("e"), there.tasks("e", "a", "b", "d", "c"))

    assert [task.name for task in victims] == ["e", "d"]
    assert vote is Vote.PERMIT


@pytest.mark.parametrize("point", EVICTING)
def test_the_worked_example(point: Point[Any]) -> None:
    """Pods of kube-system and of system-node-critical are protected, a pod without a class is not."""
    there = opened(
        node("n"),
        group("system", namespace="kube-system"),
        pod("a", job="system", namespace="kube-system", on="n"),
        pod("b", on="n", spec={"priority_class_name": "system-node-critical"}),
        pod("c", on="n"),
        plugins=["conformance"],
    )

    assert there.function(point).function(None, there.tasks("a", "b", "c"))[0] == there.tasks("c")


@pytest.mark.parametrize("tiers", [[["conformance"], ["priority"]], [["priority"], ["conformance"]]])
def test_critical_pods_are_protected_in_every_tier(tiers: list[Any]) -> None:
    """Also where priority alone decides; `everyTier: false` protects them in the tier of the plugin alone."""

    def victims(tiers: list[Any]) -> int:
        there = opened(
            node("n"),
            wire.PriorityClass(metadata=wire.ObjectMeta(name="high", uid="high"), value=100),
            group("mine", priority_class_name="high"),
            pod("critical", on="n", spec={"priority_class_name": "system-node-critical"}),
            pod("p", job="mine"),
            tiers=tiers,
        )
        return len(there.session.evictions.preemptable(there.task("p"), there.tasks("critical")))

    alone = {"name": "conformance", "arguments": {"everyTier": False}}

    assert victims(tiers) == 0
    assert victims([[alone if name == "conformance" else name for name in tier] for tier in tiers]) == 1


def test_only_critical_candidates_leave_no_victim() -> None:
    """Then the next tier is asked, so protection needs this plugin in the tier that decides."""
    there = world()

    assert there.session.evictions.preemptable(there.task("e"), there.tasks("a", "b")) == []
    assert {veto.plugin for _, veto in there.session.evictions.vetoes[there.task("a").id].values()} == {"conformance"}
