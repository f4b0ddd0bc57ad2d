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


def test_members_beyond_the_minimum_come_in_the_same_cycle() -> None:
    """A gang that waits for its light member has further turns like others, which may make that member dispensable."""
    gang = Scenario().node("n", cpu=8).job("gang", tasks=3, min_available=2, cpu=1)
    light = gang.pod("light", job="gang", cpu=None)
    nowhere = gang.pod("light", job="gang", cpu=None, spec={"nodeSelector": {"disk": "none"}})
    heavy = {"gang-0", "gang-1", "gang-2"}

    assert set(light.run("allocate", "backfill", plugins=("gang", "predicates")).bindings) == {*heavy, "light"}
    assert set(nowhere.run("allocate", "backfill", plugins=("gang", "predicates")).bindings) == heavy


def test_gangs_without_their_best_effort_member_are_skipped() -> None:
    """With room for one heavy member alone, a light one that no node takes leaves the gang absent."""
    gang = Scenario().node("n", cpu=1).job("gang", tasks=3, min_available=2, cpu=1)
    outcome = gang.pod("light", job="gang", cpu=None, spec={"nodeSelector": {"disk": "none"}}).run(
        "allocate", "backfill", plugins=("gang", "predicates")
    )

    assert outcome.bindings == {}


def test_a_gang_without_its_best_effort_member_keeps_no_share_of_its_queue() -> None:
    """The limit of the queue admits one heavy pod. The gang can never start, so the pod of the later job does."""
    scenario = Scenario().queue("red", capability={"cpu": 4}).node("n", cpu=8)
    gang = scenario.job("gang", tasks=1, min_available=2, queue="red", cpu=3)
    nowhere = gang.pod("light", job="gang", cpu=None, spec={"nodeSelector": {"disk": "none"}})
    outcome = nowhere.job("later", queue="red", cpu=3).run(
        "enqueue", "allocate", "backfill", plugins=(("gang", "proportion"), ("predicates",))
    )

    assert outcome.bindings == {"later-0": "n"}
    assert "node affinity" in outcome.why("gang")


@pytest.mark.parametrize("evicting", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_actions_that_evict_leave_light_gangs_to_backfill(evicting: str) -> None:
    """They starve until backfill places them; room held for them without evictions would keep them from being bound."""
    full = Scenario().node("n", cpu=1).job("busy", tasks=0).pod("busy-0", job="busy", node="n")
    light = full.job("light", tasks=2, min_available=2, cpu=None)

    outcome = light.run("enqueue", "allocate", evicting, "backfill", plugins=("gang", "predicates"))

    assert outcome.bindings == {"light-0": "n", "light-1": "n"}
