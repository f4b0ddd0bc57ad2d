"""Evictions for a gang respect disruption budgets and cool-down times, too."""

from collections.abc import Iterator
from typing import Any

import pytest

from pyroclast.model.wire.times import time_text
from pyroclast.testing import Outcome, Scenario

NOW = 1_800_000_000.0
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "budget", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "batch"}}},
    "status": {"disruptionsAllowed": 0},
}


def batch() -> Iterator[dict[str, Any]]:
    """Four pods that fill the node, scheduled a minute ago, that cool down for an hour."""
    metadata = {
        "namespace": "default",
        "labels": {"app": "batch", "volcano.sh/cooldown-time": "1h"},
        "annotations": {"scheduling.k8s.io/group-name": "batch"},
    }
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time_text(NOW - 60)}
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": 1}}}
    return (
        {
            "kind": "Pod",
            "metadata": {"name": f"batch-{number}", **metadata},
            "spec": {"schedulerName": "volcano", "nodeName": "n", "containers": [container]},
            "status": {"phase": "Running", "conditions": [scheduled]},
        }
        for number in range(4)
    )


def gang(action: str, *plugins: str) -> Outcome:
    """A gang of two needs capacity: of its own queue, where it is more important, or of another."""
    own = "a" if action == "gangpreempt" else "b"
    scenario = Scenario().priority_class("high", 10).node("n", cpu=4).queue("a").queue("b")
    scenario = scenario.job("batch", tasks=0, min_available=1, queue="a", phase="Running").add(*batch(), BUDGET)
    scenario = scenario.job("gang", tasks=2, queue=own, priority_class="high", phase="Inqueue")
    return scenario.run(action, plugins=(("priority", "gang", *plugins), ("predicates", "proportion")), now=NOW)


@pytest.mark.parametrize("action", ["gangpreempt", "gangreclaim"])
@pytest.mark.parametrize("plugin", ["pdb", "cdp"])
def test_a_plugin_that_spares_is_asked(action: str, plugin: str) -> None:
    """Without it two pods are evicted, with it none, and the veto is reported."""
    assert gang(action).evictions == ["batch-3", "batch-2"]

    spared = gang(action, plugin)
    assert spared.evictions == []
    assert any(veto.startswith(f"{plugin}: ") for veto in spared.vetoes("batch-3"))
