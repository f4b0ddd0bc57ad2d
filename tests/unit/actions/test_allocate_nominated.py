"""Allocate: the node nominated for a pod is tried first, also if another scheduler nominated it."""

from typing import Any

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

NODES = Scenario().node("n1", cpu=4).node("n2", cpu=4)


def placed(scenario: Scenario, nominated: str) -> dict[str, str]:
    """Run a cycle without memory, with a node nominated for each pending pod by another scheduler."""
    objects: tuple[Any, ...] = tuple(
        {**each, "status": {**each["status"], "nominatedNodeName": nominated}}
        if each["kind"] == "Pod" and each["status"].get("phase") != "Running"
        else each
        for each in scenario.objects
    )
    parsed, registry = configured(("allocate",), (("gang",), ("predicates",)), {})
    snapshot = cluster_of(objects, shard_mode="none", shard="volcano", warnings=[]).snapshot()
    report, _ = run_cycle(snapshot, parsed.configuration, registry=registry, now=2e9, memory=Memory(cycle=1))
    return {bind.name: bind.node for plan in report.plans for bind in plan.binds}


def test_without_a_nomination_the_lowest_name_wins() -> None:
    """Nodes alike."""
    assert placed(NODES.job("a", tasks=2), "") == {"a-0": "n1", "a-1": "n1"}


def test_a_nominated_node_goes_before_others() -> None:
    """Also for a gang."""
    assert placed(NODES.job("a", tasks=2), "n2") == {"a-0": "n2", "a-1": "n2"}


@pytest.mark.parametrize("nominated", ["n2", "gone"])
def test_a_nominated_node_that_does_not_serve_is_no_hindrance(nominated: str) -> None:
    """It is full, or there is none."""
    full = NODES.running("old", on=["n2"], cpu=4)

    assert placed(full.job("a", tasks=2), nominated) == {"a-0": "n1", "a-1": "n1"}


def test_what_does_not_fit_there_goes_elsewhere() -> None:
    """Each pod for itself."""
    assert placed(NODES.job("a", tasks=2, cpu=3), "n2") == {"a-0": "n2", "a-1": "n1"}
