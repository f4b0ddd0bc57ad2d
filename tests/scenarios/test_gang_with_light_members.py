"""Members that ask for nothing count towards their gang when they have a place too, with and without backfill."""

import pytest

from pyroclast.testing import Outcome, Scenario


def decided(actions: tuple[str, ...], pods: int) -> Outcome:
    """A gang of a heavy and a light member, on a node for so many pods."""
    scenario = Scenario().node("n", pods=pods).job("gang", tasks=1, min_available=2).pod("light", job="gang", cpu=None)
    return scenario.run(*actions, plugins=("gang", "predicates"))


@pytest.mark.parametrize("actions", [("allocate",), ("allocate", "backfill")])
def test_the_gang_is_whole_or_absent(actions: tuple[str, ...]) -> None:
    """With two places both are bound, in one plan; with one neither is."""
    outcome = decided(actions, pods=2)

    assert [[bind.name for bind in plan.binds] for plan in outcome.report.plans] == [["gang-0", "light"]]
    assert decided(actions, pods=1).bindings == {}
