"""Conformance: what the cluster itself needs is spared."""

from typing import Any

import pytest

from framework import points
from framework.points import Point, Vote
from tests.unit.plugins.policies import World, group, node, opened, pod

EVICTING = [points.PREEMPTABLE, points.RECLAIMABLE, points.UNIFIED_EVICTABLE]


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


def test_only_critical_candidates_leave_nobody() -> None:
    """Then the next tier is asked, so protection needs this plugin in the tier that decides."""
    there = world()

    assert there.session.preemptable(there.task("e"), there.tasks("a", "b")) == []
    assert {veto.plugin for _, veto in there.session.vetoes[there.task("a").id].values()} == {"conformance"}
