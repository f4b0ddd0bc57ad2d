"""An action may be listed twice; what follows is what follows the running one."""

from pyroclast.testing import Scenario

PLUGINS = (("gang", "priority"), ("predicates", "proportion"))


def test_an_allocate_after_backfill_waits_for_no_backfill() -> None:
    """The gang is admitted after backfill, and its light member is placed by the second allocate itself."""
    gang = Scenario().node("n1").job("gang", tasks=1, min_available=2).pod("light", job="gang", cpu=None)
    outcome = gang.run("allocate", "backfill", "enqueue", "allocate", plugins=("gang", "predicates"))

    assert outcome.bindings == {"gang-0": "n1", "light": "n1"}


def test_a_reclaim_after_allocate_leaves_nothing_to_an_allocate() -> None:
    """The job is admitted after allocate, so the second reclaim holds the free room for the next cycle."""
    scenario = (
        Scenario().queue("a").queue("b").node("n1", cpu=4).running("old", on=["n1"], queue="a").job("new", queue="b")
    )
    outcome = scenario.run("reclaim", "allocate", "enqueue", "reclaim", plugins=PLUGINS)

    assert outcome.pipelined == {"new-0": "n1"}
