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


def test_the_next_tier_decides_where_all_are_critical() -> None:
    """Protection holds in the tier that decides: priority below would take the critical pod."""
    there = opened(
        node("n"),
        wire.PriorityClass(metadata=wire.ObjectMeta(name="high", uid="high"), value=100),
        group("mine", priority_class_name="high"),
        pod("critical", on="n", spec={"priority_class_name": "system-node-critical"}),
        pod("p", job="mine"),
        tiers=[["conformance"], ["priority"]],
    )
    beside = opened(
        node("n"),
        wire.PriorityClass(metadata=wire.ObjectMeta(name="high", uid="high"), value=100),
        group("mine", priority_class_name="high"),
        pod("critical", on="n", spec={"priority_class_name": "system-node-critical"}),
        pod("p", job="mine"),
        plugins=["conformance", "priority"],
    )

    assert there.session.evictions.preemptable(there.task("p"), there.tasks("critical")) == there.tasks("critical")
    assert beside.session.evictions.preemptable(beside.task("p"), beside.tasks("critical")) == []


def test_only_critical_candidates_leave_no_victim() -> None:
    """Then the next tier is asked, so protection needs this plugin in the tier that decides."""
    there = world()

    assert there.session.evictions.preemptable(there.task("e"), there.tasks("a", "b")) == []
    assert {veto.plugin for _, veto in there.session.evictions.vetoes[there.task("a").id].values()} == {"conformance"}
