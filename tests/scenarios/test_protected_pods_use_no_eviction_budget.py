"""Pods that cannot be evicted do not count against what a queue may lose."""

import pytest

from pyroclast.testing import Scenario

FULL = Scenario().queue("rich").queue("poor", deserved={"cpu": 1}).node("n", cpu=4)
ONE_TIER = ("gang", "proportion", "predicates")
OTHER_WAY_ROUND = ("proportion", "gang", "predicates")


@pytest.mark.parametrize("plugins", [ONE_TIER, OTHER_WAY_ROUND])
def test_a_gang_at_its_minimum_hides_no_victim(plugins: tuple[str, ...]) -> None:
    """It is served last, so it is looked at first; the queue has one pod more than it deserves, and that one goes."""
    rich = FULL.running("elastic", on=["n", "n"], queue="rich", min_available=1)
    rich = rich.running("gang", on=["n", "n"], queue="rich", min_available=2)

    outcome = rich.job("poor", queue="poor").run("enqueue", "allocate", "reclaim", plugins=(plugins,))

    assert outcome.evictions == ["elastic-1"]


@pytest.mark.parametrize("plugins", [ONE_TIER, OTHER_WAY_ROUND])
def test_a_role_at_its_minimum_hides_no_victim(plugins: tuple[str, ...]) -> None:
    """The worker was placed last, and its role needs it; its sibling without a role that counts goes."""
    rich = FULL.running("other", on=["n", "n"], queue="rich", min_available=2)
    rich = rich.job("roles", tasks=0, queue="rich", min_available=1, min_by_role={"worker": 1}, phase="Running")
    rich = rich.pod("a", job="roles", role="ps", node="n").pod("b", job="roles", role="worker", node="n")

    outcome = rich.job("poor", queue="poor").run("enqueue", "allocate", "reclaim", plugins=(plugins,))

    assert outcome.evictions == ["a"]
